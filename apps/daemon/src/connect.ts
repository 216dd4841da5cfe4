import {
  type ClientOptions,
  type ControlPlaneClient,
  ControlPlaneError,
  createClient,
  createLimiter,
  createSharedStore,
  type Hooks,
  type Limiter,
  type LimiterOptions,
  type LimiterStore,
  noLimiter,
  systemTime,
  type Time,
} from '@keywarden/core/client';
import { createBudgetRows, saveConnection } from '@keywarden/db/daemon';
import type { Sql, Store } from '@keywarden/db/store';
import { certificateFault, isLoopback, type Logger, UserError, usageError } from '@keywarden/runtime';
import { type ConnectionConfig, readCredential } from '@keywarden/runtime/config';
import type { Context } from './context.ts';

/** A connection that has authenticated. */
export interface Connection {
  name: string;
  /** The identity by which the store recognizes the control plane. */
  identity: string;
  client: ControlPlaneClient;
  /** Shared by all connections of its account in this process. */
  limiter: Limiter;
  requests: () => number;
  /** The control plane's number in the store. */
  controlPlane: string;
  accountId: string;
  authMethod: string;
  isPersonal: boolean;
  ownKeyId: string | null;
  keyFile: string | null;
  isSandbox: boolean;
  /** The control plane's clock, as its `Date` gives it, minus the local clock, in ms. */
  skewMs: number;
  time: Time;
  /** For each list, the Date of its last response in ms, and when that response arrived by the local clock. */
  lastDates: Map<string, { dateMs: number; endedMs: number }>;
}

/** The facts that a connection learns when it authenticates, before anything is stored. */
export type Identity = Omit<Connection, 'controlPlane'>;

/** What connections are opened with. Without `budgets`, each limiter counts its own requests. */
export interface OpenOptions
  extends Pick<Context, 'config' | 'limiters' | 'signal' | 'replica' | 'observer'>,
    Partial<Pick<Context, 'budgets' | 'answerIds'>>,
    Pick<ClientOptions, 'time' | 'fetch' | 'random'> {}

/**
 * Authenticates every connection. A connection that fails does not stop the others (R7): its error is passed to `onFailure`, which may
 * throw. Throws the first failure if no connection is left.
 */
export async function openConnections(
  sql: Sql,
  options: OpenOptions,
  onFailure: (name: string, error: unknown) => void,
): Promise<Connection[]> {
  const connections: Connection[] = [];
  const failures: unknown[] = [];
  for (const configured of options.config.connections) {
    try {
      const identity = await identify(readCredential(configured), options);
      connections.push({ ...identity, controlPlane: await save(sql, identity, options.replica) });
    } catch (error) {
      failures.push(error);
      onFailure(configured.name, error);
    }
  }
  if (connections.length === 0) throw failures[0];
  return connections;
}

/** Opens the request counter that all processes of the store share. It has its own session, so that no request waits behind pages. */
export function openBudgets({ connect }: Pick<Store, 'connect'>): LimiterStore {
  return createSharedStore(createBudgetRows(connect({ max: 1 })), {
    localMs: () => performance.now(),
    sleep: systemTime.sleep,
  });
}

async function save(sql: Sql, connection: Identity, replica: string | null): Promise<string> {
  const { name, identity: baseUrl, accountId, authMethod, ownKeyId, isSandbox } = connection;
  const checkedAt = new Date(connection.time.now() + connection.skewMs).toISOString();
  return await saveConnection(sql, { name, baseUrl, accountId, authMethod, ownKeyId, isSandbox, checkedAt, replica });
}

/** Asks the control plane whose credential it is. Throws a UserError that names the fix. */
export async function identify(
  { name, url, identity, apiKey, keyId, keyFile, share }: ConnectionConfig,
  {
    config: { usesSandbox },
    limiters,
    signal,
    time = systemTime,
    fetch = globalThis.fetch,
    random = Math.random,
    budgets,
    answerIds = new Set(),
    observer,
  }: Omit<OpenOptions, 'replica'>,
): Promise<Identity> {
  const hooks = observer?.connection(name) ?? {};
  const asked = { baseUrl: url, apiKey, time, fetch, random, answerIds };
  const first = createClient({ ...asked, hooks });
  const answer = await first.auth({ signal }).catch((error: unknown) => {
    if (!(error instanceof ControlPlaneError)) throw error;
    throw new UserError('control_plane', failureInWords(error, { name, url, usesSandbox }));
  });
  if (answer.dateMs === null)
    throw new UserError(
      'control_plane',
      `The control plane at ${url} sends no Date header that can be read, so its time is unknown; ${checkAddress}.`,
    );
  // Only a loopback address is accepted as a sandbox: its time can be moved and its limits may be off.
  const isSandbox = answer.server === 'keywarden-sandbox' && isLoopback(new URL(url).hostname);
  const limiter =
    isSandbox && answer.limits === 'off'
      ? noLimiter
      : await limiterFor(limiters, { account: `${url} ${answer.accountId}`, share, time, store: budgets });
  let requests = 1;
  const onAttempt: Hooks['onAttempt'] = (attempt) => {
    requests += 1;
    hooks.onAttempt?.(attempt);
  };
  return {
    name,
    identity,
    client: createClient({ ...asked, limiter, hooks: { ...hooks, onAttempt } }),
    limiter,
    requests: () => requests,
    accountId: answer.accountId,
    authMethod: answer.authMethod,
    isPersonal: answer.authMethod === 'api_key_user',
    ownKeyId: keyId,
    keyFile,
    isSandbox,
    skewMs: answer.dateMs - time.now(),
    time,
    lastDates: new Map(),
  };
}

