import { finishRun, type RunKind, startRun } from '@keywarden/db/daemon';
import { describeError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { withProcessLock } from '../process-lock.ts';

/** What a run counts, as its row in the store and the command's result name it. */
type Count =
  | 'changed'
  | 'credentials'
  | 'doubted_listings'
  | 'hidden_lists'
  | 'hidden_scopes'
  | 'inserted'
  | 'keys'
  | 'members'
  | 'operations'
  | 'organizations'
  | 'projects'
  | 'rejected_rows'
  | 'requests'
  | 'resumed_walks'
  | 'unproved_instants'
  | 'vanished_projects';

export type Counts = { [name in Count]?: number };

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

export function add(counts: Counts, name: Count, amount = 1): void {
  counts[name] = (counts[name] ?? 0) + amount;
}
