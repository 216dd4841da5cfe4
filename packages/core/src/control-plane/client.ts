import { z } from 'zod';
import * as wire from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import { type Limiter, noLimiter } from './limits.ts';
import { followPages, type Page } from './pagination.ts';
import { systemTime, type Time } from './time.ts';
import { type Call, type CallOptions, createTransport, type Reply, type TransportOptions } from './transport.ts';

export interface ClientOptions {
  /** With its version: https://host/api/v2 */
  baseUrl: string;
  apiKey: string;
  limiter?: Limiter;
  time?: Time;
  random?: () => number;
  fetch?: typeof fetch;
  timeoutMs?: number;
  onAttempt?: NonNullable<TransportOptions['onAttempt']>;
}

interface ReadOptions {
  signal?: AbortSignal | undefined;
}

export type ControlPlaneClient = ReturnType<typeof createClient>;

/** What `GET /auth` says, with the control plane's Date and whether its server calls itself a sandbox. */
export interface AuthAnswer extends wire.WireAuth {
  dateMs: number | null;
  server: string | null;
  limits: string | null;
}

/**
 * A typed client of the control plane. Every method rejects with a ControlPlaneError; reads are repeated on faults, writes
 * only where the answer says that nothing was done.
 */
export function createClient(options: ClientOptions) {
  const call = createTransport({
    limiter: noLimiter,
    time: systemTime,
    random: Math.random,
    fetch: globalThis.fetch,
    timeoutMs: 30_000,
    userAgent: 'keywarden/0.1',
    ...options,
  });
  const keyPage = (route: string, params: Record<string, string>, { signal }: ReadOptions) =>
    followPages((cursor) =>
      fetchPage(
        call,
        { route, params, query: { cursor }, exactIntegers: true, signal },
        { list: 'keys', item: wire.keySchema },
      ),
    );

  return {
    /** Whose the credential is. */
    async auth({ signal }: ReadOptions = {}): Promise<AuthAnswer> {
      const reply = await call({ method: 'GET', route: '/auth', signal });
      const { headers } = reply;
      const answer = parse(wire.authSchema, reply.json, '/auth');
      return {
        ...answer,
        dateMs: reply.dateMs,
        server: headers.get('server'),
        limits: headers.get('x-sandbox-limits'),
      };
    },

    async currentUser({ signal }: ReadOptions = {}): Promise<wire.WireUser> {
      const { json } = await call({ method: 'GET', route: '/users/me', signal });
      return parse(wire.userSchema, json, '/users/me');
    },

    /** The organizations of a personal key's user. */
    async currentUserOrganizations({ signal }: ReadOptions = {}): Promise<wire.WireOrganization[]> {
      const route = '/users/me/organizations';
      const { json } = await call({ method: 'GET', route, signal });
      return parse(z.object({ organizations: z.array(wire.organizationSchema) }), json, route).organizations;
    },

    async organization(organizationId: string, { signal }: ReadOptions = {}): Promise<wire.WireOrganization> {
      const route = '/organizations/{org_id}';
      const { json } = await call({ method: 'GET', route, params: { org_id: organizationId }, signal });
      return parse(wire.organizationSchema, json, route);
    },

    members(organizationId: string, { signal }: ReadOptions = {}): AsyncGenerator<Page<wire.WireMember>> {
      const request = { route: '/organizations/{org_id}/members', params: { org_id: organizationId }, signal };
      return followPages((cursor) =>
        fetchPage(call, { ...request, query: { cursor, limit: 500 } }, { list: 'members', item: wire.memberSchema }),
      );
    },

    /** Pages of projects; `unavailableIds` names those that an answer left out. */
    projects(organizationId: string, { signal }: ReadOptions = {}): AsyncGenerator<ProjectPage> {
      return followPages((cursor) => fetchProjects(call, { organizationId, cursor, signal }));
    },

    /** One page of a project's operations, newest first; `limit` is at most 1000. */
    operationsPage(
      projectId: string,
      { limit, cursor, signal }: ReadOptions & { limit: number; cursor?: string | undefined },
    ): Promise<Page<wire.WireOperation>> {
      const request = { route: '/projects/{project_id}/operations', params: { project_id: projectId }, signal };
      return fetchPage(
        call,
        { ...request, query: { limit, cursor } },
        { list: 'operations', item: wire.operationSchema },
      );
    },

    async operation(projectId: string, operationId: string, { signal }: ReadOptions = {}): Promise<wire.WireOperation> {
      const route = '/projects/{project_id}/operations/{operation_id}';
      const params = { project_id: projectId, operation_id: operationId };
      const { json } = await call({ method: 'GET', route, params, signal });
      return parse(z.object({ operation: wire.operationSchema }), json, route).operation;
    },

    /** The personal keys of the credential's own user; nobody else's can be seen. */
    personalKeys: (read: ReadOptions = {}) => keyPage('/api_keys', {}, read),

    /** Organization and project-scoped keys of an organization. */
    organizationKeys: (organizationId: string, read: ReadOptions = {}) =>
      keyPage('/organizations/{org_id}/api_keys', { org_id: organizationId }, read),

    /** Mints a personal key; the answer alone carries its secret. */
    createPersonalKey: (name: string, write: ReadOptions = {}) =>
      createKey(call, '/api_keys', {}, { key_name: name }, write),

    /** Mints an organization key, or with `projectId` a project-scoped one. */
    createOrganizationKey: (
      organizationId: string,
      { name, projectId, ...write }: ReadOptions & { name: string; projectId?: string },
    ) =>
      createKey(
        call,
        '/organizations/{org_id}/api_keys',
        { org_id: organizationId },
        { key_name: name, project_id: projectId },
        write,
      ),

    /** Revokes for good. `outcome_unknown` means that the key may be gone or not: list to learn which. */
    revokePersonalKey: (keyId: string, write: ReadOptions = {}) =>
      revokeKey(call, '/api_keys/{key_id}', { key_id: keyId }, write),

    revokeOrganizationKey: (organizationId: string, keyId: string, write: ReadOptions = {}) =>
      revokeKey(call, '/organizations/{org_id}/api_keys/{key_id}', { org_id: organizationId, key_id: keyId }, write),
  };
}

