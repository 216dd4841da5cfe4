import { sql } from 'drizzle-orm';
import { jsonb, text } from 'drizzle-orm/pg-core';
import { int64, type JsonObject, keywarden } from './columns.ts';

/** The requests that were reserved of an account, or of one of its routes, over all replicas. The limiter's own; times are in it, by this clock. */
export const requestBudget = keywarden.table('request_budget', {
  name: text('name').primaryKey(),
  version: int64('version').notNull().default(sql`0`),
  state: jsonb('state').$type<JsonObject>().notNull(),
});
