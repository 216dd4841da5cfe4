import { type Facts, isOwn } from '@keywarden/core/policy';
import { dayMs, toMs } from '@keywarden/core/values';
import { and, asc, isNull, sql as raw } from 'drizzle-orm';
import { connection, connectionScope, controlPlane, ownKey } from '../../schema/connections.ts';
import { key } from '../../schema/keys.ts';
import { anyOf, type Db, type Sql } from '../../sql.ts';
import type { Store } from '../../store.ts';
import { isOfKeys } from '../listings/listing.ts';
import { keysOfLineages } from './of-keys.ts';

/** A connection as the configuration and the store have it. */
interface KnownConnection extends Pick<typeof connection.$inferSelect, 'name' | 'ownKeyId' | 'removedAt'> {
  /** Null for a control plane without stored data. */
  controlPlaneNumber: string | null;
  /** Null for a connection that never authenticated there: its account and what it sees are unknown. */
  accountId: string | null;
}

type Configured = { name: string; baseUrl: string; ownKeyId: string | null };

/**
 * Returns every connection that ever authenticated, and the configured ones that did not. A connection whose address changed counts twice until it
 * has authenticated at the new one: another process may still use the old one.
 */
export async function readConnections(db: Db, configured: Configured[]): Promise<KnownConnection[]> {
  const rows = await db.select().from(connection).orderBy(asc(connection.name));
  const planes = await db.select().from(controlPlane);
  const placed = configured.map(({ baseUrl, ...each }) => ({
    ...each,
    controlPlaneNumber: planes.find((plane) => plane.baseUrl === baseUrl)?.number ?? null,
  }));
  const isAt = (row: (typeof rows)[number]) => (each: (typeof placed)[number]) =>
    each.name === row.name && each.controlPlaneNumber === row.controlPlaneNumber;
  // The configuration is newer than the row stored when the connection last authenticated.
  const stored = rows.map(
    (row): KnownConnection => ({ ...row, ownKeyId: placed.find(isAt(row))?.ownKeyId ?? row.ownKeyId }),
  );
  const unstored = placed
    .filter((each) => !rows.some((row) => isAt(row)(each)))
    .map((each): KnownConnection => ({ ...each, accountId: null, removedAt: null }));
  return [...stored, ...unstored];
}

/** How long a connection's former key counts as one that it may still use, in ms. */
const ownKeysKeptMs = 7 * dayMs;

/** An own key. `controlPlane` is null if it is not known where the connection used it. */
interface OwnKey {
  connection: string;
  keyId: string;
  controlPlane: string | null;
}

/**
 * Returns the own keys of connections: the current ones, and those that a connection had in the last week, which another replica may still
 * have. The keys of removed connections are included, because something else may use them.
 */
export async function readOwnKeys(
  { db, sql }: Pick<Store, 'db' | 'sql'>,
  connections: KnownConnection[],
): Promise<Facts['ownKeys']> {
  const now = connections.flatMap(({ name, ownKeyId, controlPlaneNumber }): OwnKey[] =>
    ownKeyId === null ? [] : [{ connection: name, keyId: ownKeyId, controlPlane: controlPlaneNumber }],
  );
  const rows = await db
    .select({ connection: ownKey.connection, keyId: ownKey.keyId })
    .from(ownKey)
    .where(raw`${ownKey.checkedAt} > now() - ${ownKeysKeptMs / 1000} * interval '1 second'`)
    .orderBy(asc(ownKey.connection), asc(ownKey.keyId));
  const isNow = (row: (typeof rows)[number]) =>
    now.some(({ connection, keyId }) => connection === row.connection && keyId === row.keyId);
  const earlier = rows.filter((row) => !isNow(row)).map((row): OwnKey => ({ ...row, controlPlane: null }));
  const own = await addOthers(sql, [...now, ...earlier]);
  return [...own, ...(await addOthers(sql, await readSuccessorsOfOwn(sql, own)))];
}

/**
 * Adds the numbers of the keys that have the id of an own key and are certainly other keys: another control plane shows them, created over a day before or
 * after every record of that id where the connection uses it. One service may have two addresses, so the address alone proves nothing.
 */
