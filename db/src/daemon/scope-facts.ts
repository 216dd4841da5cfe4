import type { Facts, KeyFacts, ScopeFacts } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/wire';
import { asc, inArray } from 'drizzle-orm';
import { toInstant } from '../schema/columns.ts';
import { connection, connectionScope, key, member } from '../schema/tables.ts';
import type { Db, Sql, Store } from '../store.ts';
import type { FactsAsked } from './facts.ts';
import { factScope } from './names.ts';

/** What is known of each scope that was ever listed, and the own keys of all connections. */
export async function readScopes(
  { db, sql }: Pick<Store, 'db' | 'sql'>,
  { nowMs, policySha256, needsProjects }: FactsAsked,
): Promise<Pick<Facts, 'scopes' | 'ownKeys'>> {
  const listings = await readListings(sql);
  const connections = await db.select().from(connection).orderBy(asc(connection.name));
  const unknownOwnKey = await readUnknownOwnKeys(db, connections);
  const unattended = await readUnattended(sql, policySha256);
  const incidents = await countIncidents(sql);
  const unseen = await countUnseenMembers(sql);
  const projects = needsProjects ? await readProjects(sql) : null;
  const scopes = listings.map(({ controlPlane, scope, ...times }): ScopeFacts => {
    const name = factScope(controlPlane, scope);
    return {
      scope: name,
      ...times,
      nowMs: nowMs(controlPlane),
      unknownOwnKey: unknownOwnKey(controlPlane, scope),
      unattended: unattended.get(name) ?? [],
      openIncidents: incidents.get(name) ?? 0,
      unseenMembers: unseen.get(name) ?? (scope.startsWith('user:') ? 0 : null),
      ...(projects === null ? {} : { projects: projects.get(name) ?? [] }),
    };
  });
  // One that was removed from the configuration still protects its key: something else may use it.
  const ownKeys = connections.flatMap(({ name, ownKeyId }) =>
    ownKeyId === null ? [] : [{ connection: name, keyId: ownKeyId }],
  );
  return { scopes, ownKeys };
}

interface Listing extends Pick<ScopeFacts, 'listedAt' | 'priorListedAt' | 'hourPriorListedAt'> {
  controlPlane: string;
  scope: string;
}

/**
 * The last believed listing of each scope with those before it that are in a row with it: no doubted one lies between, and each had
 * ended when the last began.
 */
async function readListings(sql: Sql): Promise<Listing[]> {
  const rows = await sql`
    with scopes as (
      select distinct control_plane_number, scope from keywarden.connection_scope
    ), last as (
      select l.* from scopes s cross join lateral (
        select * from keywarden.key_listing l
        where l.control_plane_number = s.control_plane_number and l.scope = s.scope and l.doubt is null
        order by l.number desc limit 1) l
    )
    select l.control_plane_number, l.scope, l.listed_at, p.listed_at as prior, h.listed_at as hour_prior
    from last l left join lateral (
      select d.number from keywarden.key_listing d
      where d.control_plane_number = l.control_plane_number and d.scope = l.scope and d.doubt is not null and d.number < l.number
      order by d.number desc limit 1) doubted on true
    left join lateral (
      select p.listed_at from keywarden.key_listing p
      where p.control_plane_number = l.control_plane_number and p.scope = l.scope and p.number < l.number
        and p.number > coalesce(doubted.number, 0) and p.received_at <= l.begun_at
      order by p.number desc limit 1) p on true
    left join lateral (
      select p.listed_at from keywarden.key_listing p
      where p.control_plane_number = l.control_plane_number and p.scope = l.scope and p.number < l.number
        and p.number > coalesce(doubted.number, 0) and p.received_at <= l.begun_at
        and p.listed_at <= l.listed_at - interval '1 hour'
      order by p.number desc limit 1) h on true
    order by l.control_plane_number, l.scope`;
  const instant = (value: unknown) => (typeof value === 'string' ? toInstant(value) : null);
  return rows.map((row) => ({
    controlPlane: String(row.control_plane_number),
    scope: String(row.scope),
    listedAt: toInstant(String(row.listed_at)),
    priorListedAt: instant(row.prior),
    hourPriorListedAt: instant(row.hour_prior),
  }));
}

type ConnectionRow = typeof connection.$inferSelect;

