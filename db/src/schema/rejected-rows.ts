import { sql } from 'drizzle-orm';
import { index, jsonb, text, unique } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, refers, table } from './columns.ts';
import { controlPlane } from './connections.ts';

export const rejectedRowLists = ['organizations', 'members', 'keys', 'projects', 'operations', 'credentials'] as const;

/** Unreadable rows of lists, stored apart. list: the list they came from; place: the scope, organization or project requested. */
export const rejectedRow = table(
  'rejected_row',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    controlPlaneNumber: refers(int64('control_plane_number'), () => controlPlane.number).notNull(),
    list: text('list', { enum: rejectedRowLists }).notNull(),
    place: text('place').notNull(),
    rowId: text('row_id'),
    why: text('why').notNull(),
    record: jsonb('record').$type<JsonObject>().notNull(),
    rowKey: text('row_key').notNull(),
    firstSeenAt: instant('first_seen_at').notNull().default(sql`now()`),
    lastSeenAt: instant('last_seen_at').notNull().default(sql`now()`),
    times: int64('times').notNull().default(sql`1`),
  },
  (t) => [
    unique('rejected_row_control_plane_number_list_place_row_key_key').on(
      t.controlPlaneNumber,
      t.list,
      t.place,
      t.rowKey,
    ),
    index('rejected_row_by_time').on(t.lastSeenAt),
  ],
);
