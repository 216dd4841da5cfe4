import { randomUUID } from 'node:crypto';
import { OpenAPIHono, z } from '@hono/zod-openapi';
import * as store from '@keywarden/db/report';
import type { Context, Handler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { authenticated } from '../access/authenticate.ts';
import { flag, instant } from '../parameters.ts';
import { toLoggedProblem } from '../problem.ts';
import type { Env, Services } from '../services.ts';
import { jsonAnswer } from './document.ts';

/** The part of an operation's cursor after the time. */
const placeAndId = /^\d{1,9}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An error in the control plane's own shape. */
class Refusal extends HTTPException {}

const refusal = z.object({ request_id: z.string(), code: z.string(), message: z.string() }).openapi('ArchiveError');
const errors = {
  400: jsonAnswer('Invalid limit or cursor', refusal),
  401: jsonAnswer('The token is missing or invalid', refusal),
  404: jsonAnswer('It does not exist, or the token cannot see it', refusal),
  429: jsonAnswer('Too many wrong tokens, or too many requests of this token', refusal),
  503: jsonAnswer('The store does not answer in time', refusal),
};
const nextPage = z.object({ cursor: z.string() }).optional();
const record = z.record(z.string(), z.unknown());
const paging = ({ max, fallback }: { max: number; fallback: number }) => ({
  limit: z.int().min(1).max(max).default(fallback),
  cursor: z.string().optional(),
});
/** The most and the usual number of records of a page, as in the control plane. */
const projectPage = { max: 400, fallback: 10 };
const operationPage = { max: 1000, fallback: 100 };

/** What a route returns, the shape of that, and the parameters of a page. */
interface Description {
  summary: string;
  shape: z.ZodType;
  query?: z.ZodRawShape;
}

/** Adds a route with its description. The handler checks parameters itself: it refuses them as the control plane does. */
function addRead<P extends string>(
  api: OpenAPIHono<Env>,
  path: P,
  { summary, shape, query }: Description,
  handle: Handler<Env, P>,
): void {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, z.string()] as const);
  api.openAPIRegistry.registerPath({
    method: 'get',
    path: path.replaceAll(/:(\w+)/g, '{$1}'),
    summary,
    description:
      'Answers from the archive in the shape of the control plane, so that its clients can read the archive.',
    security: [{ token: [] }],
    request: { params: z.object(Object.fromEntries(names)), ...(query && { query: z.object(query) }) },
    responses: { 200: jsonAnswer(query ? 'A page' : 'The record', shape), ...errors },
  });
  api.get(path, handle);
}

/**
 * Returns the routes of the archive in the control plane's own shapes. A client of the control plane reads pruned records by only
 * changing its base URL. A cursor has the time, the position and the id of a page's last row, so that rows of one time are not lost.
 * A bare time works as in the control plane.
 */
export function archiveRoutes(services: Services): OpenAPIHono<Env> {
  const api = new OpenAPIHono<Env>();
  const requireToken = authenticated(services, () => {
    throw new Refusal(401, { message: 'supplied credentials do not pass authentication' });
  });
  api.use(requireToken, async (c, next) => {
    await next();
    c.header('x-neon-ret-request-id', requestIdOf(c));
  });
  addAccount(api);
  addOrganizations(api, services);
  addProjects(api, services);
  addOperations(api, services);
  api.all('*', (c) => renderError(c, 404, 'this route does not exist'));
  api.onError((error, c) => {
    if (error instanceof Refusal) return renderError(c, error.status, error.message);
    const { status, message, headers } = toLoggedProblem(error, c, services.log);
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    return renderError(c, status, status === 500 ? 'internal error' : message);
  });
  return api;
}

