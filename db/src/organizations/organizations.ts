import type { WireMember, WireOrganization } from '@keywarden/core/wire';
import { and, isNull, sql as raw } from 'drizzle-orm';
import { isSuddenDrop } from '../keys/listings/suspect.ts';
import { holdList } from '../locks.ts';
import { member, memberListing, organization } from '../schema/organizations.ts';
import { anyOf, builderOf, type Db, hasValues, lastOfEach, noneOf, packExtra, type Sql, toJson } from '../sql.ts';

export interface Listing {
  controlPlane: string;
  /** The control plane's own time of the listing, RFC 3339. */
  seenAt: string;
}

/** Saves the organizations that a connection sees. */
export async function saveOrganizations(
  sql: Sql,
  { controlPlane, seenAt }: Listing,
  organizations: WireOrganization[],
): Promise<void> {
  const rows = lastOfEach(organizations).map((each) => ({
    ...each,
    created_at: each.createdAt,
    extra: packExtra(each.extra, { created_at: each.createdAt }),
  }));
  await sql`
    insert into keywarden.organization (control_plane_number, id, name, created_at, extra, first_seen_at, last_seen_at)
    select ${controlPlane}::bigint, id, name, created_at, extra, ${seenAt}::timestamptz, ${seenAt}::timestamptz
    from json_to_recordset(${toJson(rows)}::json) as t(id text, name text, created_at timestamptz, extra jsonb)
    -- Another connection may show the same ones in another order: rows that are locked in one order wait for each other, and never in a circle.
    order by id
    on conflict (control_plane_number, id) do update set name = excluded.name, extra = excluded.extra, last_seen_at = excluded.last_seen_at`;
}

/** Lists the organizations that connections see now, and whose keys none has listed since a time of the database. */
export async function listUnlistedOrganizations(sql: Sql, since: string): Promise<string[]> {
  const rows = await sql`
    select o.id from keywarden.organization o join keywarden.control_plane_now p on p.control_plane_number = o.control_plane_number
    where o.last_seen_at > p.at - interval '1 hour' and not exists (select from keywarden.key_listing l
      where l.control_plane_number = o.control_plane_number and l.scope = 'organization:' || o.id and l.received_at >= ${since}::timestamptz)
    order by o.id`;
  return rows.map(({ id }) => String(id));
}

/**
 * Saves a complete listing of an organization's members. A member who is absent twice in a row has left. An empty list proves nothing,
 * because at least the caller is a member (A7). `isSudden` marks a list that proves no absence.
 */
export async function saveMembers(
  sql: Sql,
  { controlPlane, seenAt, organizationId }: Listing & { organizationId: string },
  members: WireMember[],
): Promise<{ isSudden: boolean }> {
  // A person is a member once. A list that is read while they leave and return shows two memberships.
  const rows = [...new Map(members.map((each) => [each.userId, each])).values()].map((each) => ({
    member_id: each.id,
    user_id: each.userId,
    role: each.role,
    joined_at: each.joinedAt,
    email: each.email,
  }));
  return await sql.begin(async (tx) => {
    await holdList(tx, `members of ${controlPlane}/${organizationId}`);
    await tx`
      insert into keywarden.member as m (control_plane_number, organization_id, user_id, member_id, email, role, joined_at, first_seen_at, last_seen_at)
      select ${controlPlane}::bigint, ${organizationId}::text, user_id, member_id, email, role, joined_at, ${seenAt}::timestamptz, ${seenAt}::timestamptz
      from json_to_recordset(${toJson(rows)}::json)
        as t(user_id text, member_id text, email text, role text, joined_at timestamptz)
      on conflict (control_plane_number, organization_id, user_id) do update set member_id = excluded.member_id,
        email = excluded.email, role = excluded.role, joined_at = excluded.joined_at, last_seen_at = excluded.last_seen_at,
        away_since = case when m.missing_since is null and m.left_at is null then m.away_since
          when m.returned_at is not null and m.away_since is null then null else least(m.away_since, m.last_seen_at) end,
        returned_at = case when m.missing_since is null and m.left_at is null then m.returned_at else excluded.last_seen_at end,
        missing_since = null, left_at = null`;
    if (members.length === 0) return { isSudden: true };
    const db = builderOf(tx);
    const ofOrganization = hasValues(member, { controlPlaneNumber: controlPlane, organizationId });
    const ids = members.map(({ userId }) => userId);
    const lost = await db.$count(member, and(ofOrganization, isNull(member.leftAt), noneOf(member.userId, ids)));
    // Members that only sudden lists have shown may be those of another list, too.
    const isKnown = raw`${member.firstSeenAt} < ${seenAt}::timestamptz and ${member.firstSeenAt} <= coalesce((select max(l.listed_at)
      from keywarden.member_listing l where l.control_plane_number = ${controlPlane} and l.organization_id = ${organizationId} and not l.is_sudden), 'infinity')`;
    const known = and(ofOrganization, isKnown, anyOf(member.userId, ids));
    const isSudden = isSuddenDrop({ lost, kept: await db.$count(member, known), ids });
    const listing = { controlPlaneNumber: controlPlane, organizationId, listedAt: seenAt, isSudden };
    await db.insert(memberListing).values(listing).onConflictDoNothing();
    await tx`
      update keywarden.member m set missing_since = coalesce(missing_since, ${seenAt}::timestamptz),
        left_at = case when missing_since <= ${seenAt}::timestamptz - interval '1 day' or not ${isSudden} and exists (
            select from keywarden.member_listing l where l.control_plane_number = m.control_plane_number
              and l.organization_id = m.organization_id and not l.is_sudden
              and l.listed_at > m.last_seen_at and l.listed_at < ${seenAt}::timestamptz)
          then ${seenAt}::timestamptz end
      where control_plane_number = ${controlPlane} and organization_id = ${organizationId} and left_at is null
        and last_seen_at < ${seenAt}::timestamptz and not (user_id = any(${ids}))`;
    return { isSudden };
  });
}

/** Returns a user's role in an organization, by its last list of members; null for a user who is not in it. */
export async function readMemberRole(
  db: Db,
  { controlPlane, organizationId, userId }: { controlPlane: string; organizationId: string; userId: string },
): Promise<string | null> {
  const [row] = await db
    .select({ role: member.role })
    .from(member)
    .where(hasValues(member, { controlPlaneNumber: controlPlane, organizationId, userId, leftAt: null }));
  return row?.role ?? null;
}

/** Lists the ids of the organizations that were ever listed. */
export async function listOrganizationIds(db: Db): Promise<string[]> {
  const rows = await db.selectDistinct({ id: organization.id }).from(organization).orderBy(organization.id);
  return rows.map(({ id }) => id);
}