/** Of each scope the connections that see it, or may, and whose own key is not known. */
async function readUnknownOwnKeys(
  db: Db,
  connections: ConnectionRow[],
): Promise<(controlPlane: string, scope: string) => string[]> {
  const seen = await db.select().from(connectionScope);
  const ownIds = connections.flatMap(({ ownKeyId }) => ownKeyId ?? []);
  const listed = await db
    .select({ controlPlane: key.controlPlaneNumber, id: key.id })
    .from(key)
    .where(inArray(key.id, ownIds));
  // An id that no listing has ever shown is a mistake, and the true one is not known.
  const isKnown = ({ controlPlaneNumber, ownKeyId }: ConnectionRow) =>
    listed.some(({ controlPlane, id }) => controlPlane === controlPlaneNumber && id === ownKeyId);
  const unknown = connections
    .filter((each) => each.removedAt === null && !isKnown(each))
    .map((each) => ({ each, seen: seen.filter((row) => row.connection === each.name) }));
  return (controlPlane, scope) =>
    unknown.filter(({ each, seen }) => maySee(each, { controlPlane, scope }, seen)).map(({ each }) => each.name);
}

/** It has listed the scope, or the scope is its own account's, or it acts for a user and has not said yet what it sees. */
function maySee(
  { controlPlaneNumber, accountId }: ConnectionRow,
  listing: { controlPlane: string; scope: string },
  seen: (typeof connectionScope.$inferSelect)[],
): boolean {
  if (controlPlaneNumber !== listing.controlPlane) return false;
  const isAccount = [`user:${accountId}`, `organization:${accountId}`].includes(listing.scope);
  return isAccount || seen.length === 0 || seen.some((row) => row.scope === listing.scope);
}

/**
 * Who of the creators is a member still. One who was absent from two complete listings in a row has left; one whom no listing has ever
 * shown has left too, if two are known to be younger than the key: where members can be listed no more, a new creator is unknown.
 */
export async function readCreators(db: Db): Promise<(row: typeof key.$inferSelect) => KeyFacts['creator']> {
  const members = await db.select().from(member);
  const placeOf = (controlPlane: string, organization: string | null) => `${controlPlane}/${organization}`;
  const states = new Map<string, KeyFacts['creator']>();
  const seen = new Map<string, Set<string>>();
  for (const { controlPlaneNumber, organizationId, userId, leftAt, missingSince, firstSeenAt, lastSeenAt } of members) {
    const place = placeOf(controlPlaneNumber, organizationId);
    const present = missingSince === null ? 'member' : 'unknown';
    states.set(`${place}/${userId}`, leftAt === null ? present : 'left');
    const times = seen.get(place) ?? new Set();
    seen.set(place, times.add(firstSeenAt).add(lastSeenAt));
  }
  return ({ controlPlaneNumber, organizationId, creatorId, createdAt }) => {
    const place = placeOf(controlPlaneNumber, organizationId);
    const since = [...(seen.get(place) ?? [])].filter((at) => toMs(at) > toMs(createdAt));
    return states.get(`${place}/${creatorId}`) ?? (since.length > 1 ? 'left' : 'unknown');
  };
}

/** When each scope's keys were revoked without a person under a policy. */
async function readUnattended(sql: Sql, policySha256: string): Promise<Map<string, string[]>> {
  const rows = await sql`
    select k.control_plane_number, k.scope, i.judged_at from keywarden.revocation_intent i
      join keywarden.plan_approval a on a.number = i.approval_number join keywarden.key k on k.number = i.key_number
      join keywarden.revocation_outcome o on o.intent_number = i.number
    where a.via = 'enforcement' and i.policy_sha256 = ${policySha256} and o.outcome = 'revoked'
    order by i.number desc limit 10000`;
  return groupByScope(rows, (row) => toInstant(String(row.judged_at)));
}

async function countIncidents(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql`
    select scope, count(*)::int as n from keywarden.incident
    where closed_at is null and kind = 'used_in_flight' group by scope`;
  return new Map(rows.map((row) => [String(row.scope), Number(row.n)]));
}

/** Members whose personal keys no connection lists, of each organization whose members were ever listed. */
async function countUnseenMembers(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql`
    select m.control_plane_number, m.organization_id, count(*) filter (where m.left_at is null and not exists (
      select from keywarden.connection c where c.control_plane_number = m.control_plane_number
        and c.account_id = m.user_id and c.removed_at is null))::int as n
    from keywarden.member m group by m.control_plane_number, m.organization_id`;
  return new Map(
    rows.map((row) => [
      factScope(String(row.control_plane_number), `organization:${String(row.organization_id)}`),
      Number(row.n),
    ]),
  );
}

/** The live projects of each organization. */
async function readProjects(sql: Sql): Promise<Map<string, { id: string; name: string }[]>> {
  const rows = await sql`
    select control_plane_number, 'organization:' || organization_id as scope, id, name from keywarden.project
    where gone_at is null order by id`;
  return groupByScope(rows, (row) => ({ id: String(row.id), name: String(row.name) }));
}

function groupByScope<T, Row extends Record<string, unknown>>(
  rows: readonly Row[],
  toValue: (row: Row) => T,
): Map<string, T[]> {
  const groups = Map.groupBy(rows, (row) => factScope(String(row.control_plane_number), String(row.scope)));
  return new Map([...groups].map(([scope, group]) => [scope, group.map(toValue)]));
}
