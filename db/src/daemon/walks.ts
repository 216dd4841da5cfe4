import { terminalStatuses } from '@keywarden/core/wire';
import { and, asc, eq, gte, inArray, isNull, lt, notInArray, or } from 'drizzle-orm';
import { operation, operationPruned, project } from '../schema/tables.ts';
import type { Db } from '../store.ts';

export interface WalkedProject {
  number: string;
  id: string;
  /** The control plane's time at the start of the last completed walk; null before the first. */
  walkedAt: string | null;
}

/** The projects of an organization that are there upstream, in a stable order. */
export async function listProjectsToWalk(
  db: Db,
  { controlPlane, organizationId }: { controlPlane: string; organizationId: string },
): Promise<WalkedProject[]> {
  return await db
    .select({ number: project.number, id: project.id, walkedAt: project.walkedAt })
    .from(project)
    .where(
      and(
        eq(project.controlPlaneNumber, controlPlane),
        eq(project.organizationId, organizationId),
        isNull(project.missingSince),
      ),
    )
    .orderBy(asc(project.number));
}

/** Statuses of work that is going on. The others that are not terminal may be final after all. */
const activeStatuses = ['scheduling', 'running', 'cancelling'];

/**
 * Operations of a project that a walk no longer reads again and that may still change (A4): those going on, and those of any
 * other status that is not terminal while they have not been still since `stillSince`. They are asked for by id; those that
 * the control plane no longer serves are left out.
 */
export async function listOpenOperations(
  db: Db,
  {
    project: projectNumber,
    before,
    stillSince,
    limit,
  }: { project: string; before: string; stillSince: string; limit: number },
): Promise<{ id: string; createdAt: string }[]> {
  const pruned = and(
    eq(operationPruned.projectNumber, operation.projectNumber),
    eq(operationPruned.createdAt, operation.createdAt),
    eq(operationPruned.id, operation.id),
  );
  return await db
    .select({ id: operation.id, createdAt: operation.createdAt })
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
    .orderBy(asc(operation.createdAt), asc(operation.id))
    .limit(limit);
}
