import { sql } from 'drizzle-orm';
import { check, index, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, type JsonObject, table } from './columns.ts';

export const jobRunOutcomes = ['done', 'failed', 'handed_back'] as const;

/** An attempt at a job, from start to end. An attempt without an end was killed or is running. */
export const jobRun = table(
  'job_run',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    jobId: uuid('job_id').notNull(),
    kind: text('kind').notNull(),
    account: text('account').notNull(),
    /** The time of its schedule; null for a job without a schedule. */
    slotAt: instant('slot_at'),
    /** Starts at 1. */
    attempt: integer('attempt').notNull(),
    replica: uuid('replica').notNull(),
    startedAt: instant('started_at').notNull().default(sql`now()`),
    finishedAt: instant('finished_at'),
    outcome: text('outcome', { enum: jobRunOutcomes }),
    error: jsonb('error').$type<JsonObject>(),
  },
  (t) => [
    check('job_run_check', sql`(finished_at is null) = (outcome is null)`),
    index('job_run_by_kind').on(t.kind, t.account, t.number.desc().nullsFirst()),
    index('job_run_by_time').on(t.startedAt),
  ],
);

/** A time of a schedule that was enqueued once, by whichever process was first. Times are the database's own. */
export const scheduleSlot = table('schedule_slot', {
  schedule: inKey(text('schedule')).notNull(),
  slotAt: inKey(instant('slot_at')).notNull(),
  claimedAt: instant('claimed_at').notNull().default(sql`now()`),
  replica: uuid('replica'),
  jobs: integer('jobs').notNull(),
});

/** The fence of each lock. It is raised when the lock is taken, so a process that lost the lock without noticing has an old one. */
export const workFence = table('work_fence', {
  name: text('name').primaryKey(),
  fence: int64('fence').notNull(),
  takenAt: instant('taken_at').notNull().default(sql`now()`),
});
