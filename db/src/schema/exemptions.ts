import { sql } from 'drizzle-orm';
import { check, index, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, int64, keywarden, reference } from './columns.ts';
import { credential } from './keys.ts';

/**
 * A person's exception for the keys that existed when it was granted. Times are the control plane's; rules null means all.
 */
export const exemption = keywarden.table(
  'exemption',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    rules: text('rules').array(),
    pattern: text('pattern'),
    reason: text('reason').notNull(),
    grantedBy: text('granted_by').notNull(),
    grantedAt: instant('granted_at').notNull(),
    until: instant('until').notNull(),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by'),
  },
  () => [check('exemption_check', sql`until > granted_at`), check('exemption_reason_check', sql`reason <> ''`)],
);

export const exemptionKey = keywarden.table(
  'exemption_key',
  {
    exemptionNumber: int64('exemption_number').notNull(),
    keyNumber: int64('key_number').notNull(),
  },
  (t) => [
    primaryKey({ name: 'exemption_key_pkey', columns: [t.exemptionNumber, t.keyNumber] }),
    reference(t.exemptionNumber, exemption.number),
    reference(t.keyNumber, credential.number),
    index('exemption_key_by_key').on(t.keyNumber),
  ],
);
