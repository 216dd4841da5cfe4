import { finishRun, type RunKind, startRun } from '@keywarden/db/daemon';
import { describeError, linkSignals } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';

export type Counts = Record<string, number>;

/**
 * Work that only one process may do at a time: `what` names it in the database and, if one has to wait, to the user. The work's own context
 * ends when the lock is lost.
 */
export async function withProcessLock<T>(
  context: Context,
  what: string,
  work: (leased: Context) => Promise<T>,
): Promise<T> {
  const { store, progress, signal } = context;
  const onWait = () => progress.note(`Another process is busy with the ${what}; waiting for it.`);
  return await store.locks.hold(what, { signal, onWait }, async (lease) => {
    const linked = linkSignals(signal, lease.signal);
    try {
      return await work({ ...context, lease: { ...lease, outer: context.lease }, signal: linked.signal });
    } finally {
      linked.release();
    }
  });
}

/** Does one run of a kind for a connection, with its row in the store from begin to end. `work` fills the counts as it goes. */
export async function recordRun(
  context: Context,
  { connection, kind }: { connection: Connection; kind: RunKind },
  work: (leased: Context, run: string, counts: Counts) => Promise<void>,
): Promise<Counts> {
  const { sql } = context.store;
  return await withProcessLock(context, `${kind} of connection ${connection.name}`, async (leased) => {
    const counts: Counts = {};
    const run = await startRun(sql, { kind, connection: connection.name });
    try {
      await work(leased, run, counts);
    } catch (error) {
      // The store may be what failed; the run is then found interrupted by the next one.
      await finishRun(sql, run, { status: 'failed', counts, error: describeError(error) }).catch(() => undefined);
      throw error;
    }
    await finishRun(sql, run, { status: 'finished', counts });
    return counts;
  });
}

export function add(counts: Counts, name: string, amount = 1): void {
  counts[name] = (counts[name] ?? 0) + amount;
}
