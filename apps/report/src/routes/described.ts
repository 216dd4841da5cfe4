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
    summary: "Projects in the control plane's own shape; with recoverable those that are gone",
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
  const others = { ...errors, 404: json('Not there, or not for this token', refusal) };
  const organizations = z.object({ organizations: records });
  for (const [path, summary, schema, params] of [
    ['/api/v2/auth', 'Whose the token is', account, {}],
    ['/api/v2/users/me', 'The token as a user', record, {}],
    ['/api/v2/users/me/organizations', 'The organizations that the store knows', organizations, {}],
    ['/api/v2/organizations/{org_id}', 'One organization', record, { org_id: z.string() }],
    ['/api/v2/projects/shared', 'None: no list says what is shared', z.object({ projects: records }), {}],
    [
      '/api/v2/projects/{project_id}',
      'One project, also one that is gone',
      z.object({ project: record }),
      { project_id: z.string() },
    ],
  ] as const) {
    const request = { params: z.object(params) };
    registry.registerPath({ ...archive, path, summary, request, responses: { 200: json('It', schema), ...others } });
  }
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
