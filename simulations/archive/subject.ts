import { randomUUID } from 'node:crypto';
import type { Time } from '@keywarden/core/client';
import type { Context } from '@keywarden/daemon';
import { guardedSteps, openConnections, type Steps, silentProgress, syncOperations } from '@keywarden/daemon';
import type { Store } from '@keywarden/db/store';
import { createLogger, readEnvironment } from '@keywarden/runtime';
import { parseConfig } from '@keywarden/runtime/config';
import { budgetsOf, hurried } from '@keywarden/testkit/daemon/fixture';

/** The system under test: one pass over a simulated control plane, as one command makes it. */
export interface Subject {
  /** The connection's name: several simulations may share a store. */
  name: string;
  url: string;
  apiKey: string;
  pageLimit: number;
  settleMs?: number;
}

export interface SyncOptions {
  signal?: AbortSignal;
  fetch?: typeof globalThis.fetch;
  steps?: Steps;
  /** The clock that responses are compared with. */
  time?: Time;
}

/** Makes one pass and returns the number of walks that it resumed. Rejects as the command would. */
export async function syncOnce(
  store: Store,
  { name, url, apiKey, pageLimit, settleMs }: Subject,
  {
    signal = new AbortController().signal,
    fetch = globalThis.fetch,
    steps = guardedSteps,
    time = hurried,
  }: SyncOptions = {},
): Promise<number> {
  const config = parseConfig(`operations: {page_limit: ${pageLimit}}`, 'the simulation');
  const settle = { ...config.operations.settle, ms: settleMs ?? config.operations.settle.ms };
  const connection = { name, url, identity: url, apiKey, keyId: null, keyFile: null, share: 1 };
  const context: Context = {
    store,
    config: {
      ...config,
      operations: { ...config.operations, settle },
      connections: [connection],
      channels: [],
      usesSandbox: false,
    },
    environment: readEnvironment({}),
    log: createLogger('simulation', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }),
    progress: silentProgress,
    signal,
    now: Date.now,
    limiters: new Map(),
    answerIds: new Set(),
    budgets: budgetsOf(store.sql, time),
    variables: {},
    replica: randomUUID(),
  };
  const [opened] = await openConnections(store.sql, { ...context, time, random: () => 0.5, fetch }, (_name, error) => {
    throw error;
  });
  const counts = opened === undefined ? {} : await syncOperations(context, opened, steps);
  return counts.resumed_walks ?? 0;
}
