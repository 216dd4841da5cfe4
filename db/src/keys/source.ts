import { credentialKinds, showsUse, unknownCreator } from '@keywarden/core/wire';
import { type SQL, sql } from 'drizzle-orm';

/** API keys, or other credentials. */
export type InventoryKind = 'keys' | 'credentials';

/** The relation of each inventory, and the columns that only other credentials have: now, and in an observation `v` of the row `n`. */
const tables: Record<InventoryKind, { from: SQL; columns: SQL; observed: SQL }> = {
  keys: { from: sql`keywarden.key`, columns: sql``, observed: sql`` },
  credentials: {
    from: sql`(select * from keywarden.credential where kind not in ('personal', 'organization', 'project'))`,
    columns: sql`branch_id, holder, expires_at, extra, `,
    observed: sql`n.branch_id, case when v.record is null then n.holder else v.record ->> 'holder' end as holder,
      case when v.record is null then n.expires_at else (v.record ->> 'expires_at')::timestamptz end as expires_at,
      case when v.record is null then n.extra else nullif(v.record -> 'extra', 'null') end as extra, `,
  },
};

/** Whether the control plane reports when credentials of the kind were used. */
const showsUseOf = (kind: SQL) => sql`${kind} = any(${sql.param(credentialKinds.filter(showsUse))}::text[])`;

/** Whether the recorded creation time of a row is plausible: not before its organization existed, and not after the key was first seen. */
export const isCreationKnown = (row: SQL) => sql<boolean>`(${row}.created_at <= ${row}.first_seen_at + interval '1 day'
  and ${row}.created_at >= greatest('2000-01-01', (select o.created_at - interval '1 day' from keywarden.organization o
    where o.control_plane_number = ${row}.control_plane_number and o.id = ${row}.organization_id)))`;

/** Returns the SQL of keys as they are now: the relation `k` of each query about keys. `use` is used, never or unknown. */
export const keysNow = (of: InventoryKind): SQL => sql`(
  select number, control_plane_number, scope, id, kind, organization_id, project_id, name, creator_id, creator_name, created_at,
    last_used_at, last_used_from, use_went_back, first_seen_at, missing_since, gone_at, ${tables[of].columns}
    case when not ${showsUseOf(sql`kind`)} or use_went_back or last_used_at < created_at - interval '1 second'
        or last_used_at is null and last_used_from is not null then 'unknown'
      when last_used_at is null then 'never' else 'used' end as use, ${isCreationKnown(sql`found`)} as creation_known,
    case when gone_at is not null then 'gone' when missing_since is not null then 'missing' else 'active' end as state
  from ${tables[of].from} found) k`;

/**
 * Returns the SQL of whether the creator of a key `k` was a member of its organization at a time: member, left or unknown. It is the definition of
 * readCreators, for any time. A user whom no listing has ever shown has left, if two trusted listings are younger than the key. A listing is evidence
 * for a day. When a user came, went, or came back is unknown between the listings around it.
 */
export const creatorState = (
  at: SQL,
): SQL => sql`(case when k.creator_id = ${unknownCreator} or k.organization_id is null then 'unknown' else (
  select case when l.last is null or l.last < ${at} - interval '1 day' then 'unknown'
    when m.left_at <= ${at} then 'left'
    when m.first_seen_at <= ${at} then case when m.returned_at > ${at} and (m.away_since < ${at}) is not false or m.missing_since is not null and m.last_seen_at < ${at}
      then 'unknown' else 'member' end
    when m.first_seen_at > ${at} and l.last < ${at} and not exists (select from keywarden.member_listing o
        where o.control_plane_number = k.control_plane_number and o.organization_id = k.organization_id and not o.is_sudden
          and o.listed_at > ${at} and o.listed_at < m.first_seen_at) then 'unknown'
    when l.second > k.created_at then 'left' else 'unknown' end
  from (select max(t.listed_at) as last, case when count(*) > 1 then min(t.listed_at) end as second from (
      select o.listed_at from keywarden.member_listing o where o.control_plane_number = k.control_plane_number
        and o.organization_id = k.organization_id and not o.is_sudden and o.listed_at <= ${at} order by o.listed_at desc limit 2) t) l
    left join keywarden.member m on m.control_plane_number = k.control_plane_number and m.organization_id = k.organization_id
      and m.user_id = k.creator_id) end)`;