function addAccount(api: OpenAPIHono<Env>): void {
  // A token limited to organizations acts like an organization key; a token for the whole store acts like a personal key.
  const account = z.object({ account_id: z.string(), auth_method: z.string() });
  addRead(api, '/auth', { summary: 'The account of the token', shape: account }, (c) => {
    const { organizations, token } = c.get('principal');
    if (organizations === null) return c.json({ account_id: accountOf(token), auth_method: 'api_key_user' });
    return c.json({ account_id: organizations[0] ?? '', auth_method: 'api_key_org' });
  });

  addRead(api, '/users/me', { summary: 'The token as a user', shape: record }, (c) => {
    const { name, token } = requireWhole(c);
    const account = { id: accountOf(token), email: '', login: name, name, last_name: '', image: '', plan: '' };
    const limits = { active_seconds_limit: 0, projects_limit: 0, branches_limit: 0, max_autoscaling_limit: 0 };
    return c.json({ ...account, ...limits, auth_accounts: [] });
  });
}

function addOrganizations(api: OpenAPIHono<Env>, { db }: Services): void {
  const organizations = {
    summary: 'The organizations in the store',
    shape: z.object({ organizations: z.array(record) }),
  };
  addRead(api, '/users/me/organizations', organizations, async (c) => {
    requireWhole(c);
    const { records } = await store.listArchivedOrganizations(db, { organizations: null, page: everyone });
    return c.json({ organizations: records.map(render) });
  });

  addRead(api, '/organizations/:org_id', { summary: 'One organization', shape: record }, async (c) =>
    c.json(render(await requireOrganization(c, db, c.req.param('org_id')))),
  );
}

async function requireOrganization(c: Context<Env>, db: store.Reader, id: string): Promise<store.ArchivedRecord> {
  const { organizations } = c.get('principal');
  const request = { id, organizations, page: onlyOne };
  const [found] = id.includes('\0') ? [] : (await store.listArchivedOrganizations(db, request)).records;
  if (found === undefined) throw new Refusal(404, { message: 'organization not found' });
  return found;
}

function addProjects(api: OpenAPIHono<Env>, { db }: Services): void {
  const filters = { org_id: z.string().optional(), search: z.string().optional(), recoverable: flag.optional() };
  const list = {
    summary: "Projects in the control plane's own shape; with recoverable, projects that are gone",
    shape: z.object({ projects: z.array(record), pagination: nextPage }),
    query: { ...paging(projectPage), ...filters },
  };
  addRead(api, '/projects', list, async (c) => {
    const limit = readLimit(c, projectPage);
    const { organizations } = c.get('principal');
    const cursor = c.req.query('cursor');
    const after = cursor === undefined ? null : splitCursor(cursor, /^\d{1,18}$/);
    const organizationId = readWord(c, 'org_id');
    if (organizationId !== undefined) await requireOrganization(c, db, organizationId);
    const { records, next } = await store.listArchivedProjects(db, {
      organizationId,
      organizations,
      search: readWord(c, 'search'),
      state: readFlag(c, 'recoverable') ? 'gone' : 'there',
      page: { limit, after },
    });
    const page = { projects: records.map(render), ...pagination(next), applications: {}, integrations: {} };
    return c.json(page);
  });

  const shared = {
    summary: 'Always empty: the archive has no data about shared projects',
    shape: z.object({ projects: z.array(record) }),
  };
  addRead(api, '/projects/shared', shared, (c) => c.json({ projects: [] }));

  const one = { summary: 'One project, even if it is gone', shape: z.object({ project: record }) };
  addRead(api, '/projects/:project_id', one, async (c) => {
    const id = c.req.param('project_id');
    const { organizations } = c.get('principal');
    const request = { id, state: 'any', organizations, page: onlyOne } as const;
    const [found] = id.includes('\0') ? [] : (await store.listArchivedProjects(db, request)).records;
    if (found === undefined) throw new Refusal(404, { message: 'project not found' });
    return c.json({ project: render(found) });
  });
}

