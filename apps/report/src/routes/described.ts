import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Env } from '../environment.ts';

const json = (description: string, schema: z.ZodType) => ({ description, content: { 'application/json': { schema } } });
const refusal = z.object({ request_id: z.string(), code: z.string(), message: z.string() }).openapi('ArchiveError');
const pagination = z.object({ cursor: z.string() }).optional();
const record = z.record(z.string(), z.unknown());
const records = z.array(record);
const paging = { limit: z.string().optional(), cursor: z.string().optional() };

/** The routes of the archive: the path, what it returns, the shape of that, and the parameters of a page. */
const archive: [path: string, summary: string, schema: z.ZodType, query?: z.ZodRawShape][] = [
  ['/auth', 'The account of the token', z.object({ account_id: z.string(), auth_method: z.string() })],
  ['/users/me', 'The token as a user', record],
  ['/users/me/organizations', 'The organizations in the store', z.object({ organizations: records })],
  ['/organizations/{org_id}', 'One organization', record],
  [
    '/projects',
    "Projects in the control plane's own shape; with recoverable, projects that are gone",
    z.object({ projects: records, pagination }),
    { ...paging, org_id: z.string().optional(), search: z.string().optional(), recoverable: z.string().optional() },
  ],
  ['/projects/shared', 'Always empty: the archive has no data about shared projects', z.object({ projects: records })],
  ['/projects/{project_id}', 'One project, even if it is gone', z.object({ project: record })],
  [
    '/projects/{project_id}/operations',
    "A project's operations in the control plane's own shape, including pruned ones",
    z.object({ operations: records, pagination }),
    paging,
  ],
  [
    '/projects/{project_id}/operations/{operation_id}',
    "One operation in the control plane's own shape",
    z.object({ operation: record }),
  ],
];

/** Describes the routes without zod schemas: the probes, and the archive, which uses the control plane's shapes. */
export function describeOtherRoutes({ openAPIRegistry: registry }: OpenAPIHono<Env>): void {
  const status = z.object({ status: z.string() });
  registry.registerPath({
    method: 'get',
    path: '/healthz',
    summary: 'The process is alive',
    description: 'Needs no token.',
    responses: { 200: json('Alive', status) },
  });
  registry.registerPath({
    method: 'get',
    path: '/readyz',
    summary: 'The store answers',
    description:
      'Needs no token. It answers 503 while the store does not answer or too many requests wait, and `degraded` while a node of its cluster does not answer.',
    responses: { 200: json('Ready', status), 503: json('Not ready', status) },
  });
  const errors = {
    400: json('Invalid limit or cursor', refusal),
    401: json('The token is missing or invalid', refusal),
    404: json('It does not exist, or the token cannot see it', refusal),
    429: json('Too many wrong tokens', refusal),
  };
  for (const [path, summary, schema, query] of archive) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, z.string()] as const);
    registry.registerPath({
      method: 'get',
      path: `/api/v2${path}`,
      summary,
      description:
        'Answers from the archive in the shape of the control plane, so that its clients can read the archive.',
      security: [{ token: [] }],
      request: { params: z.object(Object.fromEntries(names)), ...(query && { query: z.object(query) }) },
      responses: { 200: json(query ? 'A page' : 'The record', schema), ...errors },
    });
  }
}
