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
import { createTransport, type Hooks } from './transport.ts';
import { type OperationEnd, systemTime, type Time, type WaitOptions, waitForOperations } from './wait.ts';

export interface ClientOptions {
  /** Includes the API version: https://host/api/v2 */
  baseUrl: string;
  apiKey: string;
  /**
   * Keeps the account inside its limits; without a limiter, no request is held back. Create one limiter for each account.
   */
  limiter?: Limiter;
  /** Timeout of one attempt, from connecting to the last byte, in ms; 30,000 by default. */
  timeoutMs?: number;
  /** Timeout of a call with all its attempts and waits, in ms; 600,000 by default. */
  callTimeoutMs?: number;
  /** The largest response body to read, in bytes; 64 MB by default. */
  maxBodyBytes?: number;
  userAgent?: string;
  hooks?: Hooks;
  /** For tests: the clock and sleep, a random number from 0 to 1, and fetch. */
  time?: Time;
  random?: () => number;
  fetch?: typeof fetch;
}

interface ListOptions extends CallOptions {
  /** Rows per page; the control plane's maximum by default. */
  limit?: number;
  /** The cursor of an earlier page to start from. */
  cursor?: string | undefined;
}

export type ControlPlaneClient = ReturnType<typeof createClient>;

/**
 * The response of `GET /auth`, with the control plane's Date and the name that its server reports. `limits` is `off` for a sandbox without limits.
 */
export interface AuthAnswer extends wire.WireAuth {
  dateMs: number | null;
  server: string | null;
  limits: string | null;
}

/**
 * Returns a typed client of the control plane. Every method rejects with a ControlPlaneError.
 * Reads are repeated after faults. A write is repeated only if the response shows that nothing was done. A write whose response was lost rejects with
 * `outcome_unknown`: list the records to see the result.
 * Records of organizations, projects, branches, operations and keys keep unknown fields under `extra`. int64 ids are texts of digits; times are texts
 * with every digit.
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
    throw new ControlPlaneError('invalid_response', `${route} returned another operation`, { status, requestId });
  };

  const waitFor = (operations: readonly { projectId: string; id: string }[], wait: WaitOptions = {}) =>
    waitForOperations((each, signal) => operation(each.projectId, each.id, { signal }), operations, { ...wait, time });

  return {
    /** Returns the account that the credential belongs to. */
    async auth({ signal }: CallOptions = {}): Promise<AuthAnswer> {
      const reply = await call({ method: 'GET', route: '/auth', signal });
      const { dateMs, headers } = reply;
      const answer = parse(wire.authSchema, reply, '/auth');
      return { ...answer, dateMs, server: headers.get('server'), limits: headers.get('x-sandbox-limits') };
    },

    /** Returns the user of a personal key. */
    async currentUser({ signal }: CallOptions = {}): Promise<wire.WireUser> {
      const reply = await call({ method: 'GET', route: '/users/me', signal });
      return parse(wire.userSchema, reply, '/users/me');
    },

    /** Lists the organizations of a personal key's user, in pages. */
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

    /** Lists an organization's members, in pages; `limit` is at most 500. */
    members(
      organizationId: string,
      { limit = 500, cursor: first, signal }: ListOptions = {},
    ): AsyncGenerator<Page<wire.WireMember>, void> {
      const request = { route: '/organizations/{org_id}/members', params: { org_id: organizationId }, signal };
      const shape = { list: 'members', item: wire.memberSchema };
      return followPages((cursor) => fetchPage(call, { ...request, query: { cursor, limit } }, shape), first);
    },

    /**
     * Lists an organization's projects in pages, newest first; `limit` is at most 400. `unavailableIds` names the projects that a response left out.
     */
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
     * Creates a branch of the default branch, or of `parentId`, with a compute for each of `endpoints`. Resolves before the work is done: wait for
     * its operations.
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
     * Lists a project's operations in pages, newest first; `limit` is at most 1000. A cursor is the time of a page's last row, and the next page
     * starts strictly below it. Rows behind a page's end that share that time are therefore not returned.
     */
    operations(
      projectId: string,
      { limit = 1000, cursor: first, signal }: ListOptions = {},
    ): AsyncGenerator<Page<wire.WireOperation>, void> {
      return followPages((cursor) => operationsPage(projectId, { limit, cursor, signal }), first);
    },

    /** Returns one page of a project's operations. */
    operationsPage,

    /**
     * Returns where one page of a project's operations ends, for callers that need its cursor and not its rows. This takes a third of the work.
     */
    operationsPageEnd,

    /** Returns one operation. Rejects with `not_found` if it is unknown, or older than the control plane keeps. */
    operation,

    /** Polls an operation until it ends; `WaitOptions` sets the interval and the deadline. */
    async waitForOperation(projectId: string, operationId: string, wait: WaitOptions = {}): Promise<OperationEnd> {
      const [end] = await waitFor([{ projectId, id: operationId }], wait);
      if (end === undefined) throw new Error('waiting for one operation returned no result');
      return end;
    },

    /**
     * Polls several operations, such as those of a created branch, until each ends. Returns the results in the order of the operations.
     */
    waitForOperations: waitFor,

    ...credentialCalls(call),

    /** Lists the personal keys of the credential's own user, in pages. The control plane shows no other user's keys. */
    personalKeys: (read: CallOptions = {}) => keyPages('/api_keys', {}, read),

    /** Lists the organization keys and project-scoped keys of an organization, in pages. */
    organizationKeys: (organizationId: string, read: CallOptions = {}) =>
      keyPages('/organizations/{org_id}/api_keys', { org_id: organizationId }, read),

    /** Mints a personal key. Only this response contains its secret. */
    createPersonalKey: (name: string, { signal }: CallOptions = {}) =>
      createKey('/api_keys', {}, { body: { key_name: name }, signal }),

    /** Mints an organization key, or with `projectId` a project-scoped key. Requires a personal key. */
    createOrganizationKey: (
      organizationId: string,
      { name, projectId, signal }: CallOptions & { name: string; projectId?: string },
    ) =>
      createKey(
        '/organizations/{org_id}/api_keys',
        { org_id: organizationId },
        { body: { key_name: name, project_id: projectId }, signal },
      ),

    /** Revokes a key permanently. After `outcome_unknown` the key may or may not be gone: list the keys to find out. */
    revokePersonalKey: (keyId: string, write: RevokeOptions = {}) =>
      revokeKey('/api_keys/{key_id}', { key_id: keyId }, write),

    /** Revokes an organization key or project-scoped key permanently. */
    revokeOrganizationKey: (organizationId: string, keyId: string, write: RevokeOptions = {}) =>
      revokeKey('/organizations/{org_id}/api_keys/{key_id}', { org_id: organizationId, key_id: keyId }, write),
  };
}

/** The maximum of Node's timers. Infinity and larger numbers would fire at once. */
const longestMs = 2 ** 31 - 1;

/**
 * Throws a TypeError for options that no call can work with. The message does not repeat the address, which may contain a password.
 */
function checkOptions({ baseUrl, timeoutMs = 1, callTimeoutMs = 1 }: ClientOptions): void {
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw new TypeError('baseUrl must be an http or https address with its version, like https://host/api/v2');
  }
  for (const [name, value] of Object.entries({ timeoutMs, callTimeoutMs })) {
    if (!(value >= 1 && value <= longestMs)) throw new TypeError(`${name} must be from 1 to ${longestMs} ms`);
  }
}
