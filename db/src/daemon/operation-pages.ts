import type { WireOperation } from '@keywarden/core/wire';
import type { Sql } from '../store.ts';
import { packExtra } from './extra.ts';
import { toRowsJson } from './rows.ts';

/**
 * Writes a page of a project's operations in one statement: new rows, changed rows with the version that they replace, and
 * nothing for the rest. A row older than the stored one by its own updated_at is nothing new. Writing a page twice changes
 * nothing (A5). With `walkedAt` the walk ends with this page, and the
 * project's mark moves in the same transaction (A3).
 */
export async function saveOperationPage(
  sql: Sql,
  { project, operations, walkedAt }: { project: string; operations: WireOperation[]; walkedAt?: string | undefined },
): Promise<{ inserted: number; changed: number }> {
  const rows = operations.map(toRow);
  return await sql.begin(async (tx) => {
    // Two connections may see one project: the later writer must see what the earlier one wrote.
    await tx`select number from keywarden.project where number = ${project} for update`;
    const [written] = await tx`
      with incoming as materialized (
        select distinct on (created_at, id) * from json_to_recordset(${toRowsJson(rows)}::json) as t(id uuid, branch_id text,
          endpoint_id text, action text, status text, failures_count bigint, error text, retry_at timestamptz,
          created_at timestamptz, updated_at timestamptz, total_duration_ms bigint, extra jsonb)
      ), changed as materialized (
        select i.*, o.id is null as is_new from incoming i left join keywarden.operation o
          on o.project_number = ${project} and o.created_at = i.created_at and o.id = i.id
          and o.created_at between (select min(created_at) from incoming) and (select max(created_at) from incoming)
        where o.id is null or i.updated_at >= o.updated_at and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at,
          o.total_duration_ms, o.extra) is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error,
          i.retry_at, i.updated_at, i.total_duration_ms, i.extra)
      ), kept as (
        insert into keywarden.operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status,
          failures_count, error, retry_at, updated_at, total_duration_ms, extra, seen_at)
        select o.project_number, o.created_at, o.id, o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error,
          o.retry_at, o.updated_at, o.total_duration_ms, o.extra, o.seen_at
        from keywarden.operation o join changed c on o.created_at = c.created_at and o.id = c.id
        where o.project_number = ${project} and not c.is_new
      ), written as (
        insert into keywarden.operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count,
          error, retry_at, updated_at, total_duration_ms, extra)
        select ${project}::bigint, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
          updated_at, total_duration_ms, extra from changed
        on conflict (project_number, created_at, id) do update set branch_id = excluded.branch_id,
          endpoint_id = excluded.endpoint_id, action = excluded.action, status = excluded.status,
          failures_count = excluded.failures_count, error = excluded.error, retry_at = excluded.retry_at,
          updated_at = excluded.updated_at, total_duration_ms = excluded.total_duration_ms, extra = excluded.extra, seen_at = now()
      )
      select count(*) filter (where is_new)::int as inserted, count(*) filter (where not is_new)::int as changed from changed`;
    if (walkedAt !== undefined) {
      await tx`update keywarden.project set walked_at = greatest(walked_at, ${walkedAt}::timestamptz) where number = ${project}`;
    }
    return { inserted: Number(written?.inserted), changed: Number(written?.changed) };
  });
}

/** Makes the partitions that operations of these times need. */
export async function ensureOperationPartitions(
  sql: Sql,
  { first, last }: { first: string; last: string },
): Promise<void> {
  await sql`select keywarden.ensure_operation_partitions(${first}::timestamptz, ${last}::timestamptz)`;
}

function toRow(each: WireOperation) {
  const { createdAt, updatedAt, retryAt } = each;
  return {
    id: each.id,
    branch_id: each.branchId,
    endpoint_id: each.endpointId,
    action: each.action,
    status: each.status,
    failures_count: each.failuresCount,
    error: each.error,
    retry_at: retryAt,
    created_at: createdAt,
    updated_at: updatedAt,
    total_duration_ms: each.totalDurationMs,
    extra: packExtra(each.extra, { created_at: createdAt, updated_at: updatedAt, retry_at: retryAt }),
  };
}

/** Marks an operation that was going on when the control plane stopped to serve it. What was seen of it stays (A6). */
export async function markOperationPruned(
  sql: Sql,
  { project, createdAt, id }: { project: string; createdAt: string; id: string },
): Promise<void> {
  await sql`
    insert into keywarden.operation_pruned (project_number, created_at, id) values (${project}, ${createdAt}::timestamptz, ${id})
    on conflict (project_number, created_at, id) do nothing`;
}
