import { asc, eq } from 'drizzle-orm';
import { ledgerEvent, ledgerSalt } from '../schema/ledger.ts';
import type { Db } from '../sql.ts';

/** An event with what proves it. */
export interface LedgerEvent {
  number: string;
  type: string;
  subject: string;
  /** The entry of the log. */
  leaf: string;
  /** The canonical JSON whose hash the leaf has. */
  content: string;
  recordedAt: string;
  /** Its place in the tree; null until it is integrated. */
  leafIndex: number | null;
  /** Null once personal data of the event is erased. */
  salt: string | null;
}

/** Lists the events about one row, such as `plan_approval/17`, oldest first. */
export async function listEventsOf(db: Db, subject: string): Promise<LedgerEvent[]> {
  const rows = await db
    .select({
      number: ledgerEvent.number,
      type: ledgerEvent.type,
      subject: ledgerEvent.subject,
      leaf: ledgerEvent.leaf,
      content: ledgerEvent.content,
      recordedAt: ledgerEvent.recordedAt,
      leafIndex: ledgerEvent.leafIndex,
      salt: ledgerSalt.salt,
    })
    .from(ledgerEvent)
    .leftJoin(ledgerSalt, eq(ledgerSalt.eventNumber, ledgerEvent.number))
    .where(eq(ledgerEvent.subject, subject))
    .orderBy(asc(ledgerEvent.number));
  return rows.map((row) => ({ ...row, leafIndex: row.leafIndex === null ? null : Number(row.leafIndex) }));
}
