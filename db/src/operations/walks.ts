import { terminalStatuses } from '@keywarden/core/wire';
import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt, notInArray, or, sql as raw } from 'drizzle-orm';
import { openWalk, operation, operationPruned } from '../schema/operations.ts';
import { project } from '../schema/projects.ts';
import type { Db, Sql } from '../sql.ts';

/** Where a walk goes on that has not come to its end: the next page's cursor, and the time of the row that it is of. */
export interface OpenWalk {
  beganAt: string;
  floor: string | null;
  cursor: string;
  below: string;
}

export interface WalkedProject {
  number: string;
  id: string;
  createdAt: string;
  /** The control plane's time at the start of the last completed walk; null before the first. */
  walkedAt: string | null;
  openWalk: OpenWalk | null;
  /** When the control plane deleted it; null for one that is there. */
  deletedAt: string | null;
  /** Where the oldest hole of its coverage begins that a walk may fill, and that none has passed of late; null where there is none. */
  holeAt: string | null;
}

/**
 * The projects of these organizations that are there upstream, and those deleted since their last walk, in the order in which to ask them: those whose list entry has changed
 * since their last walk, then those whose last walk is the longest ago.
 */
export async function listProjectsToWalk(
  db: Db,
  {
    controlPlane,
    organizationIds,
    servedSince,
    triedSince,
    overlapMs,
  }: {
    controlPlane: string;
    organizationIds: string[];
    /** Older operations are not served any more. */
    servedSince: string;
    /** Holes that a walk has looked for since then are left for another day. */
    triedSince: string;
    /** Every walk goes so far below where the one before began. */
    overlapMs: number;
  },
): Promise<WalkedProject[]> {
  // Below where a list has ended nothing is served any more; what a walk read and could not claim is looked for above and below what is known.
  const endedAt = raw`(select max(e.reached) from keywarden.completed_walk e where e.project_number = ${project.number} and e.to_end)`;
  const holeAt = raw<string | null>`(
    select to_json(lower(holes) at time zone 'UTC')#>>'{}' || 'Z' from (
      select tstzmultirange(tstzrange(least(bottom, top), top, '[)')) - known as holes from (
        select coalesce(c.known, '{}') as known,
          greatest(upper(c.known), ${project.walkedAt} - ${overlapMs / 1000} * interval '1 second') as top,
          greatest(${endedAt}, ${project.createdAt}, ${servedSince}::timestamptz) as bottom
        from (select 1) one left join keywarden.operation_coverage c on c.project_number = ${project.number}
      ) bounds
    ) found
    where ${project.walkedAt} is not null and not isempty(holes)
      and (${project.holeTriedAt} is null or ${project.holeTriedAt} < ${triedSince}::timestamptz))`;
  // Perhaps the operations of a deleted project are served for a while.
  const isUnwalkedSinceDeletion = and(
    isNotNull(project.deletedAt),
    isNull(project.walkRefusedAt),
    or(isNull(project.walkedAt), lt(project.walkedAt, project.deletedAt)),
  );
  const isActive = raw`(${project.walkedAt} is null or coalesce(${project.listedActiveAt} > ${project.walkedAt}, false))`;
  const rows = await db
    .select({
      number: project.number,
      id: project.id,
      createdAt: project.createdAt,
      walkedAt: project.walkedAt,
      deletedAt: project.deletedAt,
      openWalk: { beganAt: openWalk.beganAt, floor: openWalk.floor, cursor: openWalk.cursor, below: openWalk.below },
      holeAt,
    })
    .from(project)
    .leftJoin(openWalk, eq(openWalk.projectNumber, project.number))
    .where(
      and(
        eq(project.controlPlaneNumber, controlPlane),
        inArray(project.organizationId, organizationIds),
        or(isNull(project.missingSince), isUnwalkedSinceDeletion),
      ),
    )
    .orderBy(desc(isActive), raw`${project.walkedAt} nulls first`, asc(project.number));
  return rows;
}