function addOperations(api: OpenAPIHono<Env>, { db }: Services): void {
  const findProject = async (c: Context<Env>) => {
    const id = c.req.param('project_id') ?? '';
    const { organizations } = c.get('principal');
    // If several control planes have a project of this id, the first observed one is used.
    const [number] = id.includes('\0')
      ? []
      : ((await store.findProjectNumbers(db, { projectId: id, organizations })) ?? []);
    if (number === undefined) throw new Refusal(404, { message: 'project not found' });
    return { project: number, projectId: id };
  };

  const list = {
    summary: "A project's operations in the control plane's own shape, including pruned ones",
    shape: z.object({ operations: z.array(record), pagination: nextPage }),
    query: paging(operationPage),
  };
  addRead(api, '/projects/:project_id/operations', list, async (c) => {
    const limit = readLimit(c, operationPage);
    const project = await findProject(c);
    const cursor = c.req.query('cursor');
    const isBare = cursor !== undefined && isInstant(cursor);
    const after = cursor === undefined || isBare ? null : splitCursor(cursor, placeAndId);
    const below = isBare ? cursor : null;
    const { records, next } = await store.listArchivedOperations(db, { ...project, below, page: { limit, after } });
    const more = next === null ? '' : `,"pagination":${JSON.stringify(pagination(next).pagination)}`;
    return c.body(`{"operations":[${records}]${more}}`, 200, json);
  });

  const one = { summary: "One operation in the control plane's own shape", shape: z.object({ operation: record }) };
  addRead(api, '/projects/:project_id/operations/:operation_id', one, async (c) => {
    const project = await findProject(c);
    const id = c.req.param('operation_id');
    const request = { ...project, id, page: onlyOne };
    const found = uuid.test(id) ? (await store.listArchivedOperations(db, request)).records : '';
    if (found === '') throw new Refusal(404, { message: 'operation not found' });
    return c.body(`{"operation":${found}}`, 200, json);
  });
}

function renderError(c: Context, status: HTTPException['status'], message: string) {
  const body = { request_id: requestIdOf(c), code: '', message };
  return c.body(JSON.stringify(body), status, json);
}

/** Returns the client's own request id, or ours if there is none. The access log has ours. */
function requestIdOf(c: Context): string {
  const theirs = c.req.header('x-request-id') ?? '';
  return /^[\w.:-]{1,100}$/.test(theirs) ? theirs : (c.get('requestId') ?? randomUUID());
}

const onlyOne = { limit: 1, after: null };

/** A limit above the number of organizations of any store. */
const everyone = { limit: 10_000, after: null };

/** Returns an id for a token in the form of an account id. */
const accountOf = (token: string) => `00000000-0000-4000-b000-${token.padStart(12, '0')}`;

/** Returns a principal that sees all organizations, or throws the error that the control plane gives organization keys on user routes. */
function requireWhole(c: Context<Env>) {
  const principal = c.get('principal');
  if (principal.organizations === null) return principal;
  throw new Refusal(404, { message: 'not allowed for organization API keys' });
}

function readFlag(c: Context, name: string): boolean {
  const text = (c.req.query(name) ?? 'false').toLowerCase();
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Refusal(400, { message: `parameter "${name}" in query has an error: value must be true or false` });
}

function readLimit(c: Context, { max, fallback }: { max: number; fallback: number }): number {
  const text = c.req.query('limit');
  if (text === undefined) return fallback;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= max) return limit;
  throw new Refusal(400, { message: `parameter "limit" in query has an error: number must be from 1 to ${max}` });
}

function splitCursor(cursor: string, id: RegExp): store.Position {
  const [instant = '', ...last] = cursor.split('_');
  if (isInstant(instant) && id.test(last.join('_'))) return [instant, ...last];
  throw new Refusal(400, { message: 'invalid cursor' });
}

const isInstant = (text: string) => instant.safeParse(text).success;

/** Returns a record without fields that the control plane did not send. Values in `extra` override columns. */
function render({ extra, ...columns }: store.ArchivedRecord): Record<string, unknown> {
  return { ...Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null)), ...extra };
}

const json = { 'content-type': 'application/json' };

/** Returns the cursor of the next page, with its time in the control plane's form; the last page has none. */
function pagination(next: store.Position | null) {
  return next === null
    ? {}
    : { pagination: { cursor: [next[0]?.replace(' ', 'T').replace('+00', 'Z'), ...next.slice(1)].join('_') } };
}

function readWord(c: Context, name: string): string | undefined {
  const text = c.req.query(name);
  if (text?.includes('\0')) throw new Refusal(400, { message: `parameter "${name}" in query has an error` });
  return text;
}
