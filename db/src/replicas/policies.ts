import { asc, gt, sql } from 'drizzle-orm';
import { replicaPolicy } from '../schema/connections.ts';
import type { Db } from '../sql.ts';

/** The policy that a replica goes by, and when it said so, as RFC 3339. */
export interface ReplicaPolicy {
  replica: string;
  /** Null while its configuration file cannot be used, which `why` explains. */
  policySha256: string | null;
  why: string | null;
  saidAt: string;
}

/** A replica says every minute what it goes by; one that has not said so for this long, in s, is gone. */
const heardOfForS = 180;

/** A replica says what policy it goes by. */
export async function sayPolicy(db: Db, { replica, policySha256, why }: Omit<ReplicaPolicy, 'saidAt'>): Promise<void> {
  await db
    .insert(replicaPolicy)
    .values({ replica, policySha256, why })
    .onConflictDoUpdate({ target: replicaPolicy.replica, set: { policySha256, why, saidAt: sql`now()` } });
}

/** What the replicas that are heard of go by. */
export async function listReplicaPolicies(db: Db): Promise<ReplicaPolicy[]> {
  return await db
    .select()
    .from(replicaPolicy)
    .where(gt(replicaPolicy.saidAt, sql`now() - ${heardOfForS} * interval '1 second'`))
    .orderBy(asc(replicaPolicy.replica));
}
