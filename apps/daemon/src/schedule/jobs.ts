import { countOf, dayMs } from '@keywarden/core/values';
import {
  countKeysOfDay,
  forgetOldJobs,
  forgetRejectedRows,
  hasFinishedRun,
  reportBrokenReviews,
} from '@keywarden/db/daemon';
import { type JobKind, UserError } from '@keywarden/runtime';
import { type Connection, connectionsOf } from '../connect.ts';
import type { Context } from '../context.ts';
import { assertStoreNotAhead } from '../control-plane-clock.ts';
import { withCurrentPolicy } from '../current-policy.ts';
import { type Enforced, enforce, recordState } from '../enforce/enforce.ts';
import { rememberStore } from '../enforce/high-water-mark.ts';
import { planKeys } from '../enforce/plan.ts';
import { checkLedger, monthsOfDay } from '../ledger/checks.ts';
import { sendCheckpoints } from '../notices/notices.ts';
import { enforceRetention } from '../retention.ts';
import { type Rotated, rotate } from '../rotate/rotate.ts';
import { syncCredentials } from '../sync/credentials.ts';
import { syncKeys } from '../sync/keys.ts';
import { syncOperations } from '../sync/operations.ts';

/** The work of a kind of job. */
export interface JobWork {
  /** Whether a job covers one account, or all at once. */
  per: 'account' | 'store';
  /** Whether an interruption loses nothing. Such a job is handed back at once when the daemon stops. */
  isResumable: boolean;
  run: (context: Context, connections: string[]) => Promise<void>;
}

const historyMs = 90 * dayMs;

export const jobs: Record<JobKind, JobWork> = {
  keys: {
    per: 'account',
    isResumable: false,
    async run(given, names) {
      try {
        await syncAccount(given, names, syncKeys);
      } finally {
        // One scope that cannot be listed must not keep the others from being counted.
        await rememberStore(given);
        await countKeysOfDay(given.store.db);
      }
      const context = await withCurrentPolicy(given);
      if (context === null) return;
      const plan = await planKeys(context, await connectionsOf(context, { skipFailing: true }));
      const counts = { revoke: plan.document.items.length, held: plan.document.held.length };
      // People see the next pass of a plan that was just made. Later, each pass records it.
      await recordState(context, { isFirst: true });
      if (plan.isNew) context.log.info({ plan: plan.id, ...counts }, 'a new plan');
    },
  },
  operations: ofAccount(syncOperations),
  credentials: ofAccount(syncCredentials),
  sweep: ofAccount(sweepOperations),
  enforce: onListedKeys(async (context, connections) => logEnforced(context, await enforce(context, connections))),
  rotate: onListedKeys(async (context, connections) => logRotated(context, await rotate(context, connections))),
  retention: {
    per: 'store',
    isResumable: false,
    async run(context) {
      await runEach(context, [
        async () => await reportBrokenReviews(context.store.sql),
        async () => await compareWithLedger(context),
        async () => await sendCheckpoints(context),
        async () => await deleteOld(context),
      ]);
    },
  },
};

function ofAccount(work: ConnectionWork): JobWork {
  const run = async (context: Context, names: string[]) => await syncAccount(context, names, work);
  return { per: 'account', isResumable: true, run };
}

/** Returns the work of a pass over keys that were just listed, by the policy in force. */
function onListedKeys(work: (context: Context, connections: Connection[]) => Promise<void>): JobWork {
  const run = async (given: Context) => {
    const context = await withCurrentPolicy(given);
    if (context === null) return;
    const connections = await connectionsOf(context, { skipFailing: true });
    // A key that could not be listed has no fresh evidence, and stays. The job of keys reports the failure.
    await tryEachConnection(context, connections, syncKeys);
    await work(context, connections);
    // A pass that reports that a signal has stopped it is not done: the next daemon continues it.
    context.signal.throwIfAborted();
  };
  return { per: 'store', isResumable: false, run };
}

/** Runs steps one after another. One that fails does not stop the others; the first error is thrown at the end. */
async function runEach({ signal, log }: Context, steps: (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    signal.throwIfAborted();
    await step().catch((error: unknown) => errors.push(error));
  }
  for (const error of errors.slice(1)) log.error({ err: error }, 'another step failed');
  if (errors.length > 0) throw errors[0];
}