async function addOthers(sql: Sql, own: OwnKey[]): Promise<Facts['ownKeys']> {
  const rows = await sql`
    with home as (
      select own.place, own.control_plane_number, own.id, array_agg(k.created_at) as created
      from unnest(${own.map(({ controlPlane }) => controlPlane)}::bigint[], ${own.map(({ keyId }) => keyId)}::text[])
          with ordinality own(control_plane_number, id, place)
        join keywarden.key k on k.control_plane_number = own.control_plane_number and k.id = own.id
      group by 1, 2, 3
      having bool_and(k.created_at between '2000-01-01' and k.first_seen_at + interval '1 day'))
    select h.place, o.number from home h join keywarden.control_plane p on p.number <> h.control_plane_number
      join keywarden.key o on o.control_plane_number = p.number and o.id = h.id
    where not exists (select from unnest(h.created) c where o.created_at between c - interval '1 day' and c + interval '1 day')
      and o.created_at between '2000-01-01' and o.first_seen_at + interval '1 day'
    order by 1, 2`;
  const others = Map.groupBy(rows, ({ place }) => Number(place) - 1);
  return own.map(({ connection, keyId }, place) => {
    const otherKeys = others.get(place)?.map(({ number }) => String(number));
    return { connection, keyId, ...(otherKeys === undefined ? {} : { otherKeys }) };
  });
}

/** Returns the keys in the lineages of connections' own keys. A connection uses or will use a successor. */
async function readSuccessorsOfOwn(sql: Sql, own: Facts['ownKeys']): Promise<OwnKey[]> {
  const rows = await sql`
    with kin as materialized ${keysOfLineages(sql)}
    select distinct k.control_plane_number, k.id, of_lineage.id as own_id, of_lineage.number as own_number
    from keywarden.key k join kin n on n.key_number = k.number
      join kin m on m.lineage_number = n.lineage_number join keywarden.key of_lineage on of_lineage.number = m.key_number
    where of_lineage.id = any(${own.map(({ keyId }) => keyId)}::text[]) and k.gone_at is null and k.id <> of_lineage.id order by 2, 3, 1, 4`;
  return rows.flatMap((row) =>
    own
      .filter((each) => isOwn(each, { id: String(row.own_id), number: String(row.own_number) }))
      .map(({ connection }) => ({
        connection,
        keyId: String(row.id),
        controlPlane: String(row.control_plane_number),
      })),
  );
}

/** Returns the connections of each scope that see it, or may see it, and whose own key is unknown. */
export async function readUnknownOwnKeys(
  db: Db,
  { connections, ourNowMs }: { connections: KnownConnection[]; ourNowMs: number },
): Promise<(controlPlane: string, scope: string) => string[]> {
  const seen = await db.select().from(connectionScope);
  const ownIds = connections.flatMap(({ ownKeyId }) => ownKeyId ?? []);
  const listed = await db
    .select({ controlPlane: key.controlPlaneNumber, id: key.id })
    .from(key)
    .where(and(anyOf(key.id, ownIds), isNull(key.goneAt)));
  // An id that no listing has shown, or that is gone, is not the key that the connection uses. The true id is unknown.
  const isKnown = ({ controlPlaneNumber, ownKeyId }: KnownConnection) =>
    listed.some(({ controlPlane, id }) => controlPlane === controlPlaneNumber && id === ownKeyId);
  // A removed connection may still belong to another process with a configuration of its own. It counts as long as own keys are kept.
  const mayWork = ({ removedAt }: KnownConnection) => removedAt === null || toMs(removedAt) > ourNowMs - ownKeysKeptMs;
  const unknown = connections
    .filter((each) => mayWork(each) && !isKnown(each))
    .map((each) => ({ each, seen: seen.filter(isSeenBy(each)) }));
  return (controlPlane, scope) =>
    unknown.filter(({ each, seen }) => maySee(each, { controlPlane, scope }, seen)).map(({ each }) => each.name);
}

const isSeenBy =
  ({ name, controlPlaneNumber }: KnownConnection) =>
  (row: typeof connectionScope.$inferSelect) =>
    row.connection === name && row.controlPlaneNumber === controlPlaneNumber;

/** Returns whether a connection may see a scope: it has listed it, it is its account's, or it acts for a user and has listed no keys yet. */
function maySee(
  { controlPlaneNumber, accountId }: KnownConnection,
  listing: { controlPlane: string; scope: string },
  seen: (typeof connectionScope.$inferSelect)[],
): boolean {
  if (controlPlaneNumber !== listing.controlPlane) return false;
  const isAccount = [`user:${accountId}`, `organization:${accountId}`].includes(listing.scope);
  // Listings of a project's credentials do not show whose keys the connection sees.
  const hasListedKeys = seen.some((row) => isOfKeys(row.scope));
  return isAccount || !hasListedKeys || seen.some((row) => row.scope === listing.scope);
}
