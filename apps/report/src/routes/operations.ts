import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { listOperations } from '@keywarden/db/read';
import type { Dependencies, Env } from '../environment.ts';
import { listOf, nextCursor, openCursor, pagingQuery } from '../paging.ts';
import { readRoute } from '../route.ts';

const instant = z.iso.datetime({ offset: true });

const operationItem = z
  .object({
    id: z.string(),
    project_id: z.string(),
    organization_id: z.string(),
    branch_id: z.string().nullable(),
    endpoint_id: z.string().nullable(),
    action: z.string(),
    status: z.string(),
    failures_count: z.int(),
    error: z.string().nullable(),
    retry_at: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    total_duration_ms: z.int().nullable(),
    extra: z.record(z.string(), z.unknown()).nullable().openapi({ description: 'Fields that came and have no column' }),
    seen_at: z.string().openapi({ description: 'When this version was first seen' }),
    last_seen_upstream_at: z
      .string()
      .nullable()
      .openapi({ description: 'When a completed walk last found it at the control plane; null before the first' }),
  })
  .openapi('Operation');

const query = z.strictObject({
  project_id: z.string().optional(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  action: z.string().optional(),
  status: z.string().optional(),
  from: instant.optional().openapi({ description: 'Created at this instant or later' }),
  to: instant.optional().openapi({ description: 'Created before this instant' }),
  ...pagingQuery,
});

const route = readRoute({
  path: '/v1/operations',
  summary: 'Operations, newest first, those that the control plane has pruned too',
  query,
  response: listOf(operationItem),
});

export function operationRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  app.openapi(route, async (c) => {
    const asked = c.req.valid('query');
    const rows = await listOperations(db, {
      filter: {
        projectId: asked.project_id,
        branchId: asked.branch_id,
        endpointId: asked.endpoint_id,
        action: asked.action,
        status: asked.status,
        from: asked.from,
        to: asked.to,
      },
      organizations: c.get('principal').organizations,
      page: { limit: asked.limit, after: openCursor(asked) },
    });
    const last = rows.at(-1)?.operation;
    const position = last && [last.createdAt, last.projectNumber, last.id];
    return c.json({ items: rows.map(renderOperation), next_cursor: nextCursor(asked, rows.length, position) }, 200);
  });
}

function renderOperation(row: Awaited<ReturnType<typeof listOperations>>[number]): z.infer<typeof operationItem> {
  const { operation, projectId, organizationId } = row;
  return {
    id: operation.id,
    project_id: projectId,
    organization_id: organizationId,
    branch_id: operation.branchId,
    endpoint_id: operation.endpointId,
    action: operation.action,
    status: operation.status,
    failures_count: operation.failuresCount,
    error: operation.error,
    retry_at: operation.retryAt,
    created_at: operation.createdAt,
    updated_at: operation.updatedAt,
    total_duration_ms: operation.totalDurationMs,
    extra: operation.extra,
    seen_at: operation.seenAt,
    last_seen_upstream_at: row.lastSeenUpstreamAt,
  };
}
