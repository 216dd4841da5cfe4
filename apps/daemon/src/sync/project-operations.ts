import { ControlPlaneError, hasCode } from '@keywarden/core/client';
import { before, compareInstants, roundedMicros } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import * as db from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow, datedAt, whyStale } from '../control-plane-clock.ts';
import { isOfOneProject } from './failures.ts';
import { add, type Counts, keepRejected } from './run.ts';
import { later } from './walk/digits.ts';
import { planWalk, type WalkPlan } from './walk/follow.ts';
import { CursorError, OverlapError } from './walk/page-checks.ts';
import { proofOf, servedMs } from './walk/proof.ts';
import { type Walk, type WalkedPage, walkOperations } from './walk/walk.ts';

/** The steps that read and write. A counter-test removes a guard from one of them; a benchmark leaves one out. */
export interface Steps {
  walkOperations: typeof walkOperations;
  saveOperationPage: typeof db.saveOperationPage;
  sealDays: typeof db.sealDays;
}

export const guardedSteps: Steps = { walkOperations, saveOperationPage: db.saveOperationPage, sealDays: db.sealDays };

/** The most unfinished operations of a project in one pass. Of more, later passes follow others. */
const openOperationsAtOnce = 500;

interface Task {
  connection: Connection;
  project: db.WalkedProject;
  counts: Counts;
  steps: Steps;
  seen: Walk['seen'];
}

/** Brings a project's archive up to date: resumes a walk, walks down from the newest operation, requests the unfinished ones below. */
export async function syncProject(context: Context, task: Task): Promise<void> {
  const { operations: settings } = context.config;
  const maxLimit = settings.page_limit;
  const { openWalk } = task.project;
  const walkedAt = openWalk === null ? task.project.walkedAt : await resume(context, task, openWalk);
  if (walkedAt === null) {
    await walk(context, task, { walkedAt, from: null, floor: null, firstLimit: maxLimit });
    return;
  }
  const floor = before(walkedAt, settings.overlap.ms);
  const open = await readOpen(context, task, floor);
  const recent = await countRecent(context, task, floor);
  const usual = planWalk({ floor, recent, open, maxLimit });
  const plan = deepened(task.project, { plan: usual, maxLimit });
  if (plan !== usual)
    await db.markGapsTried(context.store.db, { project: task.project.number, at: controlPlaneNow(task.connection) });
  const waiting = new Map(open.map((operation) => [operation.id, operation]));
  await walk(context, task, {
    walkedAt,
    from: null,
    ...plan,
    // The rows that a gap lacks are below a stored row, or beside it.
    ...(plan === usual ? { isKnownEnd: async (page) => await isKnownEnd(context, task, page) } : {}),
    onPage: (page) => page.forEach(({ id }) => waiting.delete(id)),
  });
  await askEach(context, task, [...waiting.values()]);
}

/**
 * Returns whether a short page with a cursor shows all rows that the store has, down to an end that a walk has seen. Then nothing older
 * appears later. Otherwise, a service with smaller pages could have left out the oldest rows.
 */
async function isKnownEnd(
  { store }: Context,
  { connection, project }: Task,
  operations: WireOperation[],
): Promise<boolean> {
  const since = before(controlPlaneNow(connection), servedMs);
  return await db.isAllToTheEnd(store.sql, { project: project.number, since, ids: operations.map(({ id }) => id) });
}

/** Extends the walk down to the oldest gap in the coverage, once a day: the cause of the gap may be over. */
function deepened({ gapAt }: db.WalkedProject, { plan, maxLimit }: { plan: WalkPlan; maxLimit: number }): WalkPlan {
  if (gapAt === null || compareInstants(gapAt, plan.floor) >= 0) return plan;
  return { floor: before(gapAt, 1), firstLimit: maxLimit };
}

/**
 * Resumes an interrupted walk. Returns the time of the last completed walk, which may then be this one. If the walk's next page fails,
 * newer operations are read all the same, without a saved position. The next pass tries the old position again.
 */
async function resume(context: Context, task: Task, from: db.OpenWalk): Promise<string | null> {
  const { walkedAt, number } = task.project;
  const { page_limit: maxLimit, overlap } = context.config.operations;
  try {
    await walk(context, task, { walkedAt, from, floor: null, firstLimit: maxLimit });
    add(task.counts, 'resumed_walks');
    return walkedAt === null ? from.beganAt : later(from.beganAt, walkedAt);
  } catch (error) {
    // The control plane refuses the cursor, or writes times with other digits than in the earlier pass: begin at the newest operation.
    const isOutdated = error instanceof CursorError && !(error instanceof OverlapError);
    if (isOutdated || hasCode(error, 'rejected')) {
      await db.forgetOpenWalk(context.store.sql, number);
      return walkedAt;
    }
    if (!isOfOneProject(error)) throw error;
    const floor = before(from.beganAt, overlap.ms);
    const recent = await countRecent(context, task, floor);
    const how = planWalk({ floor, recent, open: [], maxLimit });
    await walk(context, task, { walkedAt, from: null, ...how, savesPosition: false });
    throw error;
  }
}

