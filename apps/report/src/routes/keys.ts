import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { listKeys } from '@keywarden/db/read';
import type { Dependencies, Env } from '../environment.ts';
import { listOf, nextCursor, openCursor, pagingQuery } from '../paging.ts';
import { readRoute } from '../route.ts';

const kinds = z.enum(['personal', 'organization', 'project']);
const states = z.enum(['active', 'missing', 'gone']);

/** A key as every list of ours shows it. Ids are int64, so they are text. */
const keyItem = z
  .object({
    control_plane: z.string(),
    scope: z.string(),
    id: z.string(),
    kind: kinds,
    name: z.string(),
    organization_id: z.string().nullable(),
    project_id: z.string().nullable(),
    creator: z.object({ id: z.string(), name: z.string().nullable() }),
    state: states,
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    last_used_from: z.string().nullable(),
    first_seen_at: z.string(),
    gone_at: z.string().nullable(),
  })
  .openapi('Key');

const query = z.strictObject({
  organization_id: z.string().optional(),
  project_id: z.string().optional(),
  kind: kinds.optional(),
  state: states.optional(),
  creator_id: z.string().optional(),
  q: z.string().max(100).optional().openapi({ description: 'Part of a name' }),
  ...pagingQuery,
});

const route = readRoute({
  path: '/v1/keys',
  summary: 'API keys that were ever seen',
  query,
  response: listOf(keyItem),
});

export function keyRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  app.openapi(route, async (c) => {
    const asked = c.req.valid('query');
    const rows = await listKeys(db, {
      filter: {
        organizationId: asked.organization_id,
        projectId: asked.project_id,
        kind: asked.kind,
        state: asked.state,
        creatorId: asked.creator_id,
        text: asked.q,
      },
      organizations: c.get('principal').organizations,
      page: { limit: asked.limit, after: openCursor(asked) },
    });
    const last = rows.at(-1);
    return c.json(
      { items: rows.map(renderKey), next_cursor: nextCursor(asked, rows.length, last && [last.key.number]) },
      200,
    );
  });
}

function renderKey({ key, baseUrl }: Awaited<ReturnType<typeof listKeys>>[number]): z.infer<typeof keyItem> {
  return {
    control_plane: baseUrl,
    scope: key.scope,
    id: key.id,
    kind: key.kind,
    name: key.name,
    organization_id: key.organizationId,
    project_id: key.projectId,
    creator: { id: key.creatorId, name: key.creatorName },
    state: stateOf(key),
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    last_used_from: key.lastUsedFrom,
    first_seen_at: key.firstSeenAt,
    gone_at: key.goneAt,
  };
}

function stateOf({
  goneAt,
  missingSince,
}: {
  goneAt: string | null;
  missingSince: string | null;
}): z.infer<typeof states> {
  if (goneAt !== null) return 'gone';
  return missingSince === null ? 'active' : 'missing';
}
