import { isSealed } from '@keywarden/core/ledger';
import { and, sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, json, time } from '../item.ts';
import { equals, type FilterOf, type List, listOf, matching, type Reader, visible, when, within } from '../list.ts';
import { project } from '../schema/projects.ts';

const version = z.strictObject({
  id: z.string(),
  project_id: z.string(),
  organization_id: z.string(),
  branch_id: z.string().nullable(),
  endpoint_id: z.string().nullable(),
  action: z.string(),
  status: z.string(),
  failures_count: z.int(),
  error: z.string().nullable(),
  retry_at: instant.nullable(),
  created_at: instant,
  updated_at: instant,
  total_duration_ms: z.int().nullable(),
  extra: json.nullable().meta({ description: 'Received fields that have no column' }),
  seen_at: instant.meta({ description: 'When this version was first seen' }),
});

/** The fields of a version that are columns of its project `p`. */
const ofProject = { project_id: sql`p.id`, organization_id: sql`p.organization_id` };

export const operationItem = version
  .extend({
    last_seen_upstream_at: instant.nullable().meta({
      description: 'When a completed walk last found it at the control plane; null before the first completed walk',
    }),
  })
  .meta({ id: 'Operation' });

export const operationVersion = version
  .extend({
    replaced_at: instant.nullable().meta({
      description: 'When another version replaced it; null for the newest',
    }),
  })
  .meta({ id: 'OperationVersion' });

const filters = {
  branchId: equals('o.branch_id'),
  endpointId: equals('o.endpoint_id'),
  action: equals('o.action'),
  status: equals('o.status'),
  ...within(sql`o.created_at`),
};
type OperationFilter = FilterOf<typeof filters>;

/**
 * The control plane's time of the last completed walk that reached the row: the row was served then (A6). Rows of the exact time at which a
 * walk stopped above the end of the list may have been left out. The time has the precision of a day, like stored walks.
 */
const lastSeenUpstreamAt = sql`(select w.began_at from (
    -- Of the walks that reached it, the one that reached least deep is the last.
    select began_at from keywarden.completed_walk where project_number = o.project_number and reached <= o.created_at
      and (to_end or reached < o.created_at) order by reached desc, began_at desc limit 1) w where w.began_at >= o.created_at)`;

/**
 * Returns the stored numbers of the projects that a filter matches, so that the index of one project serves its pages; null for all. An id
 * may match several projects, because ids can repeat between control planes.
 */
export async function findProjectNumbers(
  db: Reader,
  { projectId, organizations }: { projectId?: string | undefined; organizations: string[] | null },
): Promise<string[] | null> {
  if (projectId === undefined && organizations === null) return null;
  const rows = await db.execute(sql`select number from ${project} p
    where ${when(projectId, (id) => sql`p.id = ${id}`) ?? sql`true`}
      and ${visible(sql`p.organization_id`, organizations)} order by number`);
  return rows.map((row) => String(row.number));
}

/** Lists operations, newest first, of all projects or some. `shards` has the same projects by the shard of a cluster. */
export function operationList(
  filter: OperationFilter,
  projects: string[] | null,
  shards: string[][] = [],
): List<typeof operationItem> {
  return listOf(operationItem, 'o', {
    ...(shards.length > 0 && { parts: shards.map((own) => operationList(filter, own)) }),
    rows: sql`keywarden.operation o`,
    from: sql`join keywarden.project p on p.number = o.project_number`,
    item: { ...ofProject, last_seen_upstream_at: time(lastSeenUpstreamAt) },
    where: [
      // A single project is compared with `=`. Its index then returns the rows in order, and a cluster queries one node.
      when(projects, (numbers) =>
        numbers.length === 1
          ? sql`o.project_number = ${numbers[0]}::bigint`
          : sql`o.project_number = any(${sql.param(numbers)}::bigint[])`,
      ),
      ...matching(filters, filter),
    ],
    order: { 'o.created_at': 'timestamptz', 'o.project_number': 'bigint', 'o.id': 'uuid' },
    direction: 'desc',
  });
}

const sealedPart = <T>(all: Record<string, T>) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name === 'project_id' || isSealed(name)));

/** What an archive of operations has of each. Verifiers refuse any other field. */
const sealedOperation = z.strictObject(sealedPart(operationItem.shape));

/** Lists operations of a project with the fields that seals prove, newest first. */
export function sealedOperationList(
  filter: Pick<OperationFilter, 'from' | 'to'>,
  projectNumber: string,
): List<typeof sealedOperation> {
  const { item, ...list } = operationList(filter, [projectNumber]);
  return { ...list, schema: sealedOperation, item: sealedPart(item) };
}

/** Lists the observed versions of an operation, newest first. The first is the current one. */
export function operationVersionList(projects: string[], id: string) {
  const bound = sql`project_number = any(${sql.param(projects)}::bigint[]) and id = ${id}::uuid`;
  const { project_id: _project, organization_id: _organization, ...own } = version.shape;
  const columns = sql.raw(['project_number', ...Object.keys(own)].join(', '));
  return listOf(operationVersion, 'o', {
    rows: sql`(select ${columns}, null::timestamptz as replaced_at from keywarden.operation where ${bound}
      union all select ${columns}, replaced_at from keywarden.operation_version where ${bound}) o`,
    from: sql`join keywarden.project p on p.number = o.project_number`,
    item: ofProject,
    order: { "coalesce(o.replaced_at, 'infinity')": 'timestamptz', 'o.project_number': 'bigint' },
    direction: 'desc',
  });
}

export const operationBucket = z
  .strictObject({
    start: instant,
    project_id: z.string().nullable(),
    action: z.string().nullable(),
    status: z.string().nullable(),
    operations: z.int(),
    with_failures: z.int(),
    mean_duration_ms: z.int().nullable(),
  })
  .meta({ id: 'OperationBucket' });

/** Counts the operations created in each hour, day or month of UTC, by action and status, oldest first. */
export function operationBucketList(
  filter: OperationFilter & { size: 'hour' | 'day' | 'month'; by: ('action' | 'status' | 'project')[] },
  projects: string[] | null,
) {
  const { size, by } = filter;
  const start = sql`date_trunc(${size}::text, o.created_at, 'UTC')`;
  const grouped = (name: 'action' | 'status' | 'project', column: string) =>
    by.includes(name) ? sql.raw(column) : sql.raw(`null::text`);
  const { where } = operationList(filter, projects);
  return listOf(operationBucket, 'b', {
    from: sql`(select ${start} as start, ${grouped('action', 'o.action')} as action, ${grouped('status', 'o.status')} as status,
        ${grouped('project', 'o.project_number::text')} as project, count(*) as operations,
        count(*) filter (where o.failures_count > 0) as with_failures, avg(o.total_duration_ms)::int8 as mean_duration_ms
      from keywarden.operation o where ${and(...where) ?? sql`true`}
      group by 1, 2, 3, 4) b left join keywarden.project p on p.number::text = b.project`,
    item: { project_id: sql`p.id` },
    order: {
      'b.start': 'timestamptz',
      "coalesce(b.action, '')": 'text',
      "coalesce(b.status, '')": 'text',
      "coalesce(b.project, '')": 'text',
    },
    direction: 'asc',
  });
}
