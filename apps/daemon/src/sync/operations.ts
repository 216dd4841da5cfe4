import { hasCode } from '@keywarden/core/client';
import { countOf, someOf } from '@keywarden/core/values';
import { makePartitionsAhead, markWalkRefused } from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { assertSaneClock, controlPlaneNow } from '../control-plane-clock.ts';
import { assertAllOrganizations, discoverProjects } from './discover.ts';
import { eachProject, type Failure, failureInWords, isOfOneProject } from './failures.ts';
import { guardedSteps, syncProject } from './project-operations.ts';
import { add, type Counts, recordRun } from './run.ts';
import { createSealer, type Sealer } from './sealing.ts';

/** Runs one pass over the operations of every project that a connection sees, starting with those that have news. */
export async function syncOperations(context: Context, connection: Connection, steps = guardedSteps): Promise<Counts> {
  const sealer = createSealer(context, steps.sealDays);
  try {
    return await readOperations(context, { connection, steps, sealer });
  } finally {
    await sealer.finish();
  }
}

async function readOperations(
  context: Context,
  { connection, steps, sealer }: { connection: Connection; steps: typeof guardedSteps; sealer: Sealer },
): Promise<Counts> {
  const part = context.progress.part(`operations of ${connection.name}`, 'projects');
  const requestsBefore = connection.requests();
  const counts = await recordRun(context, { connection, kind: 'operations' }, async (context, _run, counts) => {
    assertSaneClock(connection);
    await makePartitionsAhead(context.store.sql, controlPlaneNow(connection));
    const { projects, failed } = await discoverProjects(context, connection, counts);
    Object.assign(counts, { projects: projects.length, operations: 0, inserted: 0, changed: 0 });
    const say = paceOf(connection, { counts, total: projects.length });
    const seen = { largestPage: 0 };
    const show = async (done: number) => part.update(done, projects.length, await say(done));
    await show(0);
    const failures = await eachProject(context, projects, {
      idOf: ({ id }) => id,
      async work(project) {
        try {
          await syncProject(context, { connection, project, counts, steps, seen });
          sealer.add(project.number);
        } catch (error) {
          if (!hasVanished(project, error)) throw error;
          // The project was deleted since its listing, or is hidden: its coverage ends with its last completed walk.
          add(counts, 'vanished_projects');
          // A lock passes, so the next pass requests them again.
          if (project.deletedAt !== null && !hasCode(error, 'locked'))
            await markWalkRefused(context.store.db, { project: project.number, at: controlPlaneNow(connection) });
        }
      },
      isOfOne: isOfOneProject,
      onDone: show,
    });
    counts.requests = connection.requests() - requestsBefore;
    if (failures.length > 0) throw describeFailures(failures, projects.length);
    assertAllOrganizations(connection, failed);
  });
  part.end(summaryOf(counts));
  return counts;
}

/** Returns what the progress shows: the rows, their rate, the requests left in this minute's share, and the expected end. */
function paceOf(connection: Connection, { counts, total }: { counts: Counts; total: number }) {
  const startedMs = performance.now();
  return async (done: number): Promise<string> => {
    const seconds = (performance.now() - startedMs) / 1000;
    const rows = counts.operations ?? 0;
    const left = await connection.limiter.left();
    return [
      `${countOf(rows, 'row')}, ${Math.round(rows / Math.max(seconds, 0.001))} rows/s`,
      ...(left === null ? [] : [`${countOf(left, 'request')} left this minute`]),
      ...(done > 0 ? [`ends in ${inWords((seconds / done) * (total - done))}`] : []),
    ].join(', ');
  };
}

function inWords(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}

/** Returns whether an error means that a project has no readable operations. For a deleted project a service may respond in several ways. */
const hasVanished = ({ deletedAt }: { deletedAt: string | null }, error: unknown) =>
  hasCode(error, 'not_found') || (deletedAt !== null && hasCode(error, 'forbidden', 'rejected', 'locked'));

function describeFailures(failures: Failure[], total: number): UserError {
  const [first] = failures;
  const names = failures.map(({ project }) => project);
  return new UserError(
    'incomplete',
    `The operations of ${failures.length} of ${countOf(total, 'project')} could not be read completely: ${someOf(names)} (${failureInWords(first?.error)}). The others are stored, and the next sync tries again.`,
  );
}

function summaryOf({
  operations = 0,
  inserted = 0,
  changed = 0,
  projects = 0,
  requests = 0,
  vanished_projects: vanished = 0,
  unproved_instants: unproved = 0,
}: Counts): string {
  return [
    `${operations} read in ${countOf(projects, 'project')} by ${countOf(requests, 'request')}: ${inserted} new, ${changed} changed`,
    ...(vanished > 0 ? [`${countOf(vanished, 'project')} vanished meanwhile`] : []),
    ...(unproved > 0 ? [`${countOf(unproved, 'instant')} not proved complete (keywarden coverage lists them)`] : []),
  ].join(', ');
}
