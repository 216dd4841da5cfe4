import { randomUUID } from 'node:crypto';
import { finishJobRun, startJobRun } from '@keywarden/db/daemon';
import { type Job, overPostgres, type Queues } from '@keywarden/db/jobs';
import type { Sql } from '@keywarden/db/store';
import { describeError, type JobKind, linkSignals, traced, UserError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { jobs } from './jobs.ts';
import type { JobData } from './ticker.ts';

export interface Worker {
  context: Context;
  replica: string;
  /** The session of the queues. */
  sql: Sql;
  queues: Queues;
  /** Throws a UserError, and ends the daemon, if another version has migrated the database. */
  assertOurs: () => Promise<void>;
  /** How the daemon ends: `requested` is aborted on a stop request, `forced` when running jobs must be handed back. */
  stopping: { requested: AbortSignal; forced: AbortSignal };
}

/** The part of a failure that the queue stores: never a message that may contain data. */
class JobFailure extends Error {
  constructor(error: unknown) {
    const { type, code, message } = describeError(error);
    super(message ?? `${type} ${code}`);
    this.name = 'JobFailure';
    this.stack = '';
  }
}

/** Runs one attempt at a job, with its row in the store from start to end. Throws what the queue is to store, so that the job is retried. */
export async function runJob(worker: Worker, kind: JobKind, job: Job<JobData>): Promise<void> {
  const { context, replica, stopping } = worker;
  // The job belongs to another version, or the stop request came before it began.
  if (!(await isOurs(worker)) || stopping.requested.aborted) return await handBack(worker, kind, job);
  const { db, sql } = context.store;
  const { account, connections, slot } = job.data;
  const { isResumable, run } = jobs[kind];
  const runId = randomUUID();
  const attempt = job.retryCount + 1;
  const log = context.log.child({ run: runId, job: kind, account, ...(slot === null ? {} : { slot }) });
  // The queue's own signal means that another replica has taken the job over, or that it took longer than a day.
  const linked = linkSignals(job.signal, isResumable ? stopping.requested : stopping.forced, context.signal);
  const { signal } = linked;
  const startedMs = performance.now();
  const end = (outcome: 'done' | 'failed' | 'handed_back') =>
    context.observer?.job(kind, outcome, (performance.now() - startedMs) / 1000);
  let number: string | undefined;
  try {
    signal.throwIfAborted();
    number = await startJobRun(db, { jobId: job.id, kind, account, slotAt: slot, attempt, replica });
    const attributes = { 'keywarden.account': account, 'keywarden.run': runId, 'keywarden.attempt': attempt };
    const work = async () => await run({ ...context, log, signal }, connections);
    await traced(`job ${kind}`, attributes, work);
    await finishJobRun(sql, { number, outcome: 'done', connections });
    end('done');
    log.info({ ms: Math.round(performance.now() - startedMs) }, 'done');
  } catch (error) {
    const isHandedBack = signal.aborted && !job.signal.aborted;
    const described = describeError(error);
    const how = isHandedBack
      ? ({ outcome: 'handed_back' } as const)
      : ({ outcome: 'failed', error: described } as const);
    end(how.outcome);
    // The store may be what failed: the attempt then has no end.
    if (number !== undefined) await finishJobRun(sql, { number, ...how }).catch(() => undefined);
    if (isHandedBack) {
      await handBack(worker, kind, job);
      log.info('the job was handed back because the daemon stops');
      return;
    }
    log.error({ err: error, attempt }, 'the job failed; it is retried');
    throw new JobFailure(error);
  } finally {
    linked.release();
  }
}

/** Returns whether the database still has the schema of this version. */
async function isOurs({ assertOurs }: Worker): Promise<boolean> {
  try {
    await assertOurs();
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw new JobFailure(error);
  }
}

/** Puts the same job in the queue again at once, for any replica. */
async function handBack({ sql, queues }: Worker, kind: JobKind, job: Job<JobData>): Promise<void> {
  await sql.begin(async (tx) => {
    const db = overPostgres(tx);
    // Complete only a job that this replica still holds: another may have taken it over.
    const answer = await queues.complete(kind, job, undefined, { db });
    const { affected } = answer as { affected?: number }; // its types omit a field that it returns
    if (affected === 1) await queues.send(kind, job.data, { singletonKey: job.data.account, db });
  });
}
