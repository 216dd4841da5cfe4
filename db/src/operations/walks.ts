import { terminalStatuses } from '@keywarden/core/wire';
import { and, asc, desc, eq, gte, isNotNull, isNull, lt, or, sql as raw } from 'drizzle-orm';
import { openWalk, operation, operationPruned } from '../schema/operations.ts';
import { project } from '../schema/projects.ts';
import { anyOf, builderOf, type Db, hasValues, isTrue, noneOf, type Sql } from '../sql.ts';

/** The position where an unfinished walk continues: the next page's cursor, and the time of the row that it points to. */
export type OpenWalk = Omit<typeof openWalk.$inferSelect, 'projectNumber'>;

export interface WalkedProject
  extends Pick<typeof project.$inferSelect, 'number' | 'id' | 'createdAt' | 'walkedAt' | 'deletedAt'> {
  openWalk: OpenWalk | null;
  /** The start of the oldest fillable gap in its coverage that no recent walk has passed; null if there is none. */
  gapAt: string | null;
}

/**
 * Lists these organizations' projects that exist at the control plane, and those deleted since their last walk, in walking order. Projects
 * whose list entry has changed since their last walk come first. Then come those whose last walk was longest ago.
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
    /** Older operations are no longer served. */
    servedSince: string;
    /** Holes that a walk has looked for since then are skipped for now. */
    triedSince: string;
    /** Every walk continues this far below the start of the previous one. */
    overlapMs: number;
  },
): Promise<WalkedProject[]> {
  // Nothing is served below the point where a list has ended. What a walk read and could not claim is looked for above and below the
  // coverage.
  const endedAt = raw`(select max(e.reached) from keywarden.completed_walk e where e.project_number = ${project.number} and e.to_end)`;
  const gapAt = raw<string | null>`(
    select to_json(lower(gaps) at time zone 'UTC')#>>'{}' || 'Z' from (
      select tstzmultirange(tstzrange(least(bottom, top), top, '[)')) - known as gaps from (
        select coalesce(covered.known, '{}') as known,
          greatest(upper(covered.known), ${project.walkedAt} - ${overlapMs / 1000} * interval '1 second') as top,
          greatest(${endedAt}, ${project.createdAt}, ${servedSince}::timestamptz) as bottom
      ) bounds
    ) found
    where ${project.walkedAt} is not null and not isempty(gaps)
      and (${project.gapTriedAt} is null or ${project.gapTriedAt} < ${triedSince}::timestamptz))`;
  // The control plane may serve the operations of a deleted project for a while.
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
      openWalk: {
        beganAt: raw<string>`walk.began_at`.mapWith(openWalk.beganAt),
        floor: raw<string | null>`walk.floor`.mapWith(openWalk.floor),
        cursor: raw<string | null>`walk.cursor`,
        below: raw<string>`walk.below`.mapWith(openWalk.below),
      },
      gapAt,
    })
    .from(project)
    // Both are cut first for a cluster (docs/adr/0017).
    .leftJoin(
      raw`(select project_number, known from keywarden.operation_coverage offset 0) covered`,
      raw`covered.project_number = ${project.number}`,
    )
    .leftJoin(
      raw`(select project_number, began_at, floor, cursor, below from keywarden.open_walk offset 0) walk`,
      raw`walk.project_number = ${project.number}`,
    )
    .where(
      and(
        eq(project.controlPlaneNumber, controlPlane),
        anyOf(project.organizationId, organizationIds),
        or(isNull(project.missingSince), isUnwalkedSinceDeletion),
      ),
    )
    .orderBy(desc(isActive), raw`${project.walkedAt} nulls first`, asc(project.number));
  return rows.map(({ openWalk: { cursor, ...walk }, ...row }) => ({
    ...row,
    openWalk: cursor === null ? null : { cursor, ...walk },
  }));
}

/** Records that a walk looks for the gaps of a project's coverage, at this time of the control plane. */
export async function markGapsTried(db: Db, { project: number, at }: { project: string; at: string }): Promise<void> {
  await db.update(project).set({ gapTriedAt: at }).where(eq(project.number, number));
}

/** Makes the next walk begin at the newest operation, because the next page of the open walk cannot be read. */
export async function forgetOpenWalk(sql: Sql, projectNumber: string): Promise<void> {
  await sql`select keywarden.forget_open_walk(${projectNumber})`;
}

