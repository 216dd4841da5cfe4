import type { Sql, Tx } from '../sql.ts';

/** A row that differs from the ledger: it is not what its newest event says, its event says that it was there, or it has no event. */
export interface LedgerRowFault {
  type: string;
  subject: string;
  fault: 'altered' | 'removed' | 'added';
}

/** Compares every governed row with its newest event. */
export async function listLedgerRowFaults(sql: Sql | Tx): Promise<LedgerRowFault[]> {
  const rows = await sql`select type, subject, fault from keywarden.ledger_row_faults() order by type, subject`;
  return rows.map(({ type, subject, fault }) => ({
    type: String(type),
    subject: String(subject),
    fault: fault as LedgerRowFault['fault'], // the function returns nothing else
  }));
}
