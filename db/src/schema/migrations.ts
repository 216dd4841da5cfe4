import { sql } from 'drizzle-orm';
import { text } from 'drizzle-orm/pg-core';
import { instant, keywarden } from './columns.ts';

/** The files of db/functions as they were applied last. */
export const repeatable = keywarden.table('repeatable', {
  name: text('name').primaryKey(),
  sha256: text('sha256').notNull(),
  appliedAt: instant('applied_at').notNull().default(sql`now()`),
});
