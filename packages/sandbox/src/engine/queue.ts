import { randomUUID } from 'node:crypto';
import { Refusal } from '../http/errors.ts';
import type { State } from '../state.ts';
import type { Database, Row } from '../store/database.ts';
import { createRandom } from '../store/random.ts';
import { MILLISECOND, type Micros } from '../store/time.ts';
import { takeEffect } from './effects.ts';
import { drawOutcome, isFinal, nextStatus, type Outcome, type Status, stay } from './transitions.ts';

/** An operation to run: its action, branch and compute. */
export interface Task {
  action: string;
  branchId?: string | null;
  endpointId?: string | null;
}

export interface Order {
  projectId: string;
  at: Micros;
  tasks: Task[];
  /** The cause: a person's request, or the control plane itself. */
  by: 'request' | 'system';
  /** Makes the rows visible only at this time, though their time is `at`. */
  visibleAt?: Micros | null;
}

/** Throws 423 while operations of the project are in progress: it accepts one request's work at a time. */
export function requireFree(db: Database, projectId: string): void {
  if (hasOpen(db, projectId))
    throw new Refusal(423, 'project already has running conflicting operations, scheduling of new ones is prohibited');
}

export function hasOpen(db: Database, projectId: string): boolean {
  return db.get('select 1 from operation where project_id = ? and is_open = 1 limit 1', projectId) !== undefined;
}

/** Queues the tasks of one request with one created_at; returns their sequence numbers. The first runs at once in a free project. */
export function enqueue(state: State, order: Order): number[] {
  const { db, work } = state;
  const wasFree = !hasOpen(db, order.projectId);
  const visibleAt = order.by === 'system' ? lateBySystem(state, order.at) : (order.visibleAt ?? null);
  const queued = order.tasks.map((task) => {
    const seq = Number(db.get('select coalesce(max(seq), 0) + 1 as seq from operation')?.seq);
    const trouble = order.by === 'system' ? work.system_trouble : work.request_trouble;
    const outcome = outcomeOf(task.action, drawOutcome(randomOf(state, seq), trouble));
    const created = { status: 'scheduling', failures_count: 0, created_at: order.at, updated_at: order.at, is_open: 1 };
    db.insert('operation', {
      ...created,
      seq,
      id: randomUUID(),
      project_id: order.projectId,
      branch_id: task.branchId ?? null,
      endpoint_id: task.endpointId ?? null,
      action: task.action,
      outcome,
      visible_at: visibleAt,
    });
    return seq;
  });
  if (wasFree) startNext(state, order.projectId, order.at);
  return queued;
}

/** Returns an operation's outcome. One that makes or removes something is retried until it is done: nothing repairs half of it. */
function outcomeOf(action: string, drawn: Outcome): Outcome {
  return drawn !== 'finish' && /^(create|delete)_/.test(action) ? 'retry' : drawn;
}

/** Returns the visibility time of the control plane's own work under a late-commit fault. A fault without a route applies to that work too. */
function lateBySystem({ faults }: State, at: Micros): Micros | null {
  const fault = faults.matchSystem();
  return fault?.kind === 'late_commit' ? at + fault.latency_ms * MILLISECOND : null;
}

/** Moves an operation to its next status, with its effect if it ends. Returns the updated row. */
export function step(state: State, row: Row, at: Micros): Row {
  const status = statusOf(row);
  const next = nextStatus(status, row.outcome as Outcome, Number(row.failures_count));
  if (next === null) return row;
  const failed = next === 'failed' || next === 'error';
  const seq = Number(row.seq);
  const isOpen = !isFinal(next);
  const failures = Number(row.failures_count);
  state.db.update('operation', {
    seq,
    status: next,
    updated_at: at,
    is_open: isOpen,
    next_at: isOpen ? at + stay(next, String(row.action), randomOf(state, seq + failures)) : null,
    failures_count: failures + Number(failed),
    error: failed ? 'compute did not become ready in time' : null,
  });
  const moved = state.db.require('operation', { seq });
  if (!isOpen) takeEffect(state.db, moved, at);
  return moved;
}

/** Starts the project's oldest waiting operation; skipped ones end at once. */
export function startNext(state: State, projectId: string, at: Micros): void {
  for (;;) {
    const head = state.db.get(
      'select * from operation where project_id = ? and is_open = 1 order by created_at, seq limit 1',
      projectId,
    );
    if (head === undefined || head.next_at !== null) return;
    if (step(state, head, at).is_open === 1) return;
  }
}

// Only this file and the generator write the column.
export const statusOf = (row: Row) => row.status as Status;

/** Returns a random source that belongs to one operation, so that a seed gives one course of events regardless of other requests. */
function randomOf({ work }: State, seq: number) {
  return createRandom(Math.imul(work.seed + 1, 2654435761) + seq * 7919);
}