/** The trusted listings `l` of the scope of a row: FROM and WHERE, to which further conditions are added. */
export const trustedListings = (row: SQL): SQL => sql`keywarden.key_listing l
  where l.control_plane_number = ${row}.control_plane_number and l.scope = ${row}.scope and l.why_suspect is null`;

/**
 * Returns the SQL of keys as they were at a time of the control plane. It has the keys created by then, with the state from their
 * observations. A key that one listing shows and the next lacks is `unknown` in between, and so is each key a day after the last listing. A key that was missing once exists again if the
 * next listing did not show that it is gone. Its last use is known if the next listing shows none after that time, or if the last listing of all
 * shows the key and is of the day before. Otherwise `use` is unknown, and the last use is the newest one that is known.
 */
export function keysAsOf(at: string, of: InventoryKind): SQL {
  const then = sql`${at}::timestamptz`;
  return sql`(
    select n.number, n.control_plane_number, n.scope, n.id, coalesce(v.record ->> 'kind', n.kind) as kind, n.organization_id,
      case when v.record is null then n.project_id else v.record ->> 'project_id' end as project_id,
      coalesce(v.record ->> 'name', n.name) as name, n.creator_id,
      case when v.record is null then n.creator_name else v.record ->> 'creator_name' end as creator_name, n.created_at,
      ${tables[of].observed} u.last_used_at, nullif(u.address, '') as last_used_from, n.use_went_back, n.first_seen_at,
      case when not w.is_known then 'unknown' when u.last_used_at is null then 'never' else 'used' end as use,
      ${isCreationKnown(sql`n`)} as creation_known,
      case when e.event = 'missing' then e.seen_at when e.event = 'gone' then (select max(o.seen_at) from keywarden.key_observation o
        where o.key_number = n.number and o.event = 'missing' and o.seen_at <= ${then}) end as missing_since,
      case when e.event in ('gone', 'revoked') then e.seen_at end as gone_at,
      case when e.event in ('gone', 'revoked') then 'gone' when e.event = 'missing' then 'missing'
        when x.event = 'missing' and not exists (select from ${trustedListings(sql`n`)}
            and l.listed_at >= ${then} and l.listed_at < x.seen_at) then 'unknown'
        when n.created_at < '2000-01-01' and n.first_seen_at > ${then} then 'unknown'
        when shown.at is null and x.event is null and not exists (select from ${trustedListings(sql`n`)}
            and l.listed_at between ${then} - interval '1 day' and ${then}) then 'unknown'
        else 'active' end as state
    from ${tables[of].from} n
      left join lateral (select o.record from keywarden.key_observation o where o.key_number = n.number and o.record is not null
        order by o.seen_at <= ${then} desc, case when o.seen_at <= ${then} then -o.number else o.number end limit 1) v on true
      left join lateral (select case when o.event = 'missing' and exists (select from ${trustedListings(sql`n`)}
            and l.listed_at > o.seen_at and l.listed_at <= ${then}) then 'shown again' else o.event end as event, o.seen_at
        from keywarden.key_observation o where o.key_number = n.number and o.seen_at <= ${then} order by o.number desc limit 1) e on true
      left join lateral (select o.event, o.seen_at from keywarden.key_observation o where o.key_number = n.number
        and o.seen_at > ${then} and o.event in ('missing', 'gone', 'revoked') order by o.number limit 1) x on true
      left join lateral (select case when w.last_used_at <= ${then} then w.last_used_at else w.first_used_at end as last_used_at, w.address
        from keywarden.key_use w where w.key_number = n.number and w.first_used_at <= ${then} order by 1 desc limit 1) u on true
      cross join lateral (select min(l.listed_at) as at from ${trustedListings(sql`n`)}
          and l.listed_at >= greatest(${then}, n.first_seen_at) and (x.seen_at is null or l.listed_at < x.seen_at)) shown
      cross join lateral (select ${showsUseOf(sql`n.kind`)} and not n.use_went_back and not (n.last_used_at is null and n.last_used_from is not null)
          and u.last_used_at >= n.created_at - interval '1 second' is not false and (
          shown.at is not null and not exists (select from keywarden.key_use w where w.key_number = n.number
            and (w.first_used_at > ${then} and w.first_used_at <= shown.at or w.last_used_at > ${then} and w.last_used_at <= shown.at))
          or n.first_seen_at <= ${then} and (e.event in ('missing', 'gone', 'revoked')) is not true and (
            select max(l.listed_at) between ${then} - interval '1 day' and ${then} from ${trustedListings(sql`n`)})) as is_known) w
    where n.created_at <= ${then}) k`;
}
