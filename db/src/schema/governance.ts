import { integer, text } from 'drizzle-orm/pg-core';
import { instant, int64 } from './columns.ts';
import { keywarden } from './tables.ts';

export const plan = keywarden.table('plan', {
  id: text('id').notNull(),
  sequence: int64('sequence').notNull(),
  sha256: text('sha256').notNull(),
  document: text('document').notNull(),
  createdAt: instant('created_at').notNull(),
  lastMadeAt: instant('last_made_at').notNull(),
  itemCount: integer('item_count').notNull(),
  heldCount: integer('held_count').notNull(),
  reportedCount: integer('reported_count').notNull(),
  policySha256: text('policy_sha256'),
});
