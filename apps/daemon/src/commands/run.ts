import { setTimeout } from 'node:timers/promises';
import { before, dayMs } from '@keywarden/core/values';
import { readTotals, removeOtherConnections } from '@keywarden/db/daemon';
import { assertAppLogin, probeSettings, whyNodesMissing, whyNotReady } from '@keywarden/db/store';
import { aborted, codeOf, exitCode, startTracing, UserError } from '@keywarden/runtime';
import { type Connection, connectionsOf } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { planKeys } from '../enforce/plan.ts';
import { ensureFirstToken } from '../first-token.ts';
import { readWitnesses } from '../ledger/witnesses.ts';
import { createMetrics } from '../observe/observer.ts';
import { createObserveApp, listenToObservers } from '../observe/server.ts';
import { silentProgress } from '../progress.ts';
import { listMixedSinks } from '../rotate/sinks/open.ts';
import { type Daemon, startDaemon } from '../schedule/daemon.ts';
import { withContext } from './with-context.ts';

/** Runs the daemon: does the configured work on schedule until it is stopped. It revokes automatically only in `mode: enforce` (R6). */
export async function runDaemon(): Promise<number> {
  return await withContext(
    async (context) => {
      try {
        return await run(context);
      } catch (error) {
        if (context.signal.aborted) return exitCode.done; // stopped before it was ready
        throw error;
      }
    },
    { isDaemon: true },
  );
}

async function run(context: Context): Promise<number> {
  const { store, config, log, replica } = context;
  if (replica === null) throw new Error('a daemon has a replica of its own');
  if (!context.environment.ALLOW_OWNER_LOGIN) await assertAppLogin(store.sql);
  const witnesses = readWitnesses(context.environment).map(({ key }) => key.name);
  const connections = await connectionsOf(context, { skipFailing: true });
  const names = config.connections.map(({ name }) => name);
  await removeOtherConnections(store.db, names);
  for (const mixed of listMixedSinks(config)) log.warn(mixed);
  await ensureFirstToken(context, { isSandbox: connections.every((connection) => connection.isSandbox) });

  const over = new AbortController();
  const fatal = Promise.withResolvers<never>();
  fatal.promise.catch(() => undefined); // it may reject after the daemon has ended
  // Jobs end when the daemon stops, so they do not get the stop signal.
  const metrics = createMetrics();
  const working: Context = { ...context, signal: new AbortController().signal, observer: metrics };
  const sql = store.connect({ max: 2, settings: { statement_timeout: 8000, ...probeSettings } });
  let daemon: Daemon | undefined;
  const app = createObserveApp({
    metrics,
    sql,
    witnesses,
    log,
    whyNotReady: async () => whyNotWorking(daemon) ?? (await whyNotReady(sql)),
    whyDegraded: () => whyNodesMissing(sql),
  });
  const { DAEMON_HOST: host, DAEMON_PORT: port, OTEL_EXPORTER_OTLP_ENDPOINT: collector } = context.environment;
  const stopListening = await listenToObservers(app, { host, port, log });
  const endTracing = await startTracing(collector, 'keywarden');
  try {
    daemon = await startDaemon(working, { replica, onFatal: fatal.reject });
    // Also ends with `over`: the wait keeps the process alive.
    const stopping = aborted(AbortSignal.any([context.signal, over.signal]));
    await Promise.race([stopping, fatal.promise, daemon.settled(['keys', 'operations'])]);
    if (!context.signal.aborted) {
      working.progress = silentProgress;
      const starting = { ...context, signal: AbortSignal.any([context.signal, over.signal]) };
      await Promise.race([stopping, fatal.promise, notifyParent(starting, connections)]);
    }
    if (!context.signal.aborted) log.info({ schedules: config.schedules, replica }, 'the daemon runs');
    await Promise.race([stopping, fatal.promise]);
  } finally {
    over.abort();
    await daemon?.stop();
    await stopListening();
    await endTracing();
  }
  log.info('the daemon has stopped');
  return exitCode.done;
}

/** The daemon ticks at least once a minute. One that has not ticked for this long enqueues nothing. */
const longestTickMs = 150_000;

/** Returns why this replica does no work yet, or no more. */
function whyNotWorking(daemon: Daemon | undefined): string | null {
  if (daemon === undefined) return 'it starts';
  const isLate = performance.now() - daemon.tickedMs() > longestTickMs;
  return isLate ? 'it has not checked its schedules for minutes' : null;
}

const readyPauseMs = 5000;

/** Notifies the parent process (npm start), if it opened a channel, that the store is filled. A failing store does not end the daemon. */
async function notifyParent(context: Context, connections: Connection[]): Promise<void> {
  while (!context.signal.aborted) {
    try {
      const { id, document } = await planKeys(context, connections);
      const { items, held, reported } = document;
      const totals = await readTotals(context.store.db, unservedBefore(context, connections));
      process.send?.({
        ready: { totals, plan: { id, revoke: items.length, held: held.length, report: reported.length } },
      });
      return;
    } catch (error) {
      if (context.signal.aborted) return;
      if (!mayPass(error)) throw error;
      context.log.warn({ err: error }, 'cannot make the first plan; the daemon retries');
      await setTimeout(readyPauseMs, undefined, { signal: context.signal }).catch(() => undefined);
    }
  }
}

/** Returns whether an error comes from the store or its network connection, and not from a bug in Keywarden. */
function mayPass(error: unknown): boolean {
  if (error instanceof UserError) return error.canRetry;
  return error instanceof Error && codeOf(error) !== error.name && !codeOf(error).startsWith('ERR_');
}

/** Longer than any six months: the control plane no longer serves what is older. */
const unservedMs = 184 * dayMs;

function unservedBefore({ now }: Pick<Context, 'now'>, connections: Connection[]): string {
  const controlPlaneTimes = connections.map(controlPlaneNow).toSorted();
  return before(controlPlaneTimes[0] ?? new Date(now()).toISOString(), unservedMs);
}
