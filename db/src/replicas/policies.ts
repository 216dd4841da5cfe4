import { and, asc, gt, sql } from 'drizzle-orm';
import { replicaPolicy } from '../schema/connections.ts';
import type { Db } from '../sql.ts';

/** The policy that a replica uses. The hash is null while its configuration file is invalid, which `why` explains. */
export type ReplicaPolicy = typeof replicaPolicy.$inferSelect;

/** A replica reports its policy every minute. One that has not reported for this long, in s, is gone. */
const reportedWithinSeconds = 180;

/** Records the policy that a replica uses. */
export async function recordReplicaPolicy(
  db: Db,
  { replica, policySha256, why }: Omit<ReplicaPolicy, 'reportedAt'>,
): Promise<void> {
  await db
    .insert(replicaPolicy)
    .values({ replica, policySha256, why })
    .onConflictDoUpdate({ target: replicaPolicy.replica, set: { policySha256, why, reportedAt: sql`now()` } });
}

/** Lists the policies of the replicas that have reported recently. A report that the database's clock dated while it was ahead may be an old one. */
export async function listReplicaPolicies(db: Db): Promise<ReplicaPolicy[]> {
  return await db
    .select()
    .from(replicaPolicy)
    .where(
      and(
        gt(replicaPolicy.reportedAt, sql`now() - ${reportedWithinSeconds} * interval '1 second'`),
        sql`not keywarden.clock_was_ahead(${replicaPolicy.reportedAt})`,
      ),
    )
    .orderBy(asc(replicaPolicy.replica));
}
