import type { Database, Row } from '../store/database.ts';
import { formatInstant, MINUTE, type Micros, monthsBefore, SECOND } from '../store/time.ts';

const retentionMonths = 6;

/** The first instant that is still served: the control plane keeps operations for six months. */
export function retentionStart(now: Micros): Micros {
  return monthsBefore(now, retentionMonths);
}

/** Moves every operation whose time has come: scheduling, running, then its planned end. Called before each answer. */
export function moveOperations(db: Database, now: Micros): void {
  // A step may be due long before `now` when the clock was advanced; each pass takes every operation one step on.
  for (;;) {
    const moved = db.run(
      `update operation set updated_at = next_at,
         status = case when status = 'scheduling' then 'running' else next_status end,
         next_at = case when status = 'scheduling' then next_at + ${20 * SECOND} else null end
       where next_at <= ?`,
      now,
    );
    if (moved === 0) return;
  }
}

/** An operation in the control plane's shape. */
export function renderOperation(row: Row): Record<string, unknown> {
  const createdAt = Number(row.created_at);
  const updatedAt = Number(row.updated_at);
  return {
    id: row.id,
    project_id: row.project_id,
    ...(row.branch_id === null ? {} : { branch_id: row.branch_id }),
    ...(row.endpoint_id === null ? {} : { endpoint_id: row.endpoint_id }),
    action: row.action,
    status: row.status,
    ...(row.error === null ? {} : { error: row.error }),
    failures_count: row.failures_count,
    created_at: formatInstant(createdAt),
    updated_at: formatInstant(updatedAt),
    total_duration_ms: Math.max(0, Math.min(Math.round((updatedAt - createdAt) / 1000), (60 * MINUTE) / 1000)),
  };
}
