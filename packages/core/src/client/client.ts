import * as wire from '../wire/schemas.ts';
import { type CallOptions, credentialCalls, type RevokeOptions } from './credential-calls.ts';
import { ControlPlaneError } from './errors.ts';
import { type Limiter, noLimiter } from './limiter.ts';
import { followPages, type Page } from './pagination.ts';
import {
  fetchPage,
  fetchPageEnd,
  fetchProjects,
  type PageEnd,
  type ProjectPage,
  parse,
  parseWrite,
} from './replies.ts';
import { systemTime, type Time } from './time.ts';
import { createTransport, type Hooks } from './transport.ts';
import { type OperationEnd, type WaitOptions, waitForOperations } from './wait.ts';

export interface ClientOptions {
  /** With its version: https://host/api/v2 */
  baseUrl: string;
  apiKey: string;
  /** Keeps the account inside its limits; without one nothing is held back. Make one for each account. */
  limiter?: Limiter;
  /** For one attempt, from connecting to the last byte, in ms; 30,000 by default. */
  timeoutMs?: number;
  /** For a call with all its attempts and waits, in ms; 600,000 by default. */
  callTimeoutMs?: number;
  /** The largest answer that is read; 64 MB by default. */
  maxBodyBytes?: number;
  userAgent?: string;
  hooks?: Hooks;
  /** For tests: the clock and sleep, chance from 0 to 1, and fetch. */
  time?: Time;
  random?: () => number;
  fetch?: typeof fetch;
}

interface ListOptions extends CallOptions {
  /** Rows of a page; the control plane's maximum by default. */
  limit?: number;
  /** Where to begin: the cursor of an earlier page. */
  cursor?: string | undefined;
}

export type ControlPlaneClient = ReturnType<typeof createClient>;

/** What `GET /auth` says, with the control plane's Date, what its server calls itself, and `off` in `limits` from a sandbox without any. */
export interface AuthAnswer extends wire.WireAuth {
  dateMs: number | null;
  server: string | null;
  limits: string | null;
}

/**
 * A typed client of the control plane. Every method rejects with a ControlPlaneError. Reads are repeated on faults; a write only where
 * the answer says that nothing was done, and one whose answer was lost rejects with `outcome_unknown`: list, and see what is there.
 * Records of organizations, projects, branches, operations and keys keep the fields that this client does not know under `extra`; int64 ids
 * are texts of digits; times are texts with every digit.
 */
