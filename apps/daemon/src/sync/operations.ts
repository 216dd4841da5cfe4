import { ControlPlaneError, collect, type ProjectPage } from '@keywarden/core/client';
import { codeOf, UserError } from '@keywarden/core/process';
import { toMs, type WireOperation } from '@keywarden/core/wire';
import {
  ensureOperationPartitions,
  listOpenOperations,
  listProjectsToWalk,
  markOperationPruned,
  saveOperationPage,
  saveProjects,
  type WalkedProject,
} from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import { type Connection, datedAt } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf, syncOrganizations } from './organizations.ts';
import { add, type Counts, recordRun } from './run.ts';
import { floorOf, walkOperations } from './walk.ts';

const dayMs = 86_400_000;
/** Projects walked at once: enough to keep the control plane and the store both busy. */
const concurrency = 4;
/** An operation that failed is followed until it has been still for this long. */
const followMs = 7 * dayMs;
const openOperationsAtOnce = 500;

/** One pass over the operations of every project that a connection sees. */
export async function syncOperations(context: Context, connection: Connection): Promise<Counts> {
  const startedMs = Date.now();
  const part = context.progress.part(`operations of ${connection.name}`, 'projects');
  const counts = await recordRun(context, { connection, kind: 'operations' }, async (_run, counts) => {
    const projects = await discoverProjects(context, connection);
    counts.projects = projects.length;
    counts.operations = 0;
    let done = 0;
    const failures: unknown[] = [];
    await eachAtOnce(projects, async (project) => {
      context.signal.throwIfAborted();
      try {
        await syncProject(context, { connection, project, counts });
      } catch (error) {
        if (!isOfOneProject(error)) throw error;
        failures.push(error);
      }
      done += 1;
      const rows = counts.operations ?? 0;
      const rate = Math.round(rows / ((Date.now() - startedMs) / 1000));
      part.update(done, projects.length, `${rows} rows, ${rate} rows/s`);
    });
    if (failures.length > 0) throw describeFailures(failures, projects.length);
  });
  const { operations = 0, inserted = 0, changed = 0, projects = 0 } = counts;
  part.end(`${operations} read in ${projects} projects: ${inserted} new, ${changed} changed${unprovedInWords(counts)}`);
  return counts;
}

async function discoverProjects({ store, signal }: Context, connection: Connection): Promise<WalkedProject[]> {
  const { client, controlPlane } = connection;
  const projects: WalkedProject[] = [];
  for (const { id: organizationId } of await syncOrganizations(store.sql, connection, { signal })) {
    const seenAt = presentOf(connection);
    const unavailableIds: string[] = [];
    const { items } = await collect(noteUnavailable(client.projects(organizationId, { signal }), unavailableIds));
    await saveProjects(store.sql, { controlPlane, seenAt, organizationId, unavailableIds }, items);
    projects.push(...(await listProjectsToWalk(store.db, { controlPlane, organizationId })));
  }
  return projects;
}

async function* noteUnavailable(pages: AsyncIterable<ProjectPage>, into: string[]): AsyncGenerator<ProjectPage> {
  for await (const page of pages) {
    into.push(...page.unavailableIds);
    yield page;
  }
}

async function syncProject(
  { store, signal }: Context,
  { connection, project, counts }: { connection: Connection; project: WalkedProject; counts: Counts },
): Promise<void> {
  const floor = floorOf(project.walkedAt);
  const save = async (operations: WireOperation[], walkedAt?: string) => {
    await ensurePartitions(store.sql, operations);
    const { inserted, changed } = await saveOperationPage(store.sql, { project: project.number, operations, walkedAt });
    add(counts, 'operations', operations.length);
    add(counts, 'inserted', inserted);
    add(counts, 'changed', changed);
  };
  const walk = {
    projectId: project.id,
    floor,
    signal,
    datedAt: (dateMs: number | null) => datedAt(connection, dateMs),
  };
  for await (const page of walkOperations(connection.client, walk)) {
    await save(page.operations, page.walkedAt);
    if (page.unprovedAt !== undefined) add(counts, 'unproved_instants');
  }
  if (floor === null) return;
  const stillSince = new Date(Date.now() + connection.skewMs - followMs).toISOString();
  const open = { project: project.number, before: floor, stillSince, limit: openOperationsAtOnce };
  for (const { id, createdAt } of await listOpenOperations(store.db, open)) {
    const operation = await connection.client.operation(project.id, id, { signal }).catch((error: unknown) => {
      if (error instanceof ControlPlaneError && error.code === 'not_found') return undefined;
      throw error;
    });
    if (operation) await save([operation]);
    else await markOperationPruned(store.sql, { project: project.number, createdAt, id });
  }
}

const madePartitions = new WeakMap<Sql, Set<string>>();

/** Makes the partitions of a page's months, once a store and range of months. */
async function ensurePartitions(sql: Sql, operations: WireOperation[]): Promise<void> {
  const byTime = operations.map((each) => each.createdAt).toSorted((a, b) => toMs(a) - toMs(b));
  const [first, last] = [byTime[0], byTime.at(-1)];
  if (first === undefined || last === undefined) return;
  const made = madePartitions.get(sql) ?? new Set();
  madePartitions.set(sql, made);
  const months = `${first.slice(0, 7)} ${last.slice(0, 7)}`;
  if (made.has(months)) return;
  await ensureOperationPartitions(sql, { first, last });
  made.add(months);
}

/** Works on several items at once; the first failure stops the rest, and is thrown when all have stopped. */
async function eachAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  let hasFailed = false;
  const ends = await Promise.allSettled(
    Array.from({ length: concurrency }, async () => {
      for (const item of queue) {
        if (hasFailed) return;
        await work(item).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      }
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/**
 * A project's failure does not stop the others: what its answers are, or a row that Postgres refuses (class 22). A credential's
 * failure, an outage, and the end of this process do (R7).
 */
function isOfOneProject(error: unknown): boolean {
  if (error instanceof ControlPlaneError)
    return ['forbidden', 'not_found', 'rejected', 'locked', 'invalid_response', 'unavailable'].includes(error.code);
  return codeOf(error).startsWith('22');
}

function describeFailures(failures: unknown[], total: number): UserError {
  const [first] = failures;
  const word = first instanceof ControlPlaneError ? first.message : `the store refuses a row: ${codeOf(first)}`;
  return new UserError(
    `The operations of ${failures.length} of ${total} projects could not be read whole (${word}); the others are stored, and the next sync tries again.`,
  );
}

function unprovedInWords({ unproved_instants: unproved = 0 }: Counts): string {
  return unproved > 0 ? `, ${unproved} instants not proved whole` : '';
}
