import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Env } from '../environment.ts';

const json = (description: string, schema: z.ZodType) => ({ description, content: { 'application/json': { schema } } });
const refusal = z.object({ request_id: z.string(), code: z.string(), message: z.string() }).openapi('ArchiveError');
const pagination = z.object({ cursor: z.string() }).optional();
const records = z.array(z.record(z.string(), z.unknown()));
const paging = { limit: z.string().optional(), cursor: z.string().optional() };

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
  const archive = {
    method: 'get' as const,
    description:
      'Answers from the archive in the shape of the control plane, so that its clients can read the archive.',
    security: [{ token: [] }],
  };
  const errors = {
    400: json('Invalid limit or cursor', refusal),
    401: json('The token is missing or invalid', refusal),
    429: json('Too many wrong tokens', refusal),
  };
  registry.registerPath({
    ...archive,
    path: '/api/v2/projects',
    summary: "Projects in the control plane's own shape; with recoverable, projects that are gone",
    request: {
      query: z.object({
        ...paging,
        org_id: z.string().optional(),
        search: z.string().optional(),
        recoverable: z.string().optional(),
      }),
    },
    responses: {
      200: json('A page', z.object({ projects: records, pagination })),
      ...errors,
      404: json('No such organization', refusal),
    },
  });
  const record = z.record(z.string(), z.unknown());
  const account = z.object({ account_id: z.string(), auth_method: z.string() });
  const others = { ...errors, 404: json('It does not exist, or the token cannot see it', refusal) };
  const organizations = z.object({ organizations: records });
  for (const [path, summary, schema, params] of [
    ['/api/v2/auth', 'The account of the token', account, {}],
    ['/api/v2/users/me', 'The token as a user', record, {}],
    ['/api/v2/users/me/organizations', 'The organizations in the store', organizations, {}],
    ['/api/v2/organizations/{org_id}', 'One organization', record, { org_id: z.string() }],
    [
      '/api/v2/projects/shared',
      'Always empty: the archive has no data about shared projects',
      z.object({ projects: records }),
      {},
    ],
    [
      '/api/v2/projects/{project_id}',
      'One project, even if it is gone',
      z.object({ project: record }),
      { project_id: z.string() },
    ],
  ] as const) {
    const request = { params: z.object(params) };
    registry.registerPath({
      ...archive,
      path,
      summary,
      request,
      responses: { 200: json('The record', schema), ...others },
    });
  }
  registry.registerPath({
    ...archive,
    path: '/api/v2/projects/{project_id}/operations',
    summary: "A project's operations in the control plane's own shape, including pruned ones",
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
      200: json('The operation', z.object({ operation: z.record(z.string(), z.unknown()) })),
      ...errors,
      404: json('No such project or operation', refusal),
    },
  });
}
