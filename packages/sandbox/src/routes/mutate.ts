import type { Context } from 'hono';
import { requireProject } from '../access/rules.ts';
import { advance } from '../engine/advance.ts';
import { enqueue, requireFree, type Task } from '../engine/queue.ts';
import { readPath } from '../http/query.ts';
import { operationColumns, renderOperation } from '../resources/operations.ts';
import type { Env } from '../state.ts';
import type { Micros } from '../store/time.ts';

/** The work of a route on its project: `order` queues the operations that follow and returns them, rendered. */
export interface Change {
  projectId: string;
  at: Micros;
  order: (tasks: Task[]) => Record<string, unknown>[];
}

/** Carries out one change of a project, whole or not at all; its operations have one created_at. Throws 423 if others are in progress. */
export function mutate<T>(c: Context<Env>, work: (change: Change) => T): T {
  return create(c, readPath(c, 'project_id'), (change) => {
    // Repeats the check: while the body arrived, the project may have gone, or the caller's right to it.
    requireProject(c);
    return work(change);
  });
}

/** Does the same for a project that does not exist yet, or no longer exists. */
export function create<T>(c: Context<Env>, projectId: string, work: (change: Change) => T): T {
  const state = c.get('state');
  advance(state, state.clock.now());
  return state.db.transaction(() => {
    const at = state.clock.now();
    const lateBy = c.get('lateCommitBy');
    const visibleAt = lateBy === undefined ? null : at + lateBy;
    const order = (tasks: Task[]) => {
      if (tasks.length === 0) return [];
      requireFree(state.db, projectId);
      const queued = enqueue(state, { projectId, at, by: 'request', tasks, visibleAt });
      return queued.flatMap((seq) => state.db.arrays(operationBySeq, seq).map(renderOperation));
    };
    return work({ projectId, at, order });
  });
}

const operationBySeq = `select ${operationColumns} from operation where seq = ?`;
