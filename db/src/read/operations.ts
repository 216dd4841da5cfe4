import { and, desc, eq, gte, inArray, lt, sql } from 'drizzle-orm';
import { operation, project } from '../schema/tables.ts';
import type { Db } from '../store.ts';
import { afterPosition, type PageRequest } from './keyset.ts';

export interface OperationFilter {
  projectId?: string | undefined;
  branchId?: string | undefined;
  endpointId?: string | undefined;
  action?: string | undefined;
  status?: string | undefined;
  /** created_at from this instant on. */
  from?: string | undefined;
  /** created_at before this instant. */
  to?: string | undefined;
}

/**
 * The control plane's time of the last completed walk that came down to the row, or past it: the row was served then (A6). Rows of the
 * very time at which a walk stopped above the list's end may have been left out. To the day, for walks are remembered so.
 */
const lastSeenUpstreamAt = sql<string | null>`(select max(w.began_at) from keywarden.completed_walk w
  where w.project_number = ${operation.projectNumber} and w.began_at >= ${operation.createdAt}
    and (w.reached < ${operation.createdAt} or (w.to_end and w.reached = ${operation.createdAt})))`.mapWith(
  operation.createdAt,
);

/** Operations, newest first, over all projects or one. */
export async function listOperations(
  db: Db,
  { filter, organizations, page }: { filter: OperationFilter; organizations: string[] | null; page: PageRequest },
) {
  return await db
    .select({ operation, projectId: project.id, organizationId: project.organizationId, lastSeenUpstreamAt })
    .from(operation)
    .innerJoin(project, eq(project.number, operation.projectNumber))
    .where(
      and(
        filter.projectId === undefined ? undefined : inArray(operation.projectNumber, numbersOf(db, filter.projectId)),
        filter.branchId === undefined ? undefined : eq(operation.branchId, filter.branchId),
        filter.endpointId === undefined ? undefined : eq(operation.endpointId, filter.endpointId),
        filter.action === undefined ? undefined : eq(operation.action, filter.action),
        filter.status === undefined ? undefined : eq(operation.status, filter.status),
        filter.from === undefined ? undefined : gte(operation.createdAt, filter.from),
        filter.to === undefined ? undefined : lt(operation.createdAt, filter.to),
        organizations === null ? undefined : inArray(project.organizationId, organizations),
        afterPosition(
          [
            [operation.createdAt, 'timestamptz'],
            [operation.projectNumber, 'bigint'],
            [operation.id, 'uuid'],
          ],
          'desc',
          page.after,
        ),
      ),
    )
    .orderBy(desc(operation.createdAt), desc(operation.projectNumber), desc(operation.id))
    .limit(page.limit);
}

/** A project's id may stand for several: ids can repeat between control planes. */
function numbersOf(db: Db, projectId: string) {
  return db.select({ number: project.number }).from(project).where(eq(project.id, projectId));
}
