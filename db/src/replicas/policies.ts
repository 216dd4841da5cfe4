import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';

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
export async function sayPolicy(
  sql: Sql,
  { replica, policySha256, why }: Omit<ReplicaPolicy, 'saidAt'>,
): Promise<void> {
  await sql`
    insert into keywarden.replica_policy (replica, policy_sha256, why) values (${replica}, ${policySha256}, ${why})
    on conflict (replica) do update set policy_sha256 = excluded.policy_sha256, why = excluded.why, said_at = now()`;
}

/** What the replicas that are heard of go by. */
export async function listReplicaPolicies(sql: Sql): Promise<ReplicaPolicy[]> {
  const rows = await sql`
    select replica, policy_sha256, why, said_at from keywarden.replica_policy
    where said_at > now() - ${heardOfForS} * interval '1 second' order by replica`;
  return rows.map((row) => ({
    replica: String(row.replica),
    policySha256: row.policy_sha256 === null ? null : String(row.policy_sha256),
    why: row.why === null ? null : String(row.why),
    saidAt: toInstant(String(row.said_at)),
  }));
}
