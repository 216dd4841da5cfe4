import { collect, type ProjectPage } from '@keywarden/core/client';
import { listProjectsToWalk, saveProjects, type WalkedProject } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf, syncOrganizations } from './organizations.ts';

/**
 * Lists the organizations and projects that a connection sees, and stores them; what is missing is marked. Answers with the projects in
 * the order in which to walk them.
 */
export async function discoverProjects({ store, signal }: Context, connection: Connection): Promise<WalkedProject[]> {
  const { client, controlPlane } = connection;
  const organizationIds: string[] = [];
  for (const { id: organizationId } of await syncOrganizations(store.sql, connection, { signal })) {
    const seenAt = presentOf(connection);
    const unavailableIds: string[] = [];
    const { items } = await collect(noteUnavailable(client.projects(organizationId, { signal }), unavailableIds));
    await saveProjects(store.sql, { controlPlane, seenAt, organizationId, unavailableIds }, items);
    organizationIds.push(organizationId);
  }
  return await listProjectsToWalk(store.db, { controlPlane, organizationIds });
}

async function* noteUnavailable(pages: AsyncIterable<ProjectPage>, into: string[]): AsyncGenerator<ProjectPage> {
  for await (const page of pages) {
    into.push(...page.unavailableIds);
    yield page;
  }
}