export function createClient({ limiter = noLimiter, time = systemTime, hooks = {}, ...options }: ClientOptions) {
  checkOptions(options);
  const call = createTransport({
    random: Math.random,
    fetch: globalThis.fetch,
    timeoutMs: 30_000,
    callTimeoutMs: 600_000,
    maxBodyBytes: 64 * 2 ** 20,
    userAgent: 'keywarden/0.1',
    ...options,
    limiter,
    time,
    hooks,
  });

  const keyPages = (route: string, params: Record<string, string>, { signal }: CallOptions) =>
    followPages((cursor) => {
      const request = { route, params, query: { cursor }, exactIntegers: true, signal };
      return fetchPage(call, request, { list: 'keys', item: wire.keySchema });
    });

  const createKey = async (
    route: string,
    params: Record<string, string>,
    { body, signal }: CallOptions & { body: unknown },
  ): Promise<wire.WireCreatedKey> => {
    const reply = await call({ method: 'POST', route, params, body, exactIntegers: true, signal });
    return parseWrite(wire.createdKeySchema, reply, route);
  };

  const revokeKey = async (
    route: string,
    params: Record<string, string>,
    { signal, beforeSend }: RevokeOptions,
  ): Promise<wire.WireRevokedKey> => {
    const reply = await call({ method: 'DELETE', route, params, exactIntegers: true, signal, beforeSend });
    return parseWrite(wire.revokedKeySchema, reply, route);
  };

  const operationsPage = (
    projectId: string,
    { limit = 1000, cursor, signal }: ListOptions = {},
  ): Promise<Page<wire.WireOperation>> => {
    const request = { route: '/projects/{project_id}/operations', params: { project_id: projectId }, signal };
    const shape = { list: 'operations', item: wire.operationSchema };
    return fetchPage(call, { ...request, query: { limit, cursor } }, shape);
  };

  const operationsPageEnd = (
    projectId: string,
    { limit = 1000, cursor, signal }: ListOptions = {},
  ): Promise<PageEnd> => {
    const request = { route: '/projects/{project_id}/operations', params: { project_id: projectId }, signal };
    const shape = { list: 'operations', item: wire.operationSchema };
    return fetchPageEnd(call, { ...request, query: { limit, cursor } }, shape);
  };

  const operation = async (
    projectId: string,
    operationId: string,
    { signal }: CallOptions = {},
  ): Promise<wire.WireOperation> => {
    const route = '/projects/{project_id}/operations/{operation_id}';
    const params = { project_id: projectId, operation_id: operationId };
    const reply = await call({ method: 'GET', route, params, signal });
    const { operation } = parse(wire.oneOperationSchema, reply, route);
    if (operation.id === operationId && operation.projectId === projectId) return operation;
    const { status, requestId } = reply;
    throw new ControlPlaneError('invalid_response', `${route} answered with another operation`, { status, requestId });
  };

  const waitFor = (operations: readonly { projectId: string; id: string }[], wait: WaitOptions = {}) =>
    waitForOperations((each, signal) => operation(each.projectId, each.id, { signal }), operations, { ...wait, time });

  return {
    /** Whose the credential is. */
    async auth({ signal }: CallOptions = {}): Promise<AuthAnswer> {
      const reply = await call({ method: 'GET', route: '/auth', signal });
      const { dateMs, headers } = reply;
      const answer = parse(wire.authSchema, reply, '/auth');
      return { ...answer, dateMs, server: headers.get('server'), limits: headers.get('x-sandbox-limits') };
    },

    /** The user of a personal key. */
    async currentUser({ signal }: CallOptions = {}): Promise<wire.WireUser> {
      const reply = await call({ method: 'GET', route: '/users/me', signal });
      return parse(wire.userSchema, reply, '/users/me');
    },

    /** Pages of the organizations of a personal key's user. */
    currentUserOrganizations({ signal }: CallOptions = {}): AsyncGenerator<Page<wire.WireOrganization>, void> {
      const shape = { list: 'organizations', item: wire.organizationSchema };
      return followPages((cursor) =>
        fetchPage(call, { route: '/users/me/organizations', query: { cursor }, signal }, shape),
      );
    },

    async organization(organizationId: string, { signal }: CallOptions = {}): Promise<wire.WireOrganization> {
      const route = '/organizations/{org_id}';
      const reply = await call({ method: 'GET', route, params: { org_id: organizationId }, signal });
      return parse(wire.organizationSchema, reply, route);
    },

    /** Pages of an organization's members; `limit` is at most 500. */
    members(
      organizationId: string,
      { limit = 500, cursor: first, signal }: ListOptions = {},
    ): AsyncGenerator<Page<wire.WireMember>, void> {
      const request = { route: '/organizations/{org_id}/members', params: { org_id: organizationId }, signal };
      const shape = { list: 'members', item: wire.memberSchema };
      return followPages((cursor) => fetchPage(call, { ...request, query: { cursor, limit } }, shape), first);
    },

    /** Pages of an organization's projects, newest first; `limit` is at most 400. `unavailableIds` names those that an answer left out. */
    projects(
      organizationId: string,
      { limit = 400, cursor: first, recoverable = false, signal }: ListOptions & { recoverable?: boolean } = {},
    ): AsyncGenerator<ProjectPage, void> {
      return followPages(
        (cursor) => fetchProjects(call, { organizationId, cursor, limit, recoverable, signal }),
        first,
      );
    },

    /**
     * Makes a branch, of the default branch unless `parentId` names another, with a compute for each of `endpoints`. Answers before the
     * work is done: wait for its operations.
     */
    async createBranch(
      projectId: string,
      branch: CallOptions & { name?: string; parentId?: string; endpoints?: ('read_write' | 'read_only')[] } = {},
    ): Promise<wire.WireCreatedBranch> {
      const route = '/projects/{project_id}/branches';
      const body = {
        branch: { name: branch.name, parent_id: branch.parentId },
        endpoints: branch.endpoints?.map((type) => ({ type })),
      };
      const params = { project_id: projectId };
      const reply = await call({ method: 'POST', route, params, body, signal: branch.signal });
      return parseWrite(wire.createdBranchSchema, reply, route);
    },

    /**
     * Pages of a project's operations, newest first; `limit` is at most 1000. A cursor is the time of a page's last row and the next page
     * starts strictly below it: of rows that bear one time, those behind a page's end are not seen.
     */
    operations(
      projectId: string,
      { limit = 1000, cursor: first, signal }: ListOptions = {},
    ): AsyncGenerator<Page<wire.WireOperation>, void> {
      return followPages((cursor) => operationsPage(projectId, { limit, cursor, signal }), first);
    },

    /** One page of the same. */
    operationsPage,

    /** Where one page of the same ends, for who needs its cursor and not its rows: a third of the work. */
    operationsPageEnd,

    /** One operation; `not_found` when it is unknown, or older than the control plane keeps them. */
    operation,

    /** Polls an operation until its end; see `WaitOptions` for the pace and the deadline. */
    async waitForOperation(projectId: string, operationId: string, wait: WaitOptions = {}): Promise<OperationEnd> {
      const [end] = await waitFor([{ projectId, id: operationId }], wait);
      if (end === undefined) throw new Error('a wait for one operation gave none');
      return end;
    },

    /** The same for several, like those of a created branch; answers in their order. */
    waitForOperations: waitFor,

    ...credentialCalls(call),

    /** Pages of the personal keys of the credential's own user; nobody else's can be seen. */
    personalKeys: (read: CallOptions = {}) => keyPages('/api_keys', {}, read),

    /** Pages of the organization and project-scoped keys of an organization. */
    organizationKeys: (organizationId: string, read: CallOptions = {}) =>
      keyPages('/organizations/{org_id}/api_keys', { org_id: organizationId }, read),

    /** Mints a personal key; the answer alone carries its secret. */
    createPersonalKey: (name: string, { signal }: CallOptions = {}) =>
      createKey('/api_keys', {}, { body: { key_name: name }, signal }),

    /** Mints an organization key, or with `projectId` a project-scoped one. Only a personal key may. */
    createOrganizationKey: (
      organizationId: string,
      { name, projectId, signal }: CallOptions & { name: string; projectId?: string },
    ) =>
      createKey(
        '/organizations/{org_id}/api_keys',
        { org_id: organizationId },
        { body: { key_name: name, project_id: projectId }, signal },
      ),

    /** Revokes for good. `outcome_unknown` means that the key may be gone or not: list to learn which. */
    revokePersonalKey: (keyId: string, write: RevokeOptions = {}) =>
      revokeKey('/api_keys/{key_id}', { key_id: keyId }, write),

    /** The same for an organization or project-scoped key. */
    revokeOrganizationKey: (organizationId: string, keyId: string, write: RevokeOptions = {}) =>
      revokeKey('/organizations/{org_id}/api_keys/{key_id}', { org_id: organizationId, key_id: keyId }, write),
  };
}

/** Node's timers take no more; Infinity and larger numbers would end at once. */
const longestMs = 2 ** 31 - 1;

/** Throws a TypeError for options that no call could work with. It does not repeat the address, which may hold a password. */
function checkOptions({ baseUrl, timeoutMs = 1, callTimeoutMs = 1 }: ClientOptions): void {
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw new TypeError('baseUrl must be an http or https address with its version, like https://host/api/v2');
  }
  for (const [name, value] of Object.entries({ timeoutMs, callTimeoutMs })) {
    if (!(value >= 1 && value <= longestMs)) throw new TypeError(`${name} must be from 1 to ${longestMs} ms`);
  }
}
