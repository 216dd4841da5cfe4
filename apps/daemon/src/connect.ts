import { setTimeout } from 'node:timers/promises';
import {
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
import { type Logger, UserError, usageError } from '@keywarden/runtime';
import { type Config, type ConnectionConfig, readCredential } from '@keywarden/runtime/config';
import type { Observer } from './observe/observer.ts';

/** A connection that has authenticated. */
export interface Connection {
  name: string;
  /** What the store knows its control plane by. */
  identity: string;
  client: ControlPlaneClient;
  /** Shared by all connections of its account in this process. */
  limiter: Limiter;
  /** How many requests the connection has made so far. */
  requests: () => number;
  /** The number of its control plane in the store. */
  controlPlane: string;
  accountId: string;
  authMethod: string;
  isPersonal: boolean;
  ownKeyId: string | null;
  /** Where its key stands, if in a file. */
  keyFile: string | null;
  isSandbox: boolean;
  /** The control plane's clock less ours, in ms, by its `Date`. */
  skewMs: number;
  /** The clock and sleep of its client. */
  time: Time;
  /** The Date of the last answer of each list, in ms, and when it was there, by our clock. */
  lastDates: Map<string, { dateMs: number; endedMs: number }>;
}

/** What a connection learns when it authenticates, before anything is stored. */
export type Identity = Omit<Connection, 'controlPlane'>;

/** One limiter an account (L1), for as long as the process lives. */
export type Limiters = Map<string, Limiter>;

export interface OpenOptions {
  config: Config;
  limiters: Limiters;
  signal: AbortSignal;
  replica: string | null;
  time?: Time;
  /** For tests: what a client sends with, and its chance from 0 to 1. */
  fetch?: typeof fetch;
  random?: () => number;
  observer?: Observer;
  /** Where requests are counted, over all processes of the store. */
  budgets?: LimiterStore;
}

/**
 * Authenticates every connection. One that fails does not stop the others (R7): it goes to `onFailure`, which may throw. Throws
 * the first failure when none is left.
 */
export async function openConnections(
  sql: Sql,
  options: OpenOptions,
  onFailure: (name: string, error: unknown) => void,
): Promise<Connection[]> {
  const connections: Connection[] = [];
  const failures: unknown[] = [];
  const budgets = options.budgets ?? sharedBudgets(sql, options.time);
  for (const configured of options.config.connections) {
    try {
      const identity = await identify(readCredential(configured), { ...options, budgets });
      connections.push({ ...identity, controlPlane: await save(sql, identity, options.replica) });
    } catch (error) {
      failures.push(error);
      onFailure(configured.name, error);
    }
  }
  if (connections.length === 0) throw failures[0];
  return connections;
}

/** Where a process counts its requests, beside all others of the store: by a session of its own, so that no request waits behind pages. */
export function openBudgets({ connect }: Pick<Store, 'connect'>): LimiterStore {
  return createSharedStore(createBudgetRows(connect({ max: 1 })), {
    localMs: () => performance.now(),
    sleep: setTimeout,
  });
}

/** With a clock of their own, tests count by that. */
function sharedBudgets(sql: Sql, time: Time | undefined): LimiterStore {
  const rows = createBudgetRows(sql);
  if (time === undefined) return createSharedStore(rows, { localMs: () => performance.now() });
  return createSharedStore(rows, { localMs: () => time.now(), now: () => time.now() });
}

async function save(sql: Sql, connection: Identity, replica: string | null): Promise<string> {
  const { name, identity: baseUrl, accountId, authMethod, ownKeyId, isSandbox } = connection;
  const checkedAt = new Date(connection.time.now() + connection.skewMs).toISOString();
  return await saveConnection(sql, { name, baseUrl, accountId, authMethod, ownKeyId, isSandbox, checkedAt, replica });
}

/** Asks whose the credential is. Throws a UserError that names the fix. */
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
    observer,
  }: Omit<OpenOptions, 'replica'>,
): Promise<Identity> {
  const hooks = observer?.connection(name) ?? {};
  const first = createClient({ baseUrl: url, apiKey, time, fetch, random, hooks });
  const answer = await first.auth({ signal }).catch((error: unknown) => {
    throw describeFailure(error, { name, url, usesSandbox });
  });
  if (answer.dateMs === null)
    throw new UserError(
      'control_plane',
      `The control plane at ${url} sends no Date, and its time cannot be known; check CONTROL_PLANE_URL.`,
    );
  // Only a loopback address may call itself a sandbox: its time is moved and its limits may be off.
  const isSandbox =
    answer.server === 'keywarden-sandbox' && ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
  const limiter =
    isSandbox && answer.limits === 'off'
      ? noLimiter
      : await limiterFor(limiters, {
          account: `${url} ${answer.accountId}`,
          share,
          time,
          ...(budgets === undefined ? {} : { store: budgets }),
        });
  let requests = 1;
  const onAttempt: Hooks['onAttempt'] = (attempt) => {
    requests += 1;
    hooks.onAttempt?.(attempt);
  };
  return {
    name,
    identity,
    client: createClient({ baseUrl: url, apiKey, limiter, time, fetch, random, hooks: { ...hooks, onAttempt } }),
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

/** The account's limiter. The request that told whose the credential is counts too. */
async function limiterFor(limiters: Limiters, options: LimiterOptions): Promise<Limiter> {
  const limiter = limiters.get(options.account) ?? createLimiter(options);
  limiters.set(options.account, limiter);
  await limiter.record('GET /auth');
  return limiter;
}

/** The sentence for a connection that does not answer as it should. */
function describeFailure(
  error: unknown,
  { name, url, usesSandbox }: { name: string; url: string; usesSandbox: boolean },
): unknown {
  if (!(error instanceof ControlPlaneError)) return error;
  if (error.code === 'unauthenticated') {
    return new UserError(
      'control_plane',
      `The control plane at ${url} refuses the key of connection ${name}; fix CONTROL_PLANE_API_KEY or the connection's key.`,
    );
  }
  if (error.status !== null && ['forbidden', 'locked', 'rate_limited', 'unavailable'].includes(error.code)) {
    return new UserError(
      'control_plane',
      `The control plane at ${url} answers ${error.status} (connection ${name}: ${error.message}); try again later, or check the connection's key.`,
    );
  }
  if (['unreachable', 'unavailable', 'timed_out'].includes(error.code)) {
    const repair = usesSandbox
      ? 'start the sandbox with npm start or npm run sandbox, or set CONTROL_PLANE_URL and CONTROL_PLANE_API_KEY'
      : 'check CONTROL_PLANE_URL and the network';
    return new UserError(
      'control_plane',
      `The control plane at ${url} does not answer (connection ${name}); ${repair}.`,
    );
  }
  return new UserError(
    'control_plane',
    `The control plane at ${url} does not answer as one (${error.message}); check CONTROL_PLANE_URL.`,
  );
}

/**
 * All connections, or those that are named; each has authenticated. A command ends at the first that cannot; with
 * `skipFailing` such a one is logged and left out, and only when none is left it is an error.
 */
export async function connectionsOf(
  context: OpenOptions & { store: Store; log: Logger },
  { name, names, skipFailing = false }: { name?: string | undefined; names?: string[]; skipFailing?: boolean } = {},
): Promise<Connection[]> {
  const { store, config, log } = context;
  const wanted = names ?? (name === undefined ? config.connections.map((each) => each.name) : [name]);
  const chosen = config.connections.filter((each) => wanted.includes(each.name));
  if (chosen.length === 0) {
    throw usageError(
      `There is no connection named ${name}; there are ${config.connections.map((each) => each.name).join(', ')}.`,
    );
  }
  return await openConnections(
    store.sql,
    { ...context, config: { ...config, connections: chosen } },
    (failed, error) => {
      if (!skipFailing || chosen.length === 1) throw error;
      log.error({ connection: failed, err: error }, 'the connection cannot be used, and the others go on');
    },
  );
}

/**
 * The connections that can be used, and of the others one sentence each: what a person says must not wait for all of them. Throws when
 * none can.
 */
export async function usableConnections(
  context: OpenOptions & { store: Store },
): Promise<{ connections: Connection[]; failures: string[] }> {
  const failures: string[] = [];
  const connections = await openConnections(context.store.sql, context, (name, error) => {
    if (!(error instanceof UserError || error instanceof ControlPlaneError)) throw error;
    failures.push(`Connection ${name} cannot be used, and nothing was done through it: ${error.message}`);
  });
  return { connections, failures };
}
