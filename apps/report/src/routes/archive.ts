import { randomUUID } from 'node:crypto';
import {
  type ArchivedRecord,
  findProjectNumbers,
  listArchivedOperations,
  listArchivedOrganizations,
  listArchivedProjects,
  type Position,
  type Reader,
} from '@keywarden/db/report';
import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { authenticated } from '../access/authenticate.ts';
import type { Env, Services } from '../environment.ts';
import { instant } from '../parameters.ts';
import { toLoggedProblem } from '../problem.ts';

/** The part of an operation's cursor after the time. */
const placeAndId = /^\d{1,9}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An error in the control plane's own shape. */
class Refusal extends HTTPException {}

/**
 * Returns the routes of the archive in the control plane's own shapes. A client of the control plane reads pruned records by only
 * changing its base URL. A cursor has the time, the position and the id of a page's last row, so that rows of one time are not lost.
 * A bare time works as in the control plane.
 */
export function archiveRoutes(services: Services): Hono<Env> {
  const api = new Hono<Env>();
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

function addAccount(api: Hono<Env>): void {
  // A token limited to organizations acts like an organization key; a token for the whole store acts like a personal key.
  api.get('/auth', (c) => {
    const { organizations, token } = c.get('principal');
    if (organizations === null) return c.json({ account_id: accountOf(token), auth_method: 'api_key_user' });
    return c.json({ account_id: organizations[0] ?? '', auth_method: 'api_key_org' });
  });

  api.get('/users/me', (c) => {
    const { name, token } = requireWhole(c);
    const account = { id: accountOf(token), email: '', login: name, name, last_name: '', image: '', plan: '' };
    const limits = { active_seconds_limit: 0, projects_limit: 0, branches_limit: 0, max_autoscaling_limit: 0 };
    return c.json({ ...account, ...limits, auth_accounts: [] });
  });
}

function addOrganizations(api: Hono<Env>, { db }: Services): void {
  api.get('/users/me/organizations', async (c) => {
    requireWhole(c);
    const { records } = await listArchivedOrganizations(db, { organizations: null, page: everyone });
    return c.json({ organizations: records.map(render) });
  });

  api.get('/organizations/:org_id', async (c) =>
    c.json(render(await requireOrganization(c, db, c.req.param('org_id')))),
  );
}

async function requireOrganization(c: Context<Env>, db: Reader, id: string): Promise<ArchivedRecord> {
  const { organizations } = c.get('principal');
  const request = { id, organizations, page: { limit: 1, after: null } };
  const [found] = id.includes('\0') ? [] : (await listArchivedOrganizations(db, request)).records;
  if (found === undefined) throw new Refusal(404, { message: 'organization not found' });
  return found;
}

function addProjects(api: Hono<Env>, { db }: Services): void {
  api.get('/projects', async (c) => {
    const limit = readLimit(c, { max: 400, fallback: 10 });
    const { organizations } = c.get('principal');
    const cursor = c.req.query('cursor');
    const after = cursor === undefined ? null : splitCursor(cursor, /^\d{1,18}$/);
    const organizationId = readWord(c, 'org_id');
    if (organizationId !== undefined) await requireOrganization(c, db, organizationId);
    const { records, next } = await listArchivedProjects(db, {
      organizationId,
      organizations,
      search: readWord(c, 'search'),
      state: readFlag(c, 'recoverable') ? 'gone' : 'there',
      page: { limit, after },
    });
    const page = { projects: records.map(render), ...pagination(next), applications: {}, integrations: {} };
    return c.json(page);
  });

  // The archive has no data about shared projects.
  api.get('/projects/shared', (c) => c.json({ projects: [] }));

  api.get('/projects/:project_id', async (c) => {
    const id = c.req.param('project_id');
    const { organizations } = c.get('principal');
    const request = { id, state: 'any', organizations, page: { limit: 1, after: null } } as const;
    const [found] = id.includes('\0') ? [] : (await listArchivedProjects(db, request)).records;
    if (found === undefined) throw new Refusal(404, { message: 'project not found' });
    return c.json({ project: render(found) });
  });
}

function addOperations(api: Hono<Env>, { db }: Services): void {
  const findProject = async (c: Context<Env>) => {
    const id = c.req.param('project_id') ?? '';
    const { organizations } = c.get('principal');
    // If several control planes have a project of this id, the first observed one is used.
    const [number] = id.includes('\0') ? [] : ((await findProjectNumbers(db, { projectId: id, organizations })) ?? []);
    if (number === undefined) throw new Refusal(404, { message: 'project not found' });
    return { project: number, projectId: id };
  };

  api.get('/projects/:project_id/operations', async (c) => {
    const limit = readLimit(c, { max: 1000, fallback: 100 });
    const project = await findProject(c);
    const cursor = c.req.query('cursor');
    const isBare = cursor !== undefined && isInstant(cursor);
    const after = cursor === undefined || isBare ? null : splitCursor(cursor, placeAndId);
    const below = isBare ? cursor : null;
    const { records, next } = await listArchivedOperations(db, { ...project, below, page: { limit, after } });
    return c.body(
      `{"operations":[${records}]${next === null ? '' : `,"pagination":${JSON.stringify(pagination(next).pagination)}`}}`,
      200,
      json,
    );
  });

  api.get('/projects/:project_id/operations/:operation_id', async (c) => {
    const project = await findProject(c);
    const id = c.req.param('operation_id');
    const request = { ...project, id, page: { limit: 1, after: null } };
    const found = uuid.test(id) ? (await listArchivedOperations(db, request)).records : '';
    if (found === '') throw new Refusal(404, { message: 'operation not found' });
    return c.body(`{"operation":${found}}`, 200, json);
  });
}

function renderError(c: Context, status: HTTPException['status'], message: string) {
  const body = { request_id: requestIdOf(c), code: '', message };
  return c.body(JSON.stringify(body), status, { 'content-type': 'application/json' });
}

/** Returns the client's own request id, or ours if there is none. The access log has ours. */
function requestIdOf(c: Context): string {
  const theirs = c.req.header('x-request-id') ?? '';
  return /^[\w.:-]{1,100}$/.test(theirs) ? theirs : (c.get('requestId') ?? randomUUID());
}

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

function splitCursor(cursor: string, id: RegExp): Position {
  const [instant = '', ...last] = cursor.split('_');
  if (isInstant(instant) && id.test(last.join('_'))) return [instant, ...last];
  throw new Refusal(400, { message: 'invalid cursor' });
}

const isInstant = (text: string) => instant.safeParse(text).success;

/** Returns a record without fields that the control plane did not send. Values in `extra` override columns. */
function render({ extra, ...columns }: ArchivedRecord): Record<string, unknown> {
  return { ...Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null)), ...extra };
}

const json = { 'content-type': 'application/json' };

/** Returns the cursor of the next page, with its time in the control plane's form; the last page has none. */
function pagination(next: Position | null) {
  return next === null
    ? {}
    : { pagination: { cursor: [next[0]?.replace(' ', 'T').replace('+00', 'Z'), ...next.slice(1)].join('_') } };
}

function readWord(c: Context, name: string): string | undefined {
  const text = c.req.query(name);
  if (text?.includes('\0')) throw new Refusal(400, { message: `parameter "${name}" in query has an error` });
  return text;
}
