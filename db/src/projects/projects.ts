import type { WireProject } from '@keywarden/core/wire';
import { and, count, eq, exists, lt, min, or, sql as raw, type SQL } from 'drizzle-orm';
import { isSuddenDrop } from '../keys/listings/suspect.ts';
import { holdList } from '../locks.ts';
import type { Listing } from '../organizations/organizations.ts';
import { project } from '../schema/projects.ts';
import { holdPages } from '../seals/read.ts';
import { markMissingDays } from '../seals/seals.ts';
import {
  anyOf,
  builderOf,
  type Db,
  hasValues,
  lastOfEach,
  noneOf,
  packExtra,
  type Sql,
  type Tx,
  toJson,
} from '../sql.ts';

/**
 * Saves a complete list of an organization's projects. A project that is absent twice in a row is gone. Projects that the answer names as
 * unavailable are there, and an empty list proves nothing. If most are suddenly absent, a day must pass (A7). Coverage begins at the earliest creation
 * time that a list showed (A9).
 */
export async function saveProjects(
  sql: Sql,
  {
    controlPlane,
    seenAt,
    organizationId,
    unavailableIds,
    isWhole = true,
  }: Listing & {
    organizationId: string;
    unavailableIds: string[];
    /** False if rows cannot be read. They may be of any project, so none counts as absent. */
    isWhole?: boolean;
  },
  projects: WireProject[],
): Promise<void> {
  const rows = rowsOf(projects, organizationId);
  await sql.begin(async (tx) => {
    await holdList(tx, `projects of ${controlPlane}`);
    const ids = rows.map(({ id }) => id);
    const isAbsent = raw`(${project.missingSince} is not null or ${project.lastSeenAt} < ${seenAt}::timestamptz - interval '1 day')`;
    const older = await tx<{ number: string; created_at: string }[]>`
      select number::text, t.created_at from keywarden.project p
        join json_to_recordset(${toJson(rows)}::json) as t(id text, created_at timestamptz) on t.id = p.id
      where control_plane_number = ${controlPlane} and t.created_at < p.created_at order by number`;
    const isOlder = anyOf(
      project.number,
      older.map(({ number }) => number),
    );
    const changes = and(anyOf(project.id, ids), or(isAbsent, isOlder));
    await holdProjects(tx, and(eq(project.controlPlaneNumber, controlPlane), changes));
    await markMissingDays(tx, { controlPlane, ids, seenAt });
    for (const { number, created_at: createdAt } of older)
      await tx`select keywarden.bring_creation_forward(${number}, ${createdAt})`;
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
    const db = builderOf(tx);
    const ofOrganization = hasValues(project, { controlPlaneNumber: controlPlane, organizationId, goneAt: null });
    const isNamed = and(ofOrganization, anyOf(project.id, unavailableIds), lt(project.missingSince, seenAt));
    await db.update(project).set({ missingSince: null }).where(isNamed);
    if (projects.length === 0 || !isWhole) return;
    const there = [...projects.map(({ id }) => id), ...unavailableIds];
    const [absent] = await db
      .select({ lost: count(), since: min(project.missingSince) })
      .from(project)
      .where(and(ofOrganization, noneOf(project.id, there)));
    const known = and(ofOrganization, lt(project.firstSeenAt, absent?.since ?? seenAt), anyOf(project.id, there));
    const kept = await db.$count(project, known);
    const isSudden = isSuddenDrop({ lost: absent?.lost ?? 0, kept, ids: there });
    // The comparison uses a difference. A cluster refuses anything within a case that a setting could change, such as a time minus an
    // interval.
    await tx`
      update keywarden.project set missing_since = coalesce(missing_since, ${seenAt}::timestamptz),
        gone_at = case when missing_since is null or ${isSudden} and ${seenAt}::timestamptz - missing_since < interval '1 day'
          then null else ${seenAt}::timestamptz end
      where control_plane_number = ${controlPlane} and organization_id = ${organizationId} and gone_at is null
        and last_seen_at < ${seenAt}::timestamptz and not (id = any(${there}))`;
  });
}

/** Holds the days of projects that are about to end, or to be back: what is sealed meanwhile would be about their former state. */
async function holdProjects(tx: Tx, condition: SQL | undefined): Promise<void> {
  const rows = await builderOf(tx).select({ number: project.number }).from(project).where(condition);
  if (rows.length > 0)
    await holdPages(
      tx,
      rows.map(({ number }) => number),
    );
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
 * Saves the projects of an organization that were deleted and can be recovered, including those that existed only between two lists. A
 * project that the last list of projects shows stays, even if this list has it.
 */
export async function saveDeletedProjects(
  sql: Sql,
  { controlPlane, seenAt, organizationId }: Listing & { organizationId: string },
  projects: WireProject[],
): Promise<void> {
  const rows = rowsOf(projects, organizationId);
  await sql.begin(async (tx) => {
    await holdList(tx, `projects of ${controlPlane}`);
    const deletions = raw`json_to_recordset(${toJson(rows)}::json) as t(id text, deleted_at timestamptz)`;
    const isNews = exists(
      raw`(select from ${deletions} where t.id = ${project.id} and t.deleted_at is distinct from ${project.deletedAt})`,
    );
    await holdProjects(tx, and(eq(project.controlPlaneNumber, controlPlane), lt(project.lastSeenAt, seenAt), isNews));
    const saved = await tx`
    insert into keywarden.project (control_plane_number, id, organization_id, name, region_id, pg_version, owner_id, created_at,
      updated_at, extra, first_seen_at, last_seen_at, missing_since, gone_at, deleted_at)
    select ${controlPlane}::bigint, id, organization_id, name, region_id, pg_version, owner_id, created_at, updated_at, extra,
      ${seenAt}::timestamptz, deleted_at, deleted_at, deleted_at, deleted_at
    from json_to_recordset(${toJson(rows)}::json) as t(id text, name text, organization_id text, region_id text,
      pg_version int, owner_id text, created_at timestamptz, updated_at timestamptz, deleted_at timestamptz, extra jsonb)
    on conflict (control_plane_number, id) do update set deleted_at = excluded.deleted_at,
      missing_since = least(project.missing_since, greatest(excluded.deleted_at, project.last_seen_at)),
      gone_at = least(project.gone_at, greatest(excluded.deleted_at, project.last_seen_at))
    where project.last_seen_at < ${seenAt}::timestamptz and project.deleted_at is distinct from excluded.deleted_at
      returning id`;
    // Days after a deletion that is known only now may be sealed with gaps.
    await markMissingDays(tx, { controlPlane, ids: saved.map(({ id }) => String(id)), seenAt });
  });
}

/** Returns the ids, of these, of projects that the store does not have. */
export async function listUnknownProjects(
  db: Db,
  { controlPlane, ids }: { controlPlane: string; ids: string[] },
): Promise<string[]> {
  const isOne = and(eq(project.controlPlaneNumber, controlPlane), anyOf(project.id, ids));
  const known = new Set((await db.select({ id: project.id }).from(project).where(isOne)).map(({ id }) => id));
  return ids.filter((id) => !known.has(id));
}

/** Marks a deleted project whose operations are no longer available, so that they are not requested again. */
export async function markWalkRefused(db: Db, { project: number, at }: { project: string; at: string }): Promise<void> {
  await db.update(project).set({ walkRefusedAt: at }).where(eq(project.number, number));
}