/** A walk goes down for the holes of a project's coverage, at this time of the control plane. */
export async function markHolesTried(db: Db, { project: number, at }: { project: string; at: string }): Promise<void> {
  await db.update(project).set({ holeTriedAt: at }).where(eq(project.number, number));
}

/** The next walk begins at the newest operation: the page where the open one stands cannot be had. */
export async function forgetOpenWalk(sql: Sql, projectNumber: string): Promise<void> {
  await sql`select keywarden.forget_open_walk(${projectNumber})`;
}

/** Statuses of work that is going on. The others that are not terminal may be final after all. */
const activeStatuses = ['scheduling', 'running', 'cancelling'];

export interface OpenOperation {
  id: string;
  createdAt: string;
  /** How many stored operations of the project are as young or younger: a walk that reads so many sees this one. */
  depth: number;
}

/**
 * Operations of a project that a walk no longer reads again and that may still change (A4): those going on, and those of any
 * other status that is not terminal while they have not been still since `stillSince`; youngest first. Those that the control plane no
 * longer serves are left out. Depths are counted up to `maxDepth`.
 */
export async function listOpenOperations(
  db: Db,
  {
    project: projectNumber,
    before,
    stillSince,
    limit,
    maxDepth,
  }: { project: string; before: string; stillSince: string; limit: number; maxDepth: number },
): Promise<OpenOperation[]> {
  const pruned = and(
    eq(operationPruned.projectNumber, operation.projectNumber),
    eq(operationPruned.projectNumber, projectNumber),
    eq(operationPruned.createdAt, operation.createdAt),
    eq(operationPruned.id, operation.id),
  );
  const depth = raw<number>`(select count(*)::int from (select 1 from keywarden.operation younger
    where younger.project_number = ${projectNumber} and younger.created_at >= ${operation}.created_at limit ${maxDepth}) counted)`;
  return await db
    .select({ id: operation.id, createdAt: operation.createdAt, depth })
    .from(operation)
    .leftJoin(operationPruned, pruned)
    .where(
      and(
        eq(operation.projectNumber, projectNumber),
        lt(operation.createdAt, before),
        notInArray(operation.status, [...terminalStatuses]),
        or(inArray(operation.status, activeStatuses), gte(operation.updatedAt, stillSince)),
        isNull(operationPruned.id),
      ),
    )
    .orderBy(desc(operation.createdAt), asc(operation.id))
    .limit(limit);
}

/** How many operations of a project the store has from an instant on; counted up to `max`. */
export async function countOperationsSince(
  sql: Sql,
  { project: projectNumber, since, max }: { project: string; since: string; max: number },
): Promise<number> {
  const [row] = await sql`
    select count(*)::int as n from (select 1 from keywarden.operation
      where project_number = ${projectNumber} and created_at >= ${since}::timestamptz limit ${max}) counted`;
  return Number(row?.n);
}

/**
 * Whether a walk has come to the end of the project's list, and these operations, by id, are all that the store has since then, the oldest of them
 * inside the coverage. What the control plane stopped to serve is left out.
 */
export async function isAllToTheEnd(
  sql: Sql,
  { project: projectNumber, since, ids }: { project: string; since: string; ids: string[] },
): Promise<boolean> {
  const [row] = await sql`
    with stored as (
      select id, created_at from keywarden.operation o where project_number = ${projectNumber} and created_at >= ${since}::timestamptz
        and not exists (select from keywarden.operation_pruned p
          where p.project_number = o.project_number and p.created_at = o.created_at and p.id = o.id)
    )
    select exists (select from keywarden.completed_walk where project_number = ${projectNumber} and to_end)
      and exists (select from keywarden.operation_coverage
        where project_number = ${projectNumber} and known @> (select min(created_at) from stored))
      and not exists (select from stored where id <> all (${ids}::uuid[])) as is_all`;
  return Boolean(row?.is_all);
}