async function walk(
  context: Context,
  { connection, project, counts, steps, seen }: Task,
  {
    walkedAt,
    savesPosition = true,
    onPage,
    ...how
  }: Pick<Walk, 'from' | 'floor' | 'firstLimit' | 'isKnownEnd'> & {
    walkedAt: string | null;
    /** Whether its position is saved and its end completes the walk. */
    savesPosition?: boolean;
    onPage?: (operations: WireOperation[]) => void;
  },
): Promise<void> {
  const { config, signal } = context;
  const { page_limit: maxLimit, settle } = config.operations;
  const pages = steps.walkOperations(connection.client, {
    ...how,
    seen,
    projectId: project.id,
    projectCreatedAt: project.createdAt,
    maxLimit,
    now: () => connection.time.now(),
    datedAt: (answer, begunMs) => freshDate(connection, { ...answer, begunMs }),
    signal,
  });
  try {
    for await (const page of pages) {
      const { rejected, unread, isWhole } = page;
      await keepRejected(context, connection, { list: 'operations', place: project.id, rejected, counts });
      const isEnd = page.isEnd && isWhole && !(await isCutShort(context, project, page));
      const proof = isWhole
        ? proofOf({ ...page, isEnd }, { createdAt: project.createdAt, walkedAt, settleMs: settle.ms })
        : null;
      const { beganAt, floor, isDone, resumeAt, reached } = page;
      const hasPosition = savesPosition && (isDone || resumeAt !== null);
      // Also the rows that the page above has stored: the proof of this page covers them, and that page may be lost in a failover (A3).
      await save(context, { project, counts, steps }, page.operations, {
        proof,
        unread,
        ...(hasPosition ? { walk: { beganAt, floor, next: isDone ? null : resumeAt, reached, isEnd } } : {}),
      });
      onPage?.(page.operations);
      if (page.unprovedAt !== null) add(counts, 'unproved_instants');
    }
  } catch (error) {
    // The pages above are proved; do not resume from the position below them.
    if (savesPosition && error instanceof CursorError) await db.forgetOpenWalk(context.store.sql, project.number);
    throw error;
  }
}

/**
 * Returns whether a list is cut short: the store has operations below its last page that the control plane must still serve. The list was cut off, or is
 * empty by mistake. Newer operations may then be missing from it, too.
 */
async function isCutShort(
  { store }: Context,
  project: db.WalkedProject,
  { operations, answeredAt, reached }: WalkedPage,
): Promise<boolean> {
  const ids = operations.map(({ id }) => id);
  const since = before(answeredAt, servedMs);
  return await db.hasOthersBetween(store.sql, { project: project.number, since, below: reached, ids });
}

/** Returns a response's time by the control plane, RFC 3339. Throws, for this project only, if it may be of an earlier state. */
function freshDate(connection: Connection, answer: { dateMs: number | null; ageMs: number; begunMs: number }): string {
  const stale = whyStale(connection, answer);
  if (stale !== null) throw new ControlPlaneError('invalid_response', `a page of operations is stale: ${stale}`);
  return datedAt(connection, answer);
}

async function save(
  { store: { sql }, lease }: Context,
  { project, counts, steps }: Omit<Task, 'connection' | 'seen'>,
  operations: WireOperation[],
  walked: Omit<Parameters<typeof db.saveOperationPage>[1], 'project' | 'operations'> = {},
): Promise<void> {
  const page = { project: project.number, operations, lease, ...walked };
  const { inserted, changed } = await steps.saveOperationPage(sql, page);
  add(counts, 'operations', operations.length);
  add(counts, 'inserted', inserted);
  add(counts, 'changed', changed);
}

/** Returns the number of stored rows above a floor, which the walk reads again. */
async function countRecent({ store, config }: Context, { project }: Task, floor: string): Promise<number> {
  const request = { project: project.number, since: floor, max: config.operations.page_limit };
  return await db.countOperationsSince(store.sql, request);
}

/** Returns the operations below the floor that have not ended, or that failed and are still watched (A4). */
async function readOpen(
  { store, config }: Context,
  { connection, project }: Task,
  floor: string,
): Promise<db.OpenOperation[]> {
  const { page_limit: maxLimit, follow_failed_for: watched } = config.operations;
  return await db.listOpenOperations(store.db, {
    project: project.number,
    before: floor,
    stillSince: before(controlPlaneNow(connection), watched.ms),
    limit: openOperationsAtOnce,
    maxDepth: openOperationsAtOnce * maxLimit,
  });
}

async function askEach(
  context: Context,
  { connection, project, counts, steps }: Task,
  open: db.OpenOperation[],
): Promise<void> {
  const { store, signal } = context;
  let unreadable: ControlPlaneError | undefined;
  for (const { id, createdAt } of open) {
    const operation = await connection.client.operation(project.id, id, { signal }).catch((error: unknown) => {
      if (hasCode(error, 'not_found')) return undefined;
      // An operation that cannot be read does not stop the others.
      if (!hasCode(error, 'invalid_response')) throw error;
      unreadable ??= error;
      return null;
    });
    if (operation === null) continue;
    if (operation && !isOfSameSecond(operation.createdAt, createdAt))
      // The archive would have it as a second operation.
      unreadable ??= new ControlPlaneError(
        'invalid_response',
        `operation ${id} was answered with another time of creation`,
      );
    else if (operation) await save(context, { project, counts, steps }, [operation]);
    // Younger operations must still be served. If one is missing, the project itself may be gone or hidden, and may come back (A7).
    else if (compareInstants(createdAt, before(controlPlaneNow(connection), servedMs)) < 0)
      await db.markOperationPruned(store.sql, { project: project.number, createdAt, id });
  }
  if (unreadable !== undefined) throw unreadable;
}

/** Compares times as the store does, which rounds them to microseconds: their digits vary between responses. */
const isOfSameSecond = (a: string, b: string) =>
  Math.floor(roundedMicros(a) / 1_000_000) === Math.floor(roundedMicros(b) / 1_000_000);
