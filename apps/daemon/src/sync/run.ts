import { describeError } from '@keywarden/core/process';
import { finishRun, type RunKind, startRun, withLock } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';

export type Counts = Record<string, number>;

/** The lock under which a connection's keys are listed and revoked, or its operations walked: one process at a time. */
export async function withConnectionLock<T>(
  { store, progress }: Context,
  { connection, kind }: { connection: Connection; kind: RunKind },
  work: () => Promise<T>,
): Promise<T> {
  const onWait = () =>
    progress.note(`Another process is busy with the ${kind} of connection ${connection.name}; waiting for it.`);
  return await withLock(store.sql, `${kind} ${connection.name}`, work, onWait);
}

/** Does one run of a kind for a connection, with its row in the store from begin to end. `work` fills the counts as it goes. */
export async function recordRun(
  context: Context,
  { connection, kind }: { connection: Connection; kind: RunKind },
  work: (run: string, counts: Counts) => Promise<void>,
): Promise<Counts> {
  const { sql } = context.store;
  return await withConnectionLock(context, { connection, kind }, async () => {
    const counts: Counts = {};
    const run = await startRun(sql, { kind, connection: connection.name });
    try {
      await work(run, counts);
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
