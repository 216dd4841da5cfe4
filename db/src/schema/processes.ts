import { sql } from 'drizzle-orm';
import { jsonb, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, table } from './columns.ts';

/** The requests reserved of an account or a route, over all replicas. state is the limiter's, with times by this database's clock. */
export const requestBudget = table('request_budget', {
  name: text('name').primaryKey(),
  version: int64('version').notNull().default(sql`0`),
  state: jsonb('state').$type<JsonObject>().notNull(),
});

/** The files of db/functions as they were last applied. */
export const repeatable = table('repeatable', {
  name: text('name').primaryKey(),
  sha256: text('sha256').notNull(),
  appliedAt: instant('applied_at').notNull().default(sql`now()`),
});

/** While a pause is open, no replica revokes anything (R7). */
export const pause = table(
  'pause',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    pausedAt: instant('paused_at').notNull().default(sql`now()`),
    pausedBy: text('paused_by').notNull(),
    reason: text('reason'),
    resumedAt: instant('resumed_at'),
    resumedBy: text('resumed_by'),
  },
  () => [uniqueIndex('pause_open').on(sql`(resumed_at is null)`).where(sql`resumed_at is null`)],
);

export const highWaterMarkMadeBys = ['daemon', 'report'] as const;

/**
 * A mark is added here and kept in a file outside, with every change that Keywarden makes. A store that lacks the file's mark is older
 * (R10). A person's decisions in the report (exemptions, approvals, reviews) also add a mark. A store restored from before them is older.
 */
export const highWaterMark = table('high_water_mark', {
  number: int64('number').generatedAlwaysAsIdentity().unique('high_water_mark_number_key'),
  mark: uuid('mark').primaryKey(),
  // That of its transaction, as of the intent that it is added with.
  madeAt: instant('made_at').notNull().default(sql`now()`),
  madeBy: text('made_by', { enum: highWaterMarkMadeBys }).notNull().default('daemon'),
});
