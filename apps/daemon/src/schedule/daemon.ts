import { setTimeout as sleep } from 'node:timers/promises';
import { endStuckSessions, openJobIncident } from '@keywarden/db/daemon';
import { countUnsettled, createBoss, describeBossError, failedQueue, overPostgres } from '@keywarden/db/jobs';
import { assertCurrent } from '@keywarden/db/store';
import { jobKinds, UserError, within } from '@keywarden/runtime';
import { Cron } from 'croner';
import type { Context } from '../context.ts';
import { reportCurrentPolicy } from '../current-policy.ts';
import { checkMark } from '../enforce/high-water-mark.ts';
import { growAndWitness } from '../ledger/ledger.ts';
import { jobs } from './jobs.ts';
import { type JobData, tick } from './ticker.ts';
import { runJob, type Worker } from './worker.ts';

export interface DaemonOptions {
  replica: string;
  /** Replaces the database's clock, in ms since 1970: for simulations. */
  now?: () => number;
  /** How often the daemon looks for jobs that died, in seconds. */
  superviseSeconds?: number;
  /** How often the daemon looks for jobs to retry, in seconds. It is notified of new jobs at once. */
  pollSeconds?: number;
  /** Called for an error after which the daemon must end: another schema than its own. */
  onFatal: (error: unknown) => void;
}

export type Daemon = Awaited<ReturnType<typeof startDaemon>>;

const tickEvery = '*/5 * * * * *';
/** The database's clock may be set, so it is read at least this often, in ms. */
const longestSkipMs = 55_000;
/** While the store cannot be reached, it is logged once in this time, in ms. */
const complaintMs = 30_000;
/** The most accounts for which a replica runs jobs of one kind at once. */
const mostAtOnce = 4;
/** The share of the stop time that is left when running jobs are handed back. */
const handBackShare = 0.3;

/** Starts one replica. All are equal: rows decide which one enqueues a slot and which one does a job. */
export async function startDaemon(context: Context, options: DaemonOptions) {
  const { store, log, config } = context;
  const { replica, now, onFatal, superviseSeconds = 60, pollSeconds = 30 } = options;
  const polling = { pollingIntervalSeconds: Math.min(5, pollSeconds), notifyPollingIntervalSeconds: pollSeconds };
  // A session of its own: neither waits behind the work, whose pool may be busy.
  const sql = store.connect({ max: 1, parsesJson: true });
  const queues = createBoss(overPostgres(sql, { listens: true }), { superviseSeconds, listens: true });
  const complain = createComplaint(log, 'the queues cannot be used; the daemon retries');
  const complainOfSessions = createComplaint(
    log,
    'sessions of suspended processes cannot be ended; the daemon retries',
  );
  const complainOfWitnesses = createComplaint(log, 'a witness does not cosign; the daemon asks again');
  let skipUntilMs = 0;
  queues.on('error', (error) => {
    // Another server may have taken over: the next tick looks at the store at once.
    skipUntilMs = 0;
    complain(error);
  });
  queues.on('warning', ({ message }) => log.warn({ warning: message }, 'the queues reported a warning'));
  await queues.start().catch((error: unknown) => {
    throw describeBossError(error);
  });

  const requested = new AbortController();
  const forced = new AbortController();
  const running = new Set<Promise<void>>();
  let tickedMs = performance.now();
  let sequencing: Promise<void> | undefined;
  const assertOurs = async () =>
    await assertCurrent(sql).catch((error: unknown) => {
      if (error instanceof UserError) onFatal(error);
      throw error;
    });
  const tickNow = async () => {
    if (requested.signal.aborted) return;
    await assertOurs();
    // A server that forbids it must not stop the schedules.
    const stuck = await endStuckSessions(sql).catch((error: unknown) => {
      complainOfSessions(error);
      return 0;
    });
    if (stuck > 0) log.warn({ sessions: stuck }, 'ended sessions of a suspended process, whose locks stopped others');
    const { enqueued, nextMs } = await tick({ sql, queues, config, replica, now });
    for (const slot of enqueued) log.debug(slot, 'enqueued');
    await reportCurrentPolicy({ ...context, store: { ...store, sql } });
    // Many events may wait, and the schedules do not wait for them.
    sequencing ??= sequence(context, { signal: requested.signal, complainOfWitnesses }).finally(
      () => (sequencing = undefined),
    );
    tickedMs = performance.now();
    // Skip no tick that the next slot needs. This machine's clock times the ticks.
    skipUntilMs = tickedMs + Math.min(longestSkipMs, nextMs) - 4000;
  };

  let ticker: Cron | undefined;
  const stop = async () => {
    ticker?.stop();
    requested.abort(new Error('the daemon stops'));
    const { ms } = config.shutdown_timeout;
    const force = setTimeout(() => forced.abort(new Error('the daemon stops')), ms * (1 - handBackShare));
    await Promise.all([...jobKinds, failedQueue].map((kind) => queues.offWork(kind, { wait: false })));
    const ended = allEnded(running).then(async () => await sequencing);
    const end = await within(ms, ended, 'late');
    clearTimeout(force);
    if (end === 'late') log.error({ jobs: running.size }, 'jobs did not end in time; another replica takes them over');
    // Fails the jobs that still count as active: a job that did not end in time is free for others at once.
    await queues.stop({ graceful: false, close: false }).catch((error: unknown) => complain(error));
  };

  try {
    // Tick before there is work: a daemon with another schema must do none.
    await tickNow();
    const stopping = { requested: requested.signal, forced: forced.signal };
    await startWorkers({ context, replica, sql, queues, assertOurs, stopping }, { polling, running });
  } catch (error) {
    forced.abort(error);
    await stop();
    throw error;
  }
  ticker = new Cron(tickEvery, { protect: true, catch: (error) => complain(error), unref: true }, async () => {
    if (performance.now() >= skipUntilMs) await tickNow();
  });
  return {
    running: () => running.size,
    /** Returns when the last tick completed, in ms of `performance.now`. */
    tickedMs: () => tickedMs,
    /** Enqueues what is due now. The daemon also calls it automatically. */
    tick: tickNow,
    /** Resolves when no job of these queues runs or waits for its first attempt, on any replica. */
    async settled(kinds: readonly string[]): Promise<void> {
      for (;;) {
        // The store may be away for a while, which is no reason to end.
        const jobs = await countUnsettled(sql, kinds).catch((error: unknown) => {
          requested.signal.throwIfAborted();
          complain(error);
          return undefined;
        });
        if (jobs === 0) return;
        await sleep(250, undefined, { signal: requested.signal });
      }
    },
    /** Takes no more jobs, and finishes or hands back running ones within the configured time. */
    stop,
  };
}

