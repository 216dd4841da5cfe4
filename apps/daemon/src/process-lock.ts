import { linkSignals } from '@keywarden/runtime';
import type { Context } from './context.ts';

/**
 * Runs work that only one process may do at a time. `what` names it in the database and, if the work has to wait, for the user. The work's
 * own context is aborted when the lock is lost.
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