/** Statuses of work that is going on. Any other nonterminal status may still be final. */
const activeStatuses = ['scheduling', 'running', 'cancelling'];

export interface OpenOperation {
  id: string;
  createdAt: string;
  /** How many stored operations of the project are as young or younger. A walk that reads this many sees this operation. */
  depth: number;
}

/**
 * Lists operations of a project that walks no longer read and that may still change (A4), youngest first. Included are active operations.
 * Included are also those of any other nonterminal status that have changed since `stillSince`. Operations that the control plane no longer
 * serves are left out. Depths are counted up to `maxDepth`. Of more than `limit`, it takes the youngest half, and others by chance: each has its turn in
 * later passes.
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
  const { createdAt, id } = operation;
  const pruned = and(
    eq(operationPruned.projectNumber, operation.projectNumber),
    hasValues(operationPruned, { projectNumber, createdAt, id }),
  );
  const open = db
    .select({
      id: operation.id,
      createdAt: operation.createdAt,
      place: raw<number>`row_number() over (order by ${operation.createdAt} desc, ${operation.id})`.as('place'),
    })
    .from(operation)
    .leftJoin(operationPruned, pruned)
    .where(
      and(
        eq(operation.projectNumber, projectNumber),
        lt(operation.createdAt, before),
        noneOf(operation.status, terminalStatuses),
        or(anyOf(operation.status, activeStatuses), gte(operation.updatedAt, stillSince)),
        isNull(operationPruned.id),
      ),
    )
    .as('open');
  const isYoung = raw`${open.place} <= ${Math.ceil(limit / 2)}`;
  const chosen = db
    .select({ id: open.id, createdAt: open.createdAt })
    .from(open)
    .orderBy(raw`case when ${isYoung} then 0 else random() end`)
    .limit(limit)
    .as('chosen');
  const depth = raw<number>`(select count(*)::int from (select 1 from keywarden.operation younger
    where younger.project_number = ${projectNumber} and younger.created_at >= chosen.created_at limit ${maxDepth}) counted)`;
  return await db
    .select({ id: chosen.id, createdAt: chosen.createdAt, depth })
    .from(chosen)
    .orderBy(desc(chosen.createdAt), asc(chosen.id));
}

/** Counts a project's stored operations at or after an instant, up to `max`. */
export async function countOperationsSince(
  sql: Sql,
  { project: projectNumber, since, max }: { project: string; since: string; max: number },
): Promise<number> {
  const db = builderOf(sql);
  const counted = db
    .select({ id: operation.id })
    .from(operation)
    .where(and(eq(operation.projectNumber, projectNumber), gte(operation.createdAt, since)))
    .limit(max);
  return await db.$count(counted.as('counted'));
}

/**
 * Returns whether a walk has reached the end of the project's list and these operations, by id, are all that the store has since then. The
 * oldest of them must be inside the coverage. Operations that the control plane stopped serving are left out.
 */
export async function isAllToTheEnd(
  sql: Sql,
  { project: projectNumber, since, ids }: { project: string; since: string; ids: string[] },
): Promise<boolean> {
  return await isTrue(sql`
    with stored as (
      select id, created_at from keywarden.operation o where project_number = ${projectNumber} and created_at >= ${since}::timestamptz
        and ${isServed(sql)}
    )
    select exists (select from keywarden.completed_walk where project_number = ${projectNumber} and to_end)
      and exists (select from keywarden.operation_coverage
        where project_number = ${projectNumber} and known @> (select min(created_at) from stored))
      and not exists (select from stored where id <> all (${ids}::uuid[]))`);
}

/**
 * Returns whether the store has operations between two times, apart from those with these ids. Operations that the control plane stopped serving are left
 * out. The second of `below` is left out, because the digits of a time vary between answers.
 */
export async function hasOthersBetween(
  sql: Sql,
  { project: projectNumber, since, below, ids }: { project: string; since: string; below: string; ids: string[] },
): Promise<boolean> {
  return await isTrue(sql`
    select exists (select from keywarden.operation o
      where project_number = ${projectNumber} and created_at >= ${since}::timestamptz and created_at < date_trunc('second', ${below}::timestamptz)
        and id <> all (${ids}::uuid[]) and ${isServed(sql)})`);
}

/** SQL: whether the control plane still served the operation `o` when it was last asked for. */
const isServed = (sql: Sql) => sql`not exists (select from keywarden.operation_pruned p
  where p.project_number = o.project_number and p.created_at = o.created_at and p.id = o.id)`;
