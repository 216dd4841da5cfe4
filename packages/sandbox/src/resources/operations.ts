import { present } from '../http/json.ts';
import type { Row } from '../store/database.ts';
import { formatIfSet, formatInstant, HOUR, type Micros, monthsBefore } from '../store/time.ts';

const retentionMonths = 6;

/** The first instant that is still served: the control plane keeps operations for six months. */
export function retentionStart(now: Micros): Micros {
  return monthsBefore(now, retentionMonths);
}

/** An operation in the control plane's shape. */
export function renderOperation(row: Row): Record<string, unknown> {
  const createdAt = Number(row.created_at);
  const updatedAt = Number(row.updated_at);
  return {
    id: row.id,
    project_id: row.project_id,
    ...present({ branch_id: row.branch_id, endpoint_id: row.endpoint_id }),
    action: row.action,
    status: row.status,
    ...present({ error: row.error, retry_at: row.status === 'failed' ? formatIfSet(row.next_at) : null }),
    failures_count: row.failures_count,
    created_at: formatInstant(createdAt),
    updated_at: formatInstant(updatedAt),
    total_duration_ms: Math.max(0, Math.min(Math.round((updatedAt - createdAt) / 1000), HOUR / 1000)),
  };
}
