import { and, eq, sql as fragment, isNull, notInArray } from 'drizzle-orm';
import { connection, replicaCredential, replicaPolicy } from '../schema/connections.ts';
import type { Db, Sql } from '../sql.ts';

export interface SeenConnection {
  name: string;
  baseUrl: string;
  accountId: string;
  authMethod: string;
  ownKeyId: string | null;
  isSandbox: boolean;
  checkedAt: string;
  /** This process, by a number of its own, if it is one that stays. */
  replica: string | null;
}

/** Records a connection that has just authenticated; answers with the number of its control plane. */
export async function saveConnection(sql: Sql, seen: SeenConnection): Promise<string> {
  const [row] = await sql`
    with plane as (
      insert into keywarden.control_plane (base_url) values (${seen.baseUrl})
      on conflict (base_url) do update set base_url = excluded.base_url returning number
    )
    insert into keywarden.connection (name, control_plane_number, account_id, auth_method, own_key_id, is_sandbox, checked_at)
    select ${seen.name}, number, ${seen.accountId}, ${seen.authMethod}, ${seen.ownKeyId}::text, ${seen.isSandbox}, ${seen.checkedAt}::timestamptz
    from plane
    on conflict (name) do update set control_plane_number = excluded.control_plane_number, account_id = excluded.account_id,
      auth_method = excluded.auth_method, own_key_id = excluded.own_key_id, is_sandbox = excluded.is_sandbox,
      checked_at = excluded.checked_at, removed_at = null
    returning control_plane_number`;
  if (seen.ownKeyId !== null) {
    await sql`
      insert into keywarden.own_key (connection, key_id) values (${seen.name}, ${seen.ownKeyId}::text)
      on conflict (connection, key_id) do update set checked_at = now()`;
    if (seen.replica !== null)
      await sql`
      insert into keywarden.replica_credential (replica, connection, key_id) values (${seen.replica}, ${seen.name}, ${seen.ownKeyId}::text)
      on conflict (replica, connection) do update set key_id = excluded.key_id, authenticated_at = now(), ended_at = null`;
  }
  return String(row?.control_plane_number);
}

/** The accounts of these connections, each by a name of its own, with its connections; one that has never authenticated is its own account. */
export async function listAccounts(sql: Sql, names: string[]): Promise<{ account: string; connections: string[] }[]> {
  const rows = await sql`
    select coalesce(c.control_plane_number || '/' || c.account_id, n.name) as account, array_agg(n.name order by n.ordinality) as connections
    from unnest(${names}::text[]) with ordinality as n(name, ordinality) left join keywarden.connection c on c.name = n.name
    group by 1 order by min(n.ordinality)`;
  return rows.map((row) => ({ account: String(row.account), connections: row.connections as string[] }));
}

/** A process ends, and works with no key and by no policy any more. */
export async function endReplica(db: Db, replica: string): Promise<void> {
  await db.delete(replicaPolicy).where(eq(replicaPolicy.replica, replica));
  await db.update(replicaCredential).set({ endedAt: fragment`now()` }).where(eq(replicaCredential.replica, replica));
}

/** Marks the connections that the configuration no longer has. Their own keys stay protected where they are known. */
export async function removeOtherConnections(db: Db, names: string[]): Promise<void> {
  await db
    .update(connection)
    .set({ removedAt: fragment`now()` })
    .where(and(isNull(connection.removedAt), notInArray(connection.name, names)));
}
