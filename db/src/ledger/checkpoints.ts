import { desc, isNull } from 'drizzle-orm';
import { ledgerCheckpoint, ledgerEvent } from '../schema/ledger.ts';
import type { Db } from '../sql.ts';

export interface StoredCheckpoint {
  size: number;
  /** The signed note. */
  note: string;
  madeAt: string;
}

/** Returns the newest signed checkpoint; null before the first. */
export async function readNewestCheckpoint(db: Db): Promise<StoredCheckpoint | null> {
  const { size, note, madeAt } = ledgerCheckpoint;
  const [row] = await db.select({ size, note, madeAt }).from(ledgerCheckpoint).orderBy(desc(size)).limit(1);
  return row === undefined ? null : { ...row, size: Number(row.size) };
}

/** Counts the events that are not in the tree yet. */
export async function countWaitingEvents(db: Db): Promise<number> {
  return await db.$count(ledgerEvent, isNull(ledgerEvent.leafIndex));
}
