import { sql } from 'drizzle-orm';
import { type List, type Reader, time, visible, when, within } from '../list.ts';
import { project } from '../schema/projects.ts';

export interface OperationFilter {
  projectId?: string | undefined;
  branchId?: string | undefined;
  endpointId?: string | undefined;
  action?: string | undefined;
  status?: string | undefined;
  /** created_at from this instant on. */
  from?: string | undefined;
  /** created_at before this instant. */
  to?: string | undefined;
}

/**
 * The control plane's time of the last completed walk that came down to the row, or past it: the row was served then (A6). Rows of the
 * very time at which a walk stopped above the list's end may have been left out. To the day, for walks are remembered so.
 */
const lastSeenUpstreamAt = sql`(select max(w.began_at) from keywarden.completed_walk w
  where w.project_number = o.project_number and w.began_at >= o.created_at
    and (w.reached < o.created_at or (w.to_end and w.reached = o.created_at)))`;

const version = {
  id: sql`o.id`,
  project_id: sql`p.id`,
  organization_id: sql`p.organization_id`,
  branch_id: sql`o.branch_id`,
  endpoint_id: sql`o.endpoint_id`,
  action: sql`o.action`,
  status: sql`o.status`,
  failures_count: sql`o.failures_count`,
  error: sql`o.error`,
  retry_at: time(sql`o.retry_at`),
  created_at: time(sql`o.created_at`),
  updated_at: time(sql`o.updated_at`),
  total_duration_ms: sql`o.total_duration_ms`,
  extra: sql`o.extra`,
  seen_at: time(sql`o.seen_at`),
};

/**
 * The stored numbers of the projects that a filter means, so that the index of one project serves its pages; null for all. An id may
 * stand for several: ids can repeat between control planes.
 */
export async function findProjectNumbers(
  db: Reader,
  { projectId, organizations }: { projectId?: string | undefined; organizations: string[] | null },
): Promise<string[] | null> {
  if (projectId === undefined && organizations === null) return null;
  const rows = await db.execute(sql`select number from ${project} p
    where ${when(projectId, (id) => sql`p.id = ${id}`) ?? sql`true`}
      and ${visible(sql`p.organization_id`, organizations) ?? sql`true`} order by number`);
  return rows.map((row) => String(row.number));
}

/** Operations, newest first, over all projects or some. */
export function operationList(filter: Omit<OperationFilter, 'projectId'>, projects: string[] | null): List {
  return {
    rows: sql`keywarden.operation o`,
    from: sql`join keywarden.project p on p.number = o.project_number`,
    item: { ...version, last_seen_upstream_at: time(lastSeenUpstreamAt) },
    where: [
      // Said outright where it is one: its index then has the rows in order, and a cluster asks one node.
      when(projects, (numbers) =>
        numbers.length === 1
          ? sql`o.project_number = ${numbers[0]}::bigint`
          : sql`o.project_number = any(${sql.param(numbers)}::bigint[])`,
      ),
      when(filter.branchId, (id) => sql`o.branch_id = ${id}`),
      when(filter.endpointId, (id) => sql`o.endpoint_id = ${id}`),
      when(filter.action, (action) => sql`o.action = ${action}`),
      when(filter.status, (status) => sql`o.status = ${status}`),
      ...within(sql`o.created_at`, filter),
    ],
    order: [
      { by: sql`o.created_at`, type: 'timestamptz' },
      { by: sql`o.project_number`, type: 'bigint' },
      { by: sql`o.id`, type: 'uuid' },
    ],
    direction: 'desc',
  };
}

/** The versions of an operation that were seen, newest first; the first is the one that stands. */
export function operationVersionList(projects: string[], id: string): List {
  const bound = sql`project_number = any(${sql.param(projects)}::bigint[]) and id = ${id}::uuid`;
  const columns = sql`project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
    total_duration_ms, extra, seen_at`;
  return {
    rows: sql`(select ${columns}, null::timestamptz as replaced_at from keywarden.operation where ${bound}
      union all select ${columns}, replaced_at from keywarden.operation_version where ${bound}) o`,
    from: sql`join keywarden.project p on p.number = o.project_number`,
    item: { ...version, replaced_at: time(sql`o.replaced_at`) },
    where: [],
    order: [
      { by: sql`coalesce(o.replaced_at, 'infinity')`, type: 'timestamptz' },
      { by: sql`o.project_number`, type: 'bigint' },
    ],
    direction: 'desc',
  };
}

export type BucketSize = 'hour' | 'day' | 'month';

/** How many operations were created in each hour, day or month of UTC, by action and status, oldest first. */
export function operationBucketList(
  filter: Omit<OperationFilter, 'projectId'> & { size: BucketSize; by: ('action' | 'status' | 'project')[] },
  projects: string[] | null,
): List {
  const { size, by } = filter;
  const start = sql`date_trunc(${size}::text, o.created_at, 'UTC')`;
  const grouped = (name: 'action' | 'status' | 'project', column: string) =>
    by.includes(name) ? sql.raw(column) : sql.raw(`null::text`);
  const { where } = operationList(filter, projects);
  const tests = where.filter((test) => test !== undefined);
  return {
    from: sql`(select ${start} as start, ${grouped('action', 'o.action')} as action, ${grouped('status', 'o.status')} as status,
        ${grouped('project', 'o.project_number::text')} as project, count(*) as operations,
        count(*) filter (where o.failures_count > 0) as with_failures, avg(o.total_duration_ms)::int8 as mean_duration_ms
      from keywarden.operation o where ${tests.length === 0 ? sql`true` : sql.join(tests, sql` and `)}
      group by 1, 2, 3, 4) b left join keywarden.project p on p.number::text = b.project`,
    item: {
      start: time(sql`b.start`),
      project_id: sql`p.id`,
      action: sql`b.action`,
      status: sql`b.status`,
      operations: sql`b.operations`,
      with_failures: sql`b.with_failures`,
      mean_duration_ms: sql`b.mean_duration_ms`,
    },
    where: [],
    order: [
      { by: sql`b.start`, type: 'timestamptz' },
      { by: sql`coalesce(b.action, '')`, type: 'text' },
      { by: sql`coalesce(b.status, '')`, type: 'text' },
      { by: sql`coalesce(b.project, '')`, type: 'text' },
    ],
    direction: 'asc',
  };
}
