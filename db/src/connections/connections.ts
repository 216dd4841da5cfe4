import { and, asc, desc, eq, sql as fragment, isNull } from 'drizzle-orm';
import {
  connection,
  connectionScope,
  controlPlane,
  ownKey,
  replicaCredential,
  replicaPolicy,
} from '../schema/connections.ts';
import { builderOf, type Db, hasValues, noneOf, type Sql } from '../sql.ts';

type SeenConnection = Omit<typeof connection.$inferSelect, 'controlPlaneNumber' | 'removedAt'> & {
  baseUrl: string;
  /** The number of this process, if it is one that keeps running. */
  replica: string | null;
};

/** Records a connection that has just authenticated. Returns the number of its control plane. */
export async function saveConnection(
  sql: Sql,
  { name, baseUrl, accountId, authMethod, ownKeyId, isSandbox, checkedAt, replica }: SeenConnection,
): Promise<string> {
  return await sql.begin(async (tx) => {
    const db = builderOf(tx);
    // To set the address would lock the row against every transaction that has stored a row of this control plane: the address is a key.
    const same = { firstSeenAt: fragment`${controlPlane.firstSeenAt}` };
    const [plane] = await db
      .insert(controlPlane)
      .values({ baseUrl })
      .onConflictDoUpdate({ target: controlPlane.baseUrl, set: same })
      .returning({ number: controlPlane.number });
    const controlPlaneNumber = plane?.number ?? '';
    const seen = { controlPlaneNumber, accountId, authMethod, ownKeyId, isSandbox, checkedAt };
    await db
      .insert(connection)
      .values({ name, ...seen })
      .onConflictDoUpdate({ target: connection.name, set: { ...seen, removedAt: null } });
    if (ownKeyId === null) return controlPlaneNumber;
    const [own, now] = [{ connection: name, keyId: ownKeyId }, fragment`now()`];
    await db
      .insert(ownKey)
      .values(own)
      .onConflictDoUpdate({ target: [ownKey.connection, ownKey.keyId], set: { checkedAt: now } });
    const { replica: process, connection: used } = replicaCredential;
    if (replica !== null)
      await db
        .insert(replicaCredential)
        .values({ replica, ...own })
        .onConflictDoUpdate({
          target: [process, used],
          set: { keyId: ownKeyId, authenticatedAt: now, endedAt: null },
        });
    return controlPlaneNumber;
  });
}

/** Lists the accounts of these connections by unique names. A connection that never authenticated is an account of its own. */
export async function listAccounts(sql: Sql, names: string[]): Promise<{ account: string; connections: string[] }[]> {
  return await sql<{ account: string; connections: string[] }[]>`
    select coalesce(c.control_plane_number || '/' || c.account_id, n.name) as account, array_agg(n.name order by n.ordinality) as connections
    from unnest(${names}::text[]) with ordinality as n(name, ordinality) left join keywarden.connection c on c.name = n.name
    group by 1 order by min(n.ordinality)`;
}

/** Records the end of a process, which then uses no key and no policy. */
export async function endReplica(db: Db, replica: string): Promise<void> {
  await db.delete(replicaPolicy).where(eq(replicaPolicy.replica, replica));
  await db.update(replicaCredential).set({ endedAt: fragment`now()` }).where(eq(replicaCredential.replica, replica));
}

/** Marks the connections that the configuration no longer has. Their own keys stay protected where they are known. */
export async function removeOtherConnections(db: Db, names: string[]): Promise<void> {
  const { name, removedAt } = connection;
  const isOther = and(isNull(removedAt), noneOf(name, names));
  const others = db.select({ name }).from(connection).where(isOther).orderBy(name).for('update');
  await db.update(connection).set({ removedAt: fragment`now()` }).where(fragment`${name} in ${others}`);
}

/** Lists the names of the connections that have listed a scope. */
export async function listObservers(
  db: Db,
  { controlPlane, scope }: { controlPlane: string; scope: string },
): Promise<string[]> {
  const rows = await db
    .select({ connection: connectionScope.connection })
    .from(connectionScope)
    .where(hasValues(connectionScope, { controlPlaneNumber: controlPlane, scope }))
    .orderBy(desc(connectionScope.seenAt), asc(connectionScope.connection));
  return rows.map(({ connection }) => connection);
}
