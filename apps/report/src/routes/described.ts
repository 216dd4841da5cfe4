import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Env } from '../environment.ts';

const json = (description: string, schema: z.ZodType) => ({ description, content: { 'application/json': { schema } } });
const refusal = z.object({ request_id: z.string(), code: z.string(), message: z.string() }).openapi('ArchiveError');
const pagination = z.object({ cursor: z.string() }).optional();
const records = z.array(z.record(z.string(), z.unknown()));
const paging = { limit: z.string().optional(), cursor: z.string().optional() };

/** Describes the routes that are not made from schemas: the probes, and the archive, whose shapes are the control plane's own. */
export function describeOtherRoutes({ openAPIRegistry: registry }: OpenAPIHono<Env>): void {
  const status = z.object({ status: z.string() });
  registry.registerPath({
    method: 'get',
    path: '/healthz',
    summary: 'The process is alive',
    responses: { 200: json('Alive', status) },
  });
  registry.registerPath({
    method: 'get',
    path: '/readyz',
    summary: 'The store answers',
    responses: { 200: json('Ready', status), 503: json('Not ready', status) },
  });
  const archive = { method: 'get' as const, security: [{ token: [] }] };
  const errors = {
    400: json('Bad limit or cursor', refusal),
    401: json('No live token', refusal),
    429: json('Too many wrong tokens', refusal),
  };
  registry.registerPath({
    ...archive,
    path: '/api/v2/projects',
    summary: "Projects in the control plane's own shape, gone ones too",
    request: { query: z.object({ ...paging, org_id: z.string().optional() }) },
    responses: { 200: json('A page', z.object({ projects: records, pagination })), ...errors },
  });
  registry.registerPath({
    ...archive,
    path: '/api/v2/projects/{project_id}/operations',
    summary: "A project's operations in the control plane's own shape, pruned ones too",
    request: { params: z.object({ project_id: z.string() }), query: z.object(paging) },
    responses: {
      200: json('A page', z.object({ operations: records, pagination })),
      ...errors,
      404: json('No such project', refusal),
    },
  });
  registry.registerPath({
    ...archive,
    path: '/api/v2/projects/{project_id}/operations/{operation_id}',
    summary: "One operation in the control plane's own shape",
    request: { params: z.object({ project_id: z.string(), operation_id: z.string() }) },
    responses: {
      200: json('It', z.object({ operation: z.record(z.string(), z.unknown()) })),
      ...errors,
      404: json('No such project or operation', refusal),
    },
  });
}
