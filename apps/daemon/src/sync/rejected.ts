import type { Page } from '@keywarden/core/client';
import { type RejectedPlace, saveRejectedRows } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { add, type Counts } from './run.ts';

/** Keeps the rows of an answer that cannot be read, and says so. Whoever asked concludes nothing from what the answer lacks. */
export async function keepRejected(
  { store, log }: Pick<Context, 'store' | 'log'>,
  { controlPlane }: Pick<Connection, 'controlPlane'>,
  {
    list,
    place,
    rejected = [],
    counts = {},
  }: Omit<RejectedPlace, 'controlPlane'> & { rejected: Page<unknown>['rejected']; counts?: Counts },
): Promise<void> {
  const [first] = rejected;
  if (first === undefined) return;
  await saveRejectedRows(store.sql, { controlPlane, list, place }, rejected);
  add(counts, 'rejected_rows', rejected.length);
  const example = { id: first.id, why: first.why };
  log.warn({ list, place, rows: rejected.length, example }, 'rows cannot be read, and are kept apart');
}
