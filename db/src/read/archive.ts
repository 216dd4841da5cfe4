import { and, asc, desc, eq, inArray, lt } from 'drizzle-orm';
import { operation, project } from '../schema/tables.ts';
import type { Db } from '../store.ts';
import { afterPosition, type PageRequest, type Position } from './keyset.ts';

/** Projects as the archive serves them, gone ones too, youngest first. */
export async function listArchivedProjects(
  db: Db,
  {
    organizationId,
    organizations,
    page,
  }: { organizationId: string | undefined; organizations: string[] | null; page: PageRequest },
) {
  return await db
    .select()
    .from(project)
    .where(
      and(
        organizationId === undefined ? undefined : eq(project.organizationId, organizationId),
        organizations === null ? undefined : inArray(project.organizationId, organizations),
        afterPosition(
          [
            [project.createdAt, 'timestamptz'],
            [project.number, 'bigint'],
          ],
          'desc',
          page.after,
        ),
      ),
    )
    .orderBy(desc(project.createdAt), desc(project.number))
    .limit(page.limit);
}

/** The project of an id that a token may see; of several control planes' the first seen. */
export async function findArchivedProject(
  db: Db,
  { id, organizations }: { id: string; organizations: string[] | null },
) {
  const [found] = await db
    .select({ number: project.number, id: project.id })
    .from(project)
    .where(and(eq(project.id, id), organizations === null ? undefined : inArray(project.organizationId, organizations)))
    .orderBy(asc(project.number))
    .limit(1);
  return found;
}

/** A project's operations, newest first, from a row of ours or, as the control plane's own cursors do, strictly below an instant. */
export async function listArchivedOperations(
  db: Db,
  {
    project: number,
    after,
    below,
    limit,
  }: { project: string; after: Position | null; below: string | null; limit: number },
) {
  return await db
    .select()
    .from(operation)
    .where(
      and(
        eq(operation.projectNumber, number),
        below === null ? undefined : lt(operation.createdAt, below),
        afterPosition(
          [
            [operation.createdAt, 'timestamptz'],
            [operation.id, 'uuid'],
          ],
          'desc',
          after,
        ),
      ),
    )
    .orderBy(desc(operation.createdAt), desc(operation.id))
    .limit(limit);
}
