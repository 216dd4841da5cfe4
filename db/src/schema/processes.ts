import { sql } from 'drizzle-orm';
import { jsonb, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, keywarden, oneOf } from './columns.ts';

/** The requests that were reserved of an account, or of one of its routes, over all replicas. The limiter's own; times are in it, by this clock. */
export const requestBudget = keywarden.table('request_budget', {
  name: text('name').primaryKey(),
  version: int64('version').notNull().default(sql`0`),
  state: jsonb('state').$type<JsonObject>().notNull(),
});

/** The files of db/functions as they were applied last. */
export const repeatable = keywarden.table('repeatable', {
  name: text('name').primaryKey(),
  sha256: text('sha256').notNull(),
  appliedAt: instant('applied_at').notNull().default(sql`now()`),
});

/** While one is open nothing is revoked, by whatever replica (R7). */
export const pause = keywarden.table(
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
 * A mark is added here, and kept in a file outside, with whatever governs: a store that lacks the file's is an older one (R10). What persons say
 * through the report (exemptions, approvals, reviews) moves the mark too: a store that was restored from before it is an older one.
 */
export const highWaterMark = keywarden.table(
  'high_water_mark',
  {
    number: int64('number').generatedAlwaysAsIdentity().unique('high_water_mark_number_key'),
    mark: uuid('mark').primaryKey(),
    madeAt: instant('made_at').notNull().default(sql`now()`),
    madeBy: text('made_by', { enum: highWaterMarkMadeBys }).notNull().default('daemon'),
  },
  (t) => [oneOf(t.madeBy, highWaterMarkMadeBys)],
);
