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
import { createBudgetRows, saveConnection, staleWords } from '@keywarden/db/daemon';
import type { Sql, Store } from '@keywarden/db/store';
import { UserError } from '@keywarden/runtime';
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

/** Asks whose the credential is. Throws a UserError that names the mend. */
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
      `The control plane at ${url} refuses the key of connection ${name}; mend CONTROL_PLANE_API_KEY or the connection's key.`,
    );
  }
  if (error.status !== null && ['forbidden', 'locked', 'rate_limited', 'unavailable'].includes(error.code)) {
    return new UserError(
      `The control plane at ${url} answers ${error.status} (connection ${name}: ${error.message}); try again later, or check the connection's key.`,
    );
  }
  if (['unreachable', 'unavailable', 'timed_out'].includes(error.code)) {
    const mend = usesSandbox
      ? 'start the sandbox with npm start or npm run sandbox, or set CONTROL_PLANE_URL and CONTROL_PLANE_API_KEY'
      : 'check CONTROL_PLANE_URL and the network';
    return new UserError(`The control plane at ${url} does not answer (connection ${name}); ${mend}.`);
  }
  return new UserError(
    `The control plane at ${url} does not answer as one (${error.message}); check CONTROL_PLANE_URL.`,
  );
}

/**
 * One wrong Date that a walk began with would be claimed for good, and one that a listing bears would outlive all later ones, so that nothing is
 * stored through a connection whose control plane and we are minutes apart: one of both clocks is wrong. A sandbox's time is moved on purpose.
 */
export function assertSaneClock({ name, skewMs, isSandbox }: Connection): void {
  if (isSandbox || Math.abs(skewMs) <= dateToleranceMs) return;
  throw new UserError(
    `Our clock is ${Math.round(Math.abs(skewMs) / 1000)} s off the control plane's of connection ${name}, and nothing is stored through it until both agree; set the clock right.`,
  );
}

/** An answer of the control plane itself is made after it was asked for; clocks drift by seconds, and a Date has whole ones. */
const driftMs = 30_000;

/** A Date has whole seconds: after this time, in ms, another answer has another. */
const dateMovesMs = 2000;

/**
 * Why an answer shows a time that is over, and not the present: a cache between has kept it. Null for a fresh one. A named `list` is compared with
 * its last answer, too.
 */
export function whyStale(
  { skewMs, lastDates, time }: Pick<Connection, 'skewMs' | 'lastDates' | 'time'>,
  { dateMs, ageMs, begunMs, list }: { dateMs: number | null; ageMs: number; begunMs: number; list?: string },
): string | null {
  const last = list === undefined ? undefined : lastDates.get(list);
  if (list !== undefined && dateMs !== null && dateMs !== last?.dateMs)
    lastDates.set(list, { dateMs, endedMs: time.now() });
  if (last !== undefined && last.dateMs === dateMs && begunMs - last.endedMs > dateMovesMs)
    return `its Date is that of an answer of ${Math.round((begunMs - last.endedMs) / 1000)} s before: ${staleWords}`;
  if (ageMs > 0) return `${staleWords}, as its Age says`;
  const behindMs = begunMs + skewMs - (dateMs ?? Number.NaN);
  return behindMs > driftMs ? `its Date lies ${Math.round(behindMs / 1000)} s back: ${staleWords}` : null;
}

/** How far an answer's Date may lie from where the control plane's clock must be by now. */
const dateToleranceMs = 300_000;

/**
 * The Date of an answer as RFC 3339. One wrong Date that was stored would spoil every later judgement, so that one which does
 * not fit what the connection knows of the control plane's clock is refused. A sandbox's time is moved on purpose.
 */
export function datedAt({ name, skewMs, isSandbox, time }: Connection, dateMs: number | null): string {
  const offMs = dateMs === null ? Number.NaN : Math.abs(dateMs - (time.now() + skewMs));
  if (dateMs !== null && (isSandbox || offMs <= dateToleranceMs)) return new Date(dateMs).toISOString();
  throw new UserError(
    `An answer to connection ${name} bears no Date, or one that does not fit the answers before it; nothing of it is stored.`,
  );
}
