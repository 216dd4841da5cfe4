import { ControlPlaneError, hasCode } from '@keywarden/core/client';
import { countOf } from '@keywarden/core/values';
import { otherKinds } from '@keywarden/core/wire';
import { endCredentialsOfGoneProjects } from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import { type Context, withProcessLock } from '../context.ts';
import { assertSaneClock, controlPlaneNow } from '../control-plane-clock.ts';
import { assertAllOrganizations, syncProjects } from './discover.ts';
import { eachProject, isOfOneProject, isOutage } from './failures.ts';
import { add, type Counts, recordRun } from './run.ts';
import { listScope, type ProjectScope, scopeLock } from './scopes.ts';

/**
 * Runs one pass over all credentials, except API keys, of the projects that a connection sees. A forbidden list, or one that the service
 * does not have, concludes nothing. One project's failure does not stop the others.
 */
export async function syncCredentials(context: Context, connection: Connection): Promise<Counts> {
  const part = context.progress.part(`credentials of ${connection.name}`, 'projects');
  const counts = await recordRun(context, { connection, kind: 'credentials' }, async (context, run, counts) => {
    assertSaneClock(connection);
    const { shown, failed } = await syncProjects(context, connection, counts);
    const projects = shown.flatMap(({ organizationId, projectIds }) =>
      projectIds.map((projectId): ProjectLocation => ({ organizationId, projectId })),
    );
    Object.assign(counts, { projects: projects.length, credentials: 0 });
    const failures = await eachProject(context, projects, {
      idOf: ({ projectId }) => projectId,
      work: async (project) => await syncProject(context, connection, { ...project, run, counts }),
      isOfOne: isOfOneList,
      onDone: (done) => part.update(done, projects.length),
    });
    await endCredentialsOfGoneProjects(context.store.sql, {
      controlPlane: connection.controlPlane,
      seenAt: controlPlaneNow(connection),
      run,
      lease: context.lease,
    });
    assertAllOrganizations(connection, failed);
    if (failures.length > 0)
      throw new UserError(
        'incomplete',
        `The credentials of ${failures.length} of ${countOf(projects.length, 'project')} of connection ${connection.name} could not be listed; the log names them. The others are stored, and the next sync tries again.`,
      );
  });
  const hidden =
    counts.hidden_lists === undefined ? '' : `, ${countOf(counts.hidden_lists, 'list')} hidden from this credential`;
  part.end(`${countOf(counts.credentials ?? 0, 'credential')} in ${countOf(counts.projects ?? 0, 'project')}${hidden}`);
  return counts;
}

type ProjectLocation = Omit<ProjectScope, 'kind'>;

async function syncProject(
  context: Context,
  connection: Connection,
  { run, counts, ...place }: ProjectLocation & { run: string; counts: Counts },
): Promise<void> {
  let failure: { error: unknown } | undefined;
  for (const kind of otherKinds) {
    const scope = { kind, ...place };
    try {
      const { keys, whySuspect } = await withProcessLock(context, scopeLock(connection.controlPlane, scope), (leased) =>
        listScope(leased, connection, { scope, run }),
      );
      add(counts, 'credentials', keys.length);
      if (whySuspect === null) continue;
      add(counts, 'suspect_listings');
      context.log.warn({ scope, whySuspect }, 'a listing of credentials is suspect; it proves no absence');
    } catch (error) {
      if (isHidden(error)) add(counts, 'hidden_lists');
      // One list's failure does not stop the others.
      else if (isOutage(error) || !isOfOneList(error)) throw error;
      else failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}

const isOfOneList = (error: unknown) => error instanceof UserError || isOfOneProject(error);

/** Returns whether the credential may not read the list, or the service has no such list (501). That concludes nothing about what exists. */
const isHidden = (error: unknown) =>
  hasCode(error, 'forbidden', 'not_found') || (error instanceof ControlPlaneError && error.status === 501);
