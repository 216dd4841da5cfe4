import { collect, hasCode } from '@keywarden/core/client';
import { before, countOf, someOf, toMs } from '@keywarden/core/values';
import {
  listProjectsToWalk,
  listUnknownProjects,
  saveDeletedProjects,
  saveProjects,
  type WalkedProject,
} from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow, whyStale } from '../control-plane-clock.ts';
import { createOutageCount, failureInWords, isOfOneProject } from './failures.ts';
import { syncOrganizations } from './organizations.ts';
import { type Counts, keepRejected } from './run.ts';
import { servedMs } from './walk/proof.ts';

/** In ms: a walk goes down to a gap in the coverage once in this time. It is a little less than a day, because schedules are daily. */
const gapsEveryMs = 20 * 3_600_000;

/** One organization's projects, as a connection was just shown them, without those that claim another organization. */
interface ShownProjects {
  organizationId: string;
  projectIds: string[];
}

interface FailedOrganization {
  organizationId: string;
  error: unknown;
}

/** Lists and stores a connection's organizations and projects, and marks what is missing. An organization's failure stops no other. */
export async function syncProjects(
  context: Context,
  connection: Connection,
  counts: Counts,
): Promise<{ shown: ShownProjects[]; failed: FailedOrganization[] }> {
  const shown: ShownProjects[] = [];
  const failed: FailedOrganization[] = [];
  const countOutage = createOutageCount();
  for (const { id: organizationId } of await syncOrganizations(context, connection, counts)) {
    let projectIds: string[] = [];
    try {
      projectIds = await syncProjectsOf(context, connection, { organizationId, counts });
      countOutage(null);
    } catch (error) {
      if (!isOfOneProject(error)) throw error;
      countOutage(error);
      context.log.warn(
        { organization: organizationId, err: error },
        'the projects of an organization could not be read',
      );
      failed.push({ organizationId, error });
    }
    shown.push({ organizationId, projectIds });
  }
  const [first] = failed;
  // With nothing that could be read, there is no rest to go on with.
  if (first !== undefined && failed.length === shown.length) throw first.error;
  return { shown, failed };
}

/** Throws a UserError if the projects of an organization could not be listed or stored. */
export function assertAllOrganizations({ name }: Connection, failed: FailedOrganization[]): void {
  const [first] = failed;
  if (first === undefined) return;
  const names = failed.map(({ organizationId }) => organizationId);
  throw new UserError(
    'incomplete',
    `The projects of ${countOf(failed.length, 'organization')} of connection ${name} could not be read: ${someOf(names)} (${failureInWords(first.error)}). The others are stored, and the next sync tries again.`,
  );
}

/** Returns the ids of the organization's projects that the list showed. */
async function syncProjectsOf(
  context: Context,
  connection: Connection,
  { organizationId, counts }: { organizationId: string; counts: Counts },
): Promise<string[]> {
  const { store, signal } = context;
  const { client, controlPlane } = connection;
  const seenAt = controlPlaneNow(connection);
  const begunMs = connection.time.now();
  const answer = await collect(client.projects(organizationId, { signal }));
  // Coverage begins at a project's creation. An impossible creation time is not stored, and the project is kept all the same.
  const { possible = [], others = [] } = Object.groupBy(answer.items, ({ createdAt }) =>
    isPossible(createdAt, toMs(seenAt)) ? 'possible' : 'others',
  );
  const { rejected } = answer;
  await keepRejected(context, connection, { list: 'projects', place: organizationId, rejected, counts });
  const unavailableIds = [...answer.unavailableIds, ...[...others, ...rejected].flatMap(({ id }) => id ?? [])];
  const isWhole = rejected.every(({ id }) => id !== null);
  // A cached response concludes nothing about which projects exist.
  if (whyStale(connection, { ...answer, begunMs }) === null) {
    await saveProjects(store.sql, { controlPlane, seenAt, organizationId, unavailableIds, isWhole }, possible);
    await keepUnknown(context, connection, {
      organizationId,
      counts,
      ids: [...answer.unavailableIds, ...others.map(({ id }) => id)],
    });
    const there = new Set([...possible.map(({ id }) => id), ...unavailableIds]);
    if (isWhole) await discoverDeleted(context, connection, { organizationId, seenAt, there });
  }
  const own = possible.filter(({ orgId }) => (orgId ?? organizationId) === organizationId);
  return own.map(({ id }) => id);
}

/** Stores projects that a list names, but none has shown with a possible time, like rows that cannot be read: nothing else shows that they exist. */
async function keepUnknown(
  context: Context,
  connection: Connection,
  { organizationId, counts, ids }: { organizationId: string; counts: Counts; ids: string[] },
): Promise<void> {
  if (ids.length === 0) return;
  const unknown = await listUnknownProjects(context.store.db, { controlPlane: connection.controlPlane, ids });
  const why = 'a list of projects names it, but none has shown it with a possible time';
  const rejected = unknown.map((id) => ({ id, why, record: { id } }));
  await keepRejected(context, connection, { list: 'projects', place: organizationId, rejected, counts });
}

/** Reads the projects that a connection sees, as `syncProjects` does. Returns those to walk, in walking order. */
export async function discoverProjects(
  context: Context,
  connection: Connection,
  counts: Counts = {},
): Promise<{ projects: WalkedProject[]; failed: FailedOrganization[] }> {
  const { store } = context;
  const { controlPlane } = connection;
  const { shown, failed } = await syncProjects(context, connection, counts);
  const organizationIds = shown.map(({ organizationId }) => organizationId);
  const now = controlPlaneNow(connection);
  const since = { servedSince: before(now, servedMs), triedSince: before(now, gapsEveryMs) };
  const overlapMs = context.config.operations.overlap.ms;
  const projects = await listProjectsToWalk(store.db, { controlPlane, organizationIds, overlapMs, ...since });
  return { projects, failed };
}

/**
 * Finds projects that were created and deleted between two passes: only the list of recoverable projects shows them. `there` holds the
 * projects that the list of projects showed at `seenAt`, or left out as unavailable. An outdated list of deleted projects does not override
 * it. A service may not have such a list.
 */
async function discoverDeleted(
  { store, signal }: Context,
  connection: Connection,
  { organizationId, seenAt, there }: { organizationId: string; seenAt: string; there: ReadonlySet<string> },
): Promise<void> {
  const { client, controlPlane } = connection;
  const begunMs = connection.time.now();
  const answer = await collect(client.projects(organizationId, { recoverable: true, signal })).catch(
    (error: unknown) => {
      // A service that does not offer the list, or not now.
      if (hasCode(error, 'rejected', 'forbidden', 'not_found', 'invalid_response', 'unavailable')) return null;
      throw error;
    },
  );
  if (answer === null || whyStale(connection, { ...answer, begunMs }) !== null) return;
  const nowMs = toMs(seenAt);
  const deleted = answer.items.filter(({ id, orgId, createdAt, deletedAt }) => {
    if (deletedAt === undefined || there.has(id) || (orgId ?? organizationId) !== organizationId) return false;
    return isPossible(createdAt, nowMs) && isPossible(deletedAt, nowMs) && toMs(deletedAt) >= toMs(createdAt);
  });
  await saveDeletedProjects(store.sql, { controlPlane, seenAt, organizationId }, deleted);
}

const firstMs = Date.parse('2000-01-01T00:00:00Z');
const aheadMs = 300_000;

function isPossible(createdAt: string, nowMs: number): boolean {
  return toMs(createdAt) >= firstMs && toMs(createdAt) <= nowMs + aheadMs;
}
