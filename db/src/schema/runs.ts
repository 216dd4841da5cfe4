import { sql } from 'drizzle-orm';
import { index, jsonb, text } from 'drizzle-orm/pg-core';
import { instant, int64, table } from './columns.ts';

export const syncRunKinds = ['keys', 'operations', 'credentials'] as const;

export const syncRunStatuses = ['running', 'finished', 'failed', 'interrupted'] as const;

export const syncRun = table(
  'sync_run',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    kind: text('kind', { enum: syncRunKinds }).notNull(),
    connection: text('connection').notNull(),
    status: text('status', { enum: syncRunStatuses }).notNull(),
    startedAt: instant('started_at').notNull().default(sql`now()`),
    finishedAt: instant('finished_at'),
    counts: jsonb('counts').$type<Record<string, number>>().notNull().default({}),
    error: jsonb('error').$type<{ type: string; code: string; message?: string }>(),
  },
  (t) => [
    index('sync_run_by_connection')
      .on(t.connection, t.kind, t.number.desc().nullsFirst())
      .where(sql`status = 'finished'`),
    index('sync_run_unfinished').on(t.status, t.number.desc().nullsFirst()).where(sql`status <> 'finished'`),
  ],
);
