import type { WireMember, WireOrganization, WireProject } from '@keywarden/core/wire';
import type { Sql } from '../store.ts';
import { packExtra } from './extra.ts';
import { lastOfEach, toJson } from './rows.ts';
import { isSuddenDrop } from './sudden-drop.ts';

interface Place {
  controlPlane: string;
  /** The control plane's own time of the listing, RFC 3339. */
  seenAt: string;
}

export async function saveOrganizations(
  sql: Sql,
  { controlPlane, seenAt }: Place,
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
    on conflict (control_plane_number, id) do update set name = excluded.name, extra = excluded.extra, last_seen_at = excluded.last_seen_at`;
}

/**
 * Saves a complete listing of an organization's members. One who is absent twice in a row has left; an empty list, where the
 * caller at least is a member, concludes nothing (A7). `isSudden` says that the list proves no absence.
 */
export async function saveMembers(
  sql: Sql,
  { controlPlane, seenAt, organizationId }: Place & { organizationId: string },
  members: WireMember[],
): Promise<{ isSudden: boolean }> {
  const rows = lastOfEach(members).map(({ id, userId, role, joinedAt, email }) => ({
    member_id: id,
    user_id: userId,
    role,
    joined_at: joinedAt,
    email,
  }));
  return await sql.begin(async (tx) => {
    await tx`
      insert into keywarden.member (control_plane_number, organization_id, user_id, member_id, email, role, joined_at, first_seen_at, last_seen_at)
      select ${controlPlane}::bigint, ${organizationId}::text, user_id, member_id, email, role, joined_at, ${seenAt}::timestamptz, ${seenAt}::timestamptz
      from json_to_recordset(${toJson(rows)}::json)
        as t(user_id text, member_id text, email text, role text, joined_at timestamptz)
      on conflict (control_plane_number, organization_id, user_id) do update set member_id = excluded.member_id,
        email = excluded.email, role = excluded.role, joined_at = excluded.joined_at, last_seen_at = excluded.last_seen_at,
        missing_since = null, left_at = null`;
    if (members.length === 0) return { isSudden: true };
    const [known] = await tx`
      select count(*)::int as n from keywarden.member
      where control_plane_number = ${controlPlane} and organization_id = ${organizationId} and left_at is null`;
    const isSudden = isSuddenDrop({ known: Number(known?.n), ids: members.map(({ userId }) => userId) });
    await tx`
      insert into keywarden.member_listing (control_plane_number, organization_id, listed_at, is_sudden)
      values (${controlPlane}, ${organizationId}, ${seenAt}::timestamptz, ${isSudden}) on conflict do nothing`;
    await tx`
      update keywarden.member m set missing_since = coalesce(missing_since, ${seenAt}::timestamptz),
        left_at = case when missing_since <= ${seenAt}::timestamptz - interval '1 day' or not ${isSudden} and exists (
            select from keywarden.member_listing l where l.control_plane_number = m.control_plane_number
              and l.organization_id = m.organization_id and not l.is_sudden
              and l.listed_at > m.last_seen_at and l.listed_at < ${seenAt}::timestamptz)
          then ${seenAt}::timestamptz end
      where control_plane_number = ${controlPlane} and organization_id = ${organizationId} and left_at is null
        and last_seen_at < ${seenAt}::timestamptz and not (user_id = any(${members.map((member) => member.userId)}))`;
    return { isSudden };
  });
}

/** What a user may do in an organization, by its last list of members; null for one who is not there. */
export async function readMemberRole(
  sql: Sql,
  { controlPlane, organizationId, userId }: { controlPlane: string; organizationId: string; userId: string },
): Promise<string | null> {
  const [row] = await sql`
    select role from keywarden.member where control_plane_number = ${controlPlane} and organization_id = ${organizationId}
      and user_id = ${userId} and left_at is null`;
  return row === undefined ? null : String(row.role);
}

/**
 * Saves a complete list of an organization's projects: one that is absent twice in a row is gone. Those that the answer named as
 * unavailable are not absent, an empty list concludes nothing, and where most are suddenly absent it takes a day of it (A7).
 */
export async function saveProjects(
  sql: Sql,
  {
    controlPlane,
    seenAt,
    organizationId,
    unavailableIds,
    isWhole = true,
  }: Place & {
    organizationId: string;
    unavailableIds: string[];
    /** Rows that cannot be read may be of any project: then none is absent. */
    isWhole?: boolean;
  },
  projects: WireProject[],
): Promise<void> {
  const rows = rowsOf(projects, organizationId);
  await sql.begin(async (tx) => {
    await tx`
      insert into keywarden.project (control_plane_number, id, organization_id, name, region_id, pg_version, owner_id, created_at,
        updated_at, extra, first_seen_at, last_seen_at)
      select ${controlPlane}::bigint, id, organization_id, name, region_id, pg_version, owner_id, created_at, updated_at, extra,
        ${seenAt}::timestamptz, ${seenAt}::timestamptz
      from json_to_recordset(${toJson(rows)}::json) as t(id text, name text, organization_id text, region_id text,
        pg_version int, owner_id text, created_at timestamptz, updated_at timestamptz, extra jsonb)
      on conflict (control_plane_number, id) do update set organization_id = excluded.organization_id, name = excluded.name,
        region_id = excluded.region_id, pg_version = excluded.pg_version, owner_id = excluded.owner_id,
        updated_at = excluded.updated_at, extra = excluded.extra, last_seen_at = excluded.last_seen_at,
        listed_active_at = case when (project.updated_at, project.extra) is distinct from (excluded.updated_at, excluded.extra)
          then excluded.last_seen_at else project.listed_active_at end,
        missing_since = null, gone_at = null, deleted_at = null, walk_refused_at = null`;
    if (projects.length === 0 || !isWhole) return;
    const there = [...projects.map((project) => project.id), ...unavailableIds];
    const [known] = await tx`
      select count(*)::int as n from keywarden.project
      where control_plane_number = ${controlPlane} and organization_id = ${organizationId} and gone_at is null`;
    const isSudden = isSuddenDrop({ known: Number(known?.n), ids: there });
    // By a difference, for a cluster takes nothing within a case that a setting could change, such as a time less an interval.
    await tx`
      update keywarden.project set missing_since = coalesce(missing_since, ${seenAt}::timestamptz),
        gone_at = case when missing_since is null or ${isSudden} and ${seenAt}::timestamptz - missing_since < interval '1 day'
          then null else ${seenAt}::timestamptz end
      where control_plane_number = ${controlPlane} and organization_id = ${organizationId} and gone_at is null
        and last_seen_at < ${seenAt}::timestamptz and not (id = any(${there}))`;
  });
}

function rowsOf(projects: WireProject[], organizationId: string) {
  return lastOfEach(projects).map((each) => ({
    id: each.id,
    name: each.name,
    organization_id: each.orgId ?? organizationId,
    region_id: each.regionId,
    pg_version: each.pgVersion,
    owner_id: each.ownerId,
    created_at: each.createdAt,
    updated_at: each.updatedAt,
    deleted_at: each.deletedAt,
    extra: packExtra(each.extra, { created_at: each.createdAt, updated_at: each.updatedAt }),
  }));
}

/**
 * Saves the projects of an organization that were deleted and can be recovered: those that came and went between two lists too. A project
 * that the last list of projects shows stays, even if this list has it.
 */
export async function saveDeletedProjects(
  sql: Sql,
  { controlPlane, seenAt, organizationId }: Place & { organizationId: string },
  projects: WireProject[],
): Promise<void> {
  const rows = rowsOf(projects, organizationId);
  await sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, region_id, pg_version, owner_id, created_at,
      updated_at, extra, first_seen_at, last_seen_at, missing_since, gone_at, deleted_at)
    select ${controlPlane}::bigint, id, organization_id, name, region_id, pg_version, owner_id, created_at, updated_at, extra,
      ${seenAt}::timestamptz, deleted_at, deleted_at, deleted_at, deleted_at
    from json_to_recordset(${toJson(rows)}::json) as t(id text, name text, organization_id text, region_id text,
      pg_version int, owner_id text, created_at timestamptz, updated_at timestamptz, deleted_at timestamptz, extra jsonb)
    on conflict (control_plane_number, id) do update set deleted_at = excluded.deleted_at,
      missing_since = least(project.missing_since, greatest(excluded.deleted_at, project.last_seen_at)),
      gone_at = least(project.gone_at, greatest(excluded.deleted_at, project.last_seen_at))
    where project.last_seen_at < ${seenAt}::timestamptz and project.deleted_at is distinct from excluded.deleted_at`;
}

/** The operations of a deleted project are not there either: they are not asked for again. */
export async function markWalkRefused(sql: Sql, { project, at }: { project: string; at: string }): Promise<void> {
  await sql`update keywarden.project set walk_refused_at = ${at}::timestamptz where number = ${project}`;
}