/** Checks this machine's mark, adds waiting events to the ledger, and asks its witnesses. A failure must not delay the schedules. */
async function sequence(
  context: Context,
  { signal, complainOfWitnesses }: { signal: AbortSignal; complainOfWitnesses: (error: unknown) => void },
): Promise<void> {
  const { log } = context;
  try {
    // R10: the work may be another machine's for hours, which does not see that the store lacks the mark of this one.
    await checkMark(context).catch((error: unknown) =>
      log.warn({ err: error }, 'the mark of this machine could not be checked'),
    );
    const { grown, failures } = await growAndWitness({ ...context, signal }, { createsKey: true });
    if (grown.state === 'inconsistent')
      log.error({ why: grown.why }, 'the ledger is inconsistent; nothing is enforced');
    else if (grown.state === 'grown' && grown.added > 0) log.debug(grown, 'the ledger has grown');
    if (failures.length > 0) complainOfWitnesses(new UserError('incomplete', failures.join('; ')));
  } catch (error) {
    log.warn({ err: error }, 'the ledger could not grow');
  }
}

/** Works on the jobs of every kind, and opens an incident for each job that died. Adds the jobs that run to `running`. */
async function startWorkers(
  worker: Worker,
  { polling, running }: { polling: object; running: Set<Promise<void>> },
): Promise<void> {
  const { context, queues } = worker;
  for (const kind of jobKinds) {
    const localConcurrency = jobs[kind].per === 'store' ? 1 : Math.min(mostAtOnce, context.config.connections.length);
    await queues.work<JobData>(kind, { ...polling, localConcurrency }, async ([job]) => {
      if (job === undefined) return;
      const done = runJob(worker, kind, job);
      running.add(done);
      await done.finally(() => running.delete(done));
    });
  }
  await queues.work(failedQueue, { includeMetadata: true, ...polling }, async ([job]) => {
    if (job === undefined || job.sourceName === null) return;
    const { sourceName, sourceId, createdOn } = job;
    const { account, connections } = job.data as JobData; // has the type with which it was sent
    const died = { jobId: sourceId, diedAt: createdOn };
    await openJobIncident(context.store.sql, { kind: sourceName, account, connections, ...died });
  });
}

/** Resolves when nothing runs any more, including jobs that begin meanwhile. */
async function allEnded(running: Set<Promise<void>>): Promise<void> {
  while (running.size > 0) await Promise.allSettled(running);
}

/** Returns a logger for unreachable queues that logs once in a while, not on every try. */
function createComplaint(log: Context['log'], message: string): (error: unknown) => void {
  let loggedMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - loggedMs < complaintMs) return;
    loggedMs = performance.now();
    log.error({ err: error }, message);
  };
}
