import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createClient,
  createSharedStore,
  type Limiter,
  noLimiter,
  systemTime,
  type Time,
} from '@keywarden/core/client';
import { defaultPolicy, type Policy, policySchema } from '@keywarden/core/policy';
import type { Context } from '@keywarden/daemon';
import { type Connection, type OpenOptions, openConnections, silentProgress } from '@keywarden/daemon';
import { createBudgetRows } from '@keywarden/db/daemon';
import type { Sql, Store } from '@keywarden/db/store';
import { createLogger, readEnvironment } from '@keywarden/runtime';
import { type ChannelConfig, type Config, parseConfig, type Sink } from '@keywarden/runtime/config';
import { createSandbox, noLimits, type Sandbox, type SandboxOptions } from '@keywarden/sandbox';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { type Controls, createControls } from '../sandbox/controls.ts';

export interface Fixture {
  sandbox: Sandbox;
  context: Context;
  connections: Connection[];
  /** The store in its owner's role, for changes that a test makes without the daemon. */
  owner: Store;
  controls: Controls;
  /** Sends a request to the control plane as its administrator. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Authenticates again, as every command does. This gives connections the control plane's time. */
  reconnect(): Promise<Connection[]>;
  close(): Promise<void>;
}

export interface FixtureOptions {
  sandbox?: SandboxOptions;
  policy?: Policy;
  /** The connection's clock, sleep and fetch. */
  client?: Pick<OpenOptions, 'time' | 'fetch'>;
  /** Where notifications go. */
  channels?: ChannelConfig[];
  /** Where successors are delivered. */
  sinks?: Sink[];
  /** The id of the connection's own key; null leaves the id unset. */
  keyId?: string | null;
}

/** Returns a counter of requests in the store, as commands have, by the clock of a test. */
export const budgetsOf = (sql: Sql, { now }: Pick<Time, 'now'> = systemTime) =>
  createSharedStore(createBudgetRows(sql), { localMs: now, now });

/** Skips the waits between retries: no test depends on them. */
export const hurried = { now: Date.now, sleep: () => Promise.resolve() };

/** The request at which a process kills itself, counted among the requests of one method. */
export interface KillAt {
  method: string;
  nth: number;
  when: 'before' | 'after';
}

/** Returns a fetch that kills the process at that request. */
export function deadlyFetch(killAt: KillAt | null): typeof fetch {
  const seen = new Map<string, number>();
  return async (input, init) => {
    const method = init?.method ?? 'GET';
    const nth = (seen.get(method) ?? 0) + 1;
    seen.set(method, nth);
    const isDeadly = killAt !== null && killAt.method === method && killAt.nth === nth;
    if (isDeadly && killAt.when === 'before') process.kill(process.pid, 'SIGKILL');
    const response = await fetch(input, init);
    if (isDeadly) process.kill(process.pid, 'SIGKILL');
    return response;
  };
}

export const neverUsedRule = { name: 'never-used', never_used_for: '30d', action: 'revoke' };
export const neverUsedPolicy = policySchema.parse({ rules: [neverUsedRule] });

/** Returns a command's context on a store, with a data folder of its own. */
export function makeContext(
  store: Store,
  config: Pick<Config, 'connections' | 'channels' | 'policy'> & Partial<Pick<Config, 'sinks' | 'retention'>>,
): Context {
  return {
    store,
    config: { ...parseConfig('{}', 'no file'), ...config, usesSandbox: false },
    environment: { ...readEnvironment({}), KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'keywarden-context-')) },
    log: createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }),
    progress: silentProgress,
    signal: new AbortController().signal,
    now: Date.now,
    limiters: new Map(),
    answerIds: new Set(),
    budgets: budgetsOf(store.sql),
    variables: process.env,
    replica: randomUUID(),
  };
}

/** Returns a sandbox of its own and a context on a store in the daemon's role, as one command would have them. */
export async function makeFixture(
  store: TestStore,
  {
    sandbox: options = {},
    policy = defaultPolicy,
    client = {},
    keyId = '1',
    channels = [],
    sinks = [],
  }: FixtureOptions = {},
): Promise<Fixture> {
  const sandbox = await createSandbox({ limits: noLimits, ...options });
  const connection = {
    name: 'main',
    url: sandbox.url,
    identity: sandbox.url,
    apiKey: sandbox.adminKey,
    keyId,
    keyFile: null,
    share: 1,
  };
  const context = makeContext(await store.as('keywarden_daemon'), {
    connections: [connection],
    channels,
    sinks,
    policy,
  });
  const { KEYWARDEN_DATA: dataFolder } = context.environment;
  const request = async (url: string, method: string, body: unknown) => {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
    return response.status === 204 ? null : await response.json();
  };
  const fixture: Fixture = {
    sandbox,
    context,
    connections: [],
    owner: store,
    controls: createControls(sandbox.controlUrl),
    ask: async (method, path, body) => (await request(`${sandbox.url}${path}`, method, body)) as never,
    async reconnect() {
      const budgets = budgetsOf(context.store.sql, client.time);
      const opening = { ...context, ...client, budgets };
      fixture.connections = await openConnections(context.store.sql, opening, (_name, error) => {
        throw error;
      });
      return fixture.connections;
    },
    async close() {
      await sandbox.close();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
  await fixture.reconnect();
  return fixture;
}

/** Returns the only connection of a fixture. */
export function connectionOf({ connections: [connection] }: Fixture): Connection {
  if (connection === undefined) throw new Error('the fixture has no connection');
  return connection;
}

/**
 * Returns the fixture's connection behind a limiter that gives the permit of each revocation after `meanwhile`, `lateMs` late by the connection's
 * clock. Also returns how many permits it gave.
 */
export function lateConnection(fixture: Fixture, meanwhile: () => Promise<unknown>, { lateMs = 1500 } = {}) {
  let permits = 0;
  const limiter: Limiter = {
    ...noLimiter,
    async wait(route) {
      if (!route.startsWith('DELETE')) return;
      permits += 1;
      await meanwhile();
    },
  };
  const connection = connectionOf(fixture);
  const { url: baseUrl, adminKey: apiKey } = fixture.sandbox;
  const time = { ...connection.time, now: () => Date.now() + permits * lateMs };
  const late: Connection = { ...connection, time, client: createClient({ baseUrl, apiKey, limiter, time }) };
  return { late, permits: () => permits };
}
