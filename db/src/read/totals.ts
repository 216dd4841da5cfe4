import { sql } from 'drizzle-orm';
import { key, operation, organization, project } from '../schema/tables.ts';
import type { Db } from '../store.ts';

/** What the store holds. */
export interface Totals {
  organizations: number;
  projects: number;
  keys: number;
  operations: number;
}

export async function readTotals(db: Db): Promise<Totals> {
  const count = async (table: typeof organization | typeof project | typeof key | typeof operation) =>
    await db.$count(table);
  return {
    organizations: await count(organization),
    projects: await count(project),
    keys: await count(key),
    operations: await count(operation),
  };
}

/** Rejects when the store does not answer, or has not our tables. */
export async function pingStore(db: Db): Promise<void> {
  await db.execute(sql`select 1 from ${key} limit 1`);
}
