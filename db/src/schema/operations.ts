import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  interval,
  jsonb,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { dateMultirange, inKey, instant, int64, type JsonObject, multirange, refers, table } from './columns.ts';
import { project } from './projects.ts';

/** An unfinished walk: the cursor of its next page as received, and the time of the row that it points to. */
export const openWalk = table('open_walk', {
  projectNumber: refers(int64('project_number'), () => project.number).primaryKey(),
  beganAt: instant('began_at').notNull(),
  floor: instant('floor'),
  cursor: text('cursor').notNull(),
  below: instant('below').notNull(),
});

/**
 * The last completed walk of each day, and the last that reached the end of the list. Rows not older than `reached` existed then (A6). A walk that a later
 * one makes redundant, because that reached as deep, is deleted: of two walks, the later one has not reached so deep.
 */
export const completedWalk = table(
  'completed_walk',
  {
    projectNumber: inKey(refers(int64('project_number'), () => project.number)).notNull(),
    day: inKey(date('day', { mode: 'string' })).notNull(),
    toEnd: inKey(boolean('to_end')).notNull(),
    beganAt: instant('began_at').notNull(),
    reached: instant('reached').notNull(),
  },
  (t) => [
    index('completed_walk_by_depth').on(t.projectNumber, t.reached, t.beganAt),
    index('completed_walk_to_end').on(t.projectNumber, t.reached).where(sql`to_end`),
  ],
);

/** The control plane's fields of an operation. */
const operationColumns = {
  projectNumber: int64('project_number').notNull(),
  createdAt: instant('created_at').notNull(),
  id: uuid('id').notNull(),
  branchId: text('branch_id'),
  endpointId: text('endpoint_id'),
  action: text('action').notNull(),
  status: text('status').notNull(),
  failuresCount: bigint('failures_count', { mode: 'number' }).notNull(),
  error: text('error'),
  retryAt: instant('retry_at'),
  updatedAt: instant('updated_at').notNull(),
  totalDurationMs: bigint('total_duration_ms', { mode: 'number' }),
  extra: jsonb('extra').$type<JsonObject>(),
};

/** place: the order of operations with the same time, as lists show them; higher is newer. With times in whole seconds many share one. */
export const operation = table(
  'operation',
  {
    ...operationColumns,
    seenAt: instant('seen_at').notNull().default(sql`now()`),
    place: integer('place').notNull().default(0),
  },
  (t) => [
    primaryKey({ name: 'operation_pkey', columns: [t.projectNumber, t.createdAt, t.id] }),
    index('operation_by_time').on(
      t.createdAt.desc().nullsFirst(),
      t.projectNumber.desc().nullsFirst(),
      t.id.desc().nullsFirst(),
    ),
    index('operation_open')
      .on(t.projectNumber, t.createdAt)
      .where(sql`status not in ('finished', 'cancelled', 'skipped')`),
  ],
);

/** Versions that were replaced. seen_at is when the version was first seen, replaced_at when the change was found. */
export const operationVersion = table(
  'operation_version',
  {
    ...operationColumns,
    seenAt: instant('seen_at').notNull(),
    replacedAt: instant('replaced_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [primaryKey({ name: 'operation_version_pkey', columns: [t.projectNumber, t.createdAt, t.id, t.replacedAt] })],
);

/** Operations that were going on when the control plane stopped serving them. They are not requested again. */
export const operationPruned = table('operation_pruned', {
  projectNumber: inKey(int64('project_number')).notNull(),
  createdAt: inKey(instant('created_at')).notNull(),
  id: inKey(uuid('id')).notNull(),
  foundAt: instant('found_at').notNull().default(sql`now()`),
});

/** The times of a project for which the archive holds every operation that the control plane had (A2): the union of what pages proved. */
export const operationCoverage = table('operation_coverage', {
  projectNumber: refers(int64('project_number'), () => project.number).primaryKey(),
  known: multirange('known').notNull(),
});

/**
 * Which days of a project the ledger has sealed: those before `sealed_to`. changed: days whose operations or coverage have changed since; they are sealed
 * again. It is written with the operations, and lies with them on a cluster.
 */
export const operationSealing = table('operation_sealing', {
  projectNumber: int64('project_number').primaryKey(),
  sealedTo: date('sealed_to', { mode: 'string' }).notNull(),
  changed: dateMultirange('changed').notNull().default('{}'),
  changedAt: instant('changed_at'),
});

/** How long operations are kept; without a row, forever. Only the owner sets it, when it migrates. */
export const operationRetention = table(
  'operation_retention',
  {
    number: integer('number').primaryKey().default(1),
    keep: interval('keep').notNull(),
    setAt: instant('set_at').notNull().default(sql`now()`),
  },
  () => [
    check('operation_retention_keep_check', sql`keep >= '214 days'::interval`),
    check('operation_retention_number_check', sql`number = 1`),
  ],
);

/** A month over its retention: announced by a dry run, then dropped. */
export const operationDrop = table('operation_drop', {
  month: date('month', { mode: 'string' }).primaryKey(),
  announcedAt: instant('announced_at').notNull().default(sql`clock_timestamp()`),
  operations: bigint('operations', { mode: 'number' }).notNull(),
  bytes: bigint('bytes', { mode: 'number' }).notNull(),
  droppedAt: instant('dropped_at'),
  droppedBy: text('dropped_by'),
});
