import { asc, eq } from 'drizzle-orm';
import { ledgerEvent } from '../schema/ledger.ts';
import type { Db } from '../sql.ts';

/** An event about a row. */
export interface SubjectEvent {
  number: string;
  type: string;
  /** Its place in the tree; null until it is integrated. */
  leafIndex: number | null;
}

/** Lists the events about one row, such as `plan_approval/17`, oldest first. */
export async function listEventsOf(db: Db, subject: string): Promise<SubjectEvent[]> {
  const { number, type, leafIndex } = ledgerEvent;
  const rows = await db
    .select({ number, type, leafIndex })
    .from(ledgerEvent)
    .where(eq(ledgerEvent.subject, subject))
    .orderBy(asc(number));
  return rows.map((row) => ({ ...row, leafIndex: row.leafIndex === null ? null : Number(row.leafIndex) }));
}
