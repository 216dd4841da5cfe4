import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant, time } from '../item.ts';
import { type List, when, within } from '../list.ts';

export const ledgerEventItem = z
  .strictObject({
    number: z.string(),
    type: z.string(),
    subject: z.string().meta({ description: 'The table and the number of the row that it is about' }),
    recorded_at: instant,
    leaf_index: z.string().nullable().meta({ description: 'Its place in the tree; null until it is added' }),
  })
  .meta({ id: 'LedgerEvent' });

export interface LedgerEventFilter {
  number?: string | undefined;
  type?: string | undefined;
  subject?: string | undefined;
  /** Recorded at this instant or later. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Lists the events of the ledger, newest first. */
export function ledgerEventList({ number, type, subject, from, to }: LedgerEventFilter): List<typeof ledgerEventItem> {
  return {
    schema: ledgerEventItem,
    from: sql`keywarden.ledger_event e`,
    item: {
      ...columnsOf(ledgerEventItem, 'e'),
      number: sql`e.number::text`,
      leaf_index: sql`e.leaf_index::text`,
      recorded_at: time(sql`e.recorded_at`),
    },
    where: [
      when(number, (wanted) => sql`e.number = ${wanted}::bigint`),
      when(type, (wanted) => sql`e.type = ${wanted}`),
      when(subject, (wanted) => sql`e.subject = ${wanted}`),
      ...within(sql`e.recorded_at`, { from, to }),
    ],
    order: [{ by: sql`e.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
