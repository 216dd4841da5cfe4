import type { Row } from '../store/database.ts';
import { formatInstant, HOUR, type Micros, monthsBefore } from '../store/time.ts';

const retentionMonths = 6;

/** Returns the first instant that is still served: the control plane keeps operations for six months. */
export function retentionStart(now: Micros): Micros {
  return monthsBefore(now, retentionMonths);
}

/**
 * The columns that `operationJson` needs. SQLite renders everything but the times, which it renders slowly. Lists have millions of rows, and this
 * takes half the time of objects and JSON.stringify. Only `error` is text that needs escapes; ids and names are the sandbox's own.
 */
export const operationColumns = `'{"id":"' || id || '","project_id":"' || project_id
  || coalesce('","branch_id":"' || branch_id, '') || coalesce('","endpoint_id":"' || endpoint_id, '')
  || '","action":"' || action || '","status":"' || status || '","failures_count":' || failures_count
  || case when error is null then '' else ',"error":' || json_quote(error) end || ',"created_at":"' as head,
  created_at, updated_at, case status when 'failed' then next_at end`;

/** Returns an operation in the control plane's shape, as JSON text. Takes the columns above in their order, and how its times are rendered. */
export function operationJson([head, created, updated, retryAt]: Row[string][], format: typeof formatInstant): string {
  const createdAt = Number(created);
  const updatedAt = Number(updated);
  const duration = Math.max(0, Math.min(Math.round((updatedAt - createdAt) / 1000), HOUR / 1000));
  const retry = retryAt === null ? '' : `,"retry_at":"${format(Number(retryAt))}"`;
  return `${head}${format(createdAt)}","updated_at":"${format(updatedAt)}","total_duration_ms":${duration}${retry}}`;
}

/** Returns the same as a value, for responses with a few operations. */
export function renderOperation(row: Row[string][]): Record<string, unknown> {
  return JSON.parse(operationJson(row, formatInstant));
}
