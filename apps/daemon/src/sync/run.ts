import type { RejectedRow } from '@keywarden/core/client';
import { finishRun, type RequestedList, type RunKind, saveRejectedRows, startRun } from '@keywarden/db/daemon';
import { describeError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import { type Context, withProcessLock } from '../context.ts';

/** The names of a run's counts in its database row and in the command's result. */
type Count =
  | 'changed'
  | 'credentials'
  | 'suspect_listings'
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

/** Records one run of a kind for a connection, with its row in the store from start to end. `work` updates the counts as it proceeds. */
export async function recordRun(
  context: Context,
  { connection, kind }: { connection: Connection; kind: RunKind },
  work: (leased: Context, run: string, counts: Counts) => Promise<void>,
): Promise<Counts> {
  const { db, sql } = context.store;
  return await withProcessLock(context, `${kind} of connection ${connection.name}`, async (leased) => {
    const counts: Counts = {};
    const run = await startRun(sql, { kind, connection: connection.name });
    try {
      await work(leased, run, counts);
    } catch (error) {
      // The store may be what failed. The next run then finds this one interrupted.
      await finishRun(db, run, { status: 'failed', counts, error: describeError(error) }).catch(() => undefined);
      throw error;
    }
    await finishRun(db, run, { status: 'finished', counts });
    return counts;
  });
}

export function add(counts: Counts, name: Count, amount = 1): void {
  counts[name] = (counts[name] ?? 0) + amount;
}

/** The number of projects in progress at once: enough to keep both the control plane and the store busy. */
const concurrency = 4;

/** Processes several items at once. The first failure stops the rest, and is thrown when all have stopped. */
export async function eachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  // One iterator for all of them.
  const queue = (function* () {
    yield* items;
  })();
  let hasFailed = false;
  const ends = await Promise.allSettled(
    Array.from({ length: concurrency }, async () => {
      for (const item of queue) {
        if (hasFailed) return;
        await work(item).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      }
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Stores and logs the unreadable rows of a response. The caller must conclude nothing from what the response lacks. */
export async function keepRejected(
  { store, log }: Pick<Context, 'store' | 'log'>,
  { controlPlane }: Pick<Connection, 'controlPlane'>,
  {
    list,
    place,
    rejected,
    counts = {},
  }: Omit<RequestedList, 'controlPlane'> & { rejected: Omit<RejectedRow, 'index'>[]; counts?: Counts },
): Promise<void> {
  const [first] = rejected;
  if (first === undefined) return;
  await saveRejectedRows(store.sql, { controlPlane, list, place }, rejected);
  add(counts, 'rejected_rows', rejected.length);
  const example = { id: first.id, why: first.why };
  log.warn({ list, place, rows: rejected.length, example }, 'rows cannot be read; they are stored separately');
}
