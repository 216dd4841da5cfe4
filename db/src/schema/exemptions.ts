import { sql } from 'drizzle-orm';
import { check, index, text } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, notEmpty, refers, table } from './columns.ts';
import { credential } from './keys.ts';

/** A person's exception for the keys that existed when it was granted. Times are the control plane's; rules null means all. */
export const exemption = table(
  'exemption',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    rules: text('rules').array(),
    pattern: text('pattern'),
    reason: notEmpty(text('reason')).notNull(),
    grantedBy: text('granted_by').notNull(),
    grantedAt: instant('granted_at').notNull(),
    until: instant('until').notNull(),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by'),
  },
  () => [check('exemption_check', sql`until > granted_at`)],
);

export const exemptionKey = table(
  'exemption_key',
  {
    exemptionNumber: inKey(refers(int64('exemption_number'), () => exemption.number)).notNull(),
    keyNumber: inKey(refers(int64('key_number'), () => credential.number)).notNull(),
  },
  (t) => [index('exemption_key_by_key').on(t.keyNumber)],
);