export interface ProjectPage extends Page<wire.WireProject> {
  unavailableIds: string[];
}

async function fetchProjects(
  call: Call,
  { organizationId, cursor, signal }: ReadOptions & { organizationId: string; cursor: string | undefined },
): Promise<ProjectPage> {
  const request = {
    method: 'GET',
    route: '/projects',
    query: { org_id: organizationId, limit: 400, cursor },
    signal,
  } as const;
  const reply = await call(request);
  const schema = z.object({ unavailable_project_ids: z.array(z.string()).optional() });
  const unavailableIds = parse(schema, reply.json, '/projects').unavailable_project_ids ?? [];
  return { ...readPage(reply, request, { list: 'projects', item: wire.projectSchema }), unavailableIds };
}

async function fetchPage<T>(
  call: Call,
  request: Omit<CallOptions, 'method'>,
  shape: { list: string; item: z.ZodType<T> },
): Promise<Page<T>> {
  return readPage(await call({ method: 'GET', ...request }), request, shape);
}

/** Reads a page: a bare array, which is the whole list, or an object with the list's name and perhaps a pagination. */
function readPage<T>(
  { json, dateMs }: Reply,
  { route }: Omit<CallOptions, 'method'>,
  { list, item }: { list: string; item: z.ZodType<T> },
): Page<T> {
  if (Array.isArray(json)) return { items: parse(z.array(item), json, route), cursor: null, dateMs };
  if (typeof json !== 'object' || json === null)
    throw new ControlPlaneError('invalid_response', `${route} answered with no list`);
  const found = [list, 'api_keys'].find((name) => name in json);
  if (found === undefined)
    throw new ControlPlaneError('invalid_response', `${route} answered without its list of ${list}`);
  const { pagination } = parse(z.object({ pagination: wire.paginationSchema }), json, route);
  const items = parse(z.array(item), Reflect.get(json, found), route);
  return { items, cursor: pagination, dateMs };
}

async function createKey(
  call: Call,
  route: string,
  params: Record<string, string>,
  body: unknown,
  { signal }: ReadOptions,
) {
  const { json } = await call({ method: 'POST', route, params, body, exactIntegers: true, signal });
  return parseWrite(wire.createdKeySchema, json, route);
}

async function revokeKey(call: Call, route: string, params: Record<string, string>, { signal }: ReadOptions) {
  const { json } = await call({ method: 'DELETE', route, params, exactIntegers: true, signal });
  return parseWrite(wire.revokedKeySchema, json, route);
}

function parse<T>(schema: z.ZodType<T>, json: unknown, route: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ControlPlaneError(
    'invalid_response',
    `${route} answered with another shape: ${issue?.path.join('.')} ${issue?.message}`,
  );
}

/** After a write an unreadable answer leaves its outcome open. */
function parseWrite<T>(schema: z.ZodType<T>, json: unknown, route: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ControlPlaneError('outcome_unknown', `${route} answered a write with another shape`);
}