/** Returns the account's limiter. It also counts the request that identified the credential. */
async function limiterFor(limiters: Context['limiters'], options: LimiterOptions): Promise<Limiter> {
  const limiter = limiters.get(options.account) ?? createLimiter(options);
  limiters.set(options.account, limiter);
  await limiter.record('GET /auth');
  return limiter;
}

const checkAddress = "check CONTROL_PLANE_URL or the connection's url";

function failureInWords(
  { code, status, message, networkCode }: ControlPlaneError,
  { name, url, usesSandbox }: { name: string; url: string; usesSandbox: boolean },
): string {
  if (code === 'unauthenticated')
    return `The control plane at ${url} refuses the key of connection ${name}; fix CONTROL_PLANE_API_KEY or the connection's key.`;
  // An answer that is cut short has the status of a success.
  if (status !== null && status >= 400 && ['forbidden', 'locked', 'rate_limited', 'unavailable'].includes(code))
    return `The control plane at ${url} answers ${status} (connection ${name}: ${message}); try again later, or check the connection's key.`;
  if (!['unreachable', 'unavailable', 'timed_out'].includes(code))
    return `The server at ${url} does not respond like a control plane (${message}); ${checkAddress}, which must end with the version, as in https://host/api/v2.`;
  const fault = certificateFault(networkCode ?? '');
  if (fault !== undefined) return `The control plane at ${url} ${fault} (connection ${name}).`;
  const proxyStatus = /^PROXY_(\d+)$/.exec(networkCode ?? '')?.[1];
  if (proxyStatus !== undefined)
    return `The proxy before the control plane at ${url} answers ${proxyStatus} (connection ${name}); check HTTPS_PROXY, its user and password, and whether it permits this host.`;
  const repair = usesSandbox
    ? 'start the sandbox with npm start or npm run sandbox, or set CONTROL_PLANE_URL and CONTROL_PLANE_API_KEY'
    : `${checkAddress}, and the network`;
  return `The control plane at ${url} does not answer (connection ${name}${networkCode === null ? '' : `: ${networkCode}`}); ${repair}.`;
}

/** Returns all or the named connections, authenticated. Throws at the first failure; with `skipFailing` only if no connection is left. */
export async function connectionsOf(
  context: OpenOptions & { store: Store; log: Logger },
  { names, skipFailing = false }: { names?: string[]; skipFailing?: boolean } = {},
): Promise<Connection[]> {
  const { store, config, log } = context;
  const known = config.connections.map(({ name }) => name);
  const wanted = names ?? known;
  const chosen = config.connections.filter(({ name }) => wanted.includes(name));
  if (chosen.length === 0)
    throw usageError(`There is no connection named ${wanted.join(' or ')}; use one of ${known.join(', ')}.`);
  return await openConnections(
    store.sql,
    { ...context, config: { ...config, connections: chosen } },
    (failed, error) => {
      if (!skipFailing || chosen.length === 1) throw error;
      log.error({ connection: failed, err: error }, 'the connection cannot be used; the others continue');
    },
  );
}

/** Returns the usable connections, and a sentence for each other one: a command does not wait for them. Throws if none is usable. */
export async function usableConnections(
  context: OpenOptions & { store: Store },
): Promise<{ connections: Connection[]; failures: string[] }> {
  const failures: string[] = [];
  const connections = await openConnections(context.store.sql, context, (name, error) => {
    if (!(error instanceof UserError || error instanceof ControlPlaneError)) throw error;
    failures.push(`Connection ${name} cannot be used, so it was skipped: ${error.message}`);
  });
  return { connections, failures };
}
