import { asc, lt } from 'drizzle-orm';
import { key } from '../schema/keys.ts';
import { operation } from '../schema/operations.ts';
import { organization } from '../schema/organizations.ts';
import { project } from '../schema/projects.ts';
import type { Db } from '../sql.ts';

/** The number of records in the store. */
export interface Totals {
  organizations: number;
  projects: number;
  keys: number;
  operations: number;
  /** The time of the oldest operation. */
  oldest: string | null;
  /** Operations that are older than those that the control plane serves. */
  unserved: number;
}

/** Counts all records. `servedSince` is the time before which the control plane serves no operations. */
export async function readTotals(db: Db, servedSince: string): Promise<Totals> {
  const [oldest] = await db
    .select({ createdAt: operation.createdAt })
    .from(operation)
    .orderBy(asc(operation.createdAt))
    .limit(1);
  return {
    organizations: await db.$count(organization),
    projects: await db.$count(project),
    keys: await db.$count(key),
    operations: await db.$count(operation),
    oldest: oldest?.createdAt ?? null,
    unserved: await db.$count(operation, lt(operation.createdAt, servedSince)),
  };
}