/** Deletes what exceeds its retention. A control plane that does not answer must not lengthen it. */
async function deleteOld(context: Context): Promise<void> {
  await assertStoreNotAhead(context, await connectionsOf(context, { skipFailing: true }).catch(() => []));
  await runEach(context, [
    async () => await forgetOldJobs(context.store.sql, historyMs),
    async () => await forgetRejectedRows(context.store.db, historyMs),
    async () => await enforceRetention(context),
  ]);
}

async function compareWithLedger(context: Context): Promise<void> {
  const faults = await checkLedger(context, { months: monthsOfDay(context.now()) });
  if (faults.length > 0) context.log.error({ faults }, 'the store differs from its ledger; an incident is open');
}

function logEnforced({ log }: Context, { plan, announced, approved, automatic, why, whyUnmarked }: Enforced): void {
  const runs = [...approved, ...(automatic === null ? [] : [automatic])];
  const revoked = runs.flatMap(({ items }) => items).filter(({ outcome }) => outcome === 'revoked').length;
  const stopped = runs.flatMap((each) => each.stopped ?? []);
  const words = { ...(why === null ? {} : { why }), ...(stopped.length > 0 ? { stopped } : {}) };
  log.info({ plan: plan.id, revoked, notices: announced, ...words }, 'enforced');
  const lost = runs.find(({ hasStoreFailed }) => hasStoreFailed);
  if (lost !== undefined) throw new UserError('held', `Enforcement was cut short: ${lost.stopped}.`);
  if (whyUnmarked !== null) throw new UserError('store', whyUnmarked);
}

function logRotated({ log }: Context, { opened, moved, orphans, why, whyUnmarked }: Rotated): void {
  const countsOf = (all: string[]) =>
    Object.fromEntries([...Map.groupBy(all, (each) => each)].map(([each, group]) => [each, group.length]));
  const begun = opened.filter(({ rotation }) => rotation !== null).length;
  const whyNot = countsOf(opened.flatMap((each) => each.whyNot ?? []));
  const states = countsOf(moved.map(({ rotation }) => rotation.state));
  log.info({ begun, why_not: whyNot, states, orphans: orphans.length, ...(why === null ? {} : { why }) }, 'rotated');
  if (whyUnmarked !== null) throw new UserError('store', whyUnmarked);
}

/** Asks every project at least daily, even if the schedule of operations is infrequent or its passes fail. */
async function sweepOperations(context: Context, connection: Connection): Promise<void> {
  const recent = { kind: 'operations', connection: connection.name, hours: 20 } as const;
  if (!(await hasFinishedRun(context.store.db, recent))) await syncOperations(context, connection);
}

type ConnectionWork = (context: Context, connection: Connection) => Promise<unknown>;

/** Runs the work for each connection. One connection's failure does not stop the others (R7). Returns those that failed. */
export async function tryEachConnection(
  context: Context,
  connections: Connection[],
  work: ConnectionWork,
): Promise<{ name: string; error: unknown }[]> {
  const failed: { name: string; error: unknown }[] = [];
  for (const connection of connections) {
    try {
      await work(context, connection);
    } catch (error) {
      context.signal.throwIfAborted();
      context.log.error({ connection: connection.name, err: error }, 'the connection could not be synced');
      failed.push({ name: connection.name, error });
    }
  }
  return failed;
}

/** Runs the work for each of these connections. Throws at the end if any failed, so that the job is retried. */
async function syncAccount(context: Context, names: string[], work: ConnectionWork): Promise<void> {
  const connections = await connectionsOf(context, { names, skipFailing: true });
  const unusable = names.filter((name) => !connections.some((connection) => connection.name === name));
  const failures = await tryEachConnection(context, connections, work);
  const [first] = failures;
  if (first !== undefined && names.length === 1) throw first.error;
  const failed = [...unusable, ...failures.map(({ name }) => name)];
  if (failed.length > 0)
    throw new UserError(
      'incomplete',
      `${failed.length} of ${countOf(names.length, 'connection')} failed: ${failed.join(', ')}; the log shows the reasons.`,
    );
}
