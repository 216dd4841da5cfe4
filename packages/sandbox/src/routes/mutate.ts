import type { Context } from 'hono';
import { requireProject } from '../access/rules.ts';
import { advance } from '../engine/advance.ts';
import { enqueue, requireFree, type Task } from '../engine/queue.ts';
import { found } from '../http/errors.ts';
import { readPath } from '../http/query.ts';
import { findBranch } from '../resources/branches.ts';
import { findEndpoint } from '../resources/endpoints.ts';
import { operationColumns, renderOperation } from '../resources/operations.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import type { Micros } from '../store/time.ts';

/** The work of a route on its project: `order` queues the operations that follow and returns them, rendered. */
export interface Change {
  projectId: string;
  at: Micros;
  order: (tasks: Task[]) => Record<string, unknown>[];
}

/** Carries out one change of a project, whole or not at all; its operations have one created_at. Throws 423 if others are in progress. */
export function mutate<T>(c: Context<Env>, state: State, work: (change: Change) => T): T {
  return create(c, state, readPath(c, 'project_id'), (change) => {
    // Repeats the check: while the body arrived, the project may have gone, or the caller's right to it.
    requireProjectId(c, state);
    return work(change);
  });
}

/** Does the same for a project that does not exist yet, or no longer exists. */
export function create<T>(c: Context<Env>, state: State, projectId: string, work: (change: Change) => T): T {
  advance(state, state.clock.now());
  return state.db.transaction(() => {
    const at = state.clock.now();
    const lateBy = c.get('lateCommitBy');
    const visibleAt = lateBy === undefined ? null : at + lateBy;
    const order = (tasks: Task[]) => {
      if (tasks.length === 0) return [];
      requireFree(state, projectId);
      const queued = enqueue(state, { projectId, at, by: 'request', tasks, visibleAt });
      return queued.flatMap((seq) => state.db.arrays(operationBySeq, seq).map(renderOperation));
    };
    return work({ projectId, at, order });
  });
}

const operationBySeq = `select ${operationColumns} from operation where seq = ?`;

/** Returns the id of the project that the path names; throws 404 if the caller may not see it. */
export function requireProjectId(c: Context<Env>, { db }: State): string {
  const projectId = readPath(c, 'project_id');
  requireProject(db, c.get('principal'), projectId);
  return projectId;
}

/** Returns the id of the branch that the path names; throws 404 if it, or its project for the caller, does not exist. */
export function requireBranchId(c: Context<Env>, state: State): string {
  requireProjectId(c, state);
  return String(requireBranch(c, state).id);
}

/** Returns the branch that the path names; throws 404 without it. */
export function requireBranch(c: Context, { db }: State, branchId = readPath(c, 'branch_id')): Row {
  return found(findBranch(db, readPath(c, 'project_id'), branchId), `branch not found; branch_id:"${branchId}"`);
}

/** Returns the compute endpoint that the path names; throws 404 without it. */
export function requireEndpoint(c: Context, { db }: State, endpointId = readPath(c, 'endpoint_id')): Row {
  const row = findEndpoint(db, readPath(c, 'project_id'), endpointId);
  return found(row, `endpoint not found; endpoint_id:"${endpointId}"`);
}
