import { gapSettlingMs } from '@keywarden/core/ledger';
import { and, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, time } from '../item.ts';
import { type Reader, visible, when } from '../list.ts';

/** The times from `from` to `to`. A bound that is not included is an instant outside the interval. */
export const interval = z.strictObject({
  from: instant,
  to: instant,
  from_included: z.boolean(),
  to_included: z.boolean(),
});
export type Interval = z.output<typeof interval>;

/** Why the archive may lack operations of an interval, in words. */
export const gapReasons = {
  recent: 'not walked since, or too recent to be certain: the next sync covers what is still served',
  deleted: 'the project was deleted, or hidden from the connection, before a walk reached this time',
  not_walked: 'the first walk has not reached this time: the next sync continues it',
  pruned: 'nothing older was served when the project was first walked; whether there was an operation is unknown',
  gap: 'no walk has covered this time: one walk a day reads again what is younger than 180 days',
  instant: 'operations of this one time could not be proved complete: usually more share it than a page can show',
  unreadable: 'rows of the project cannot be read, and may belong to this time',
  retention: 'dropped by retention.operations',
};
export type GapReason = keyof typeof gapReasons;
const gapReason = z.enum(Object.keys(gapReasons) as [GapReason, ...GapReason[]]); // it has these keys

export const operationCoverage = z
  .strictObject({
    control_plane: z.string(),
    organization_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    created_at: instant,
    walked_at: instant.nullable(),
    gone_at: instant.nullable(),
    last_listed_at: instant,
    known: z.array(interval),
    unknown: z.array(interval.extend({ reason: gapReason })),
  })
  .meta({ id: 'OperationCoverage' });

export type ProjectCoverage = z.output<typeof operationCoverage>;

/**
 * The requested range: from the project's creation until it was last listed, or until it was found missing. If it was not listed for more than a day, the range
 * ends now: what happened since is unknown.
 */
const asked = sql`tstzmultirange(tstzrange(p.created_at, greatest(p.created_at, coalesce(p.missing_since,
  case when extract(epoch from n.at - p.last_seen_at) > ${gapSettlingMs / 1000} then n.at else p.last_seen_at end)), '[]'))`;
const dropped = sql`coalesce((select range_agg(tstzrange(d.month::timestamp at time zone 'UTC',
  (d.month + interval '1 month') at time zone 'UTC')) from keywarden.operation_drop d where d.dropped_at is not null), '{}')`;
const intervals = (
  of: SQL,
) => sql`coalesce((select json_agg(json_build_object('from', ${time(sql`lower(r)`)}, 'to', ${time(sql`upper(r)`)},
  'from_included', lower_inc(r), 'to_included', upper_inc(r)) order by r) from unnest(${of}) r), '[]')`;

/** A project's coverage with what only the store needs. */
export interface ListedCoverage {
  /** The project's number in the store, which is its cursor position in the list. */
  number: string;
  /** When it was deleted, if its control plane says so. A project that is only absent from lists may be hidden. */
  endedAt: string | null;
  coverage: ProjectCoverage;
}

/** A project `p` has ended then, if its control plane lists it as deleted: nothing is requested of later times. */
export const endedAt = sql`case when p.deleted_at is not null then greatest(p.missing_since, p.deleted_at) end`;

/** The projects whose coverage is read; all by default. */
interface CoverageFilter {
  /** The projects' numbers in the store. */
  numbers?: string[];
  projectId?: string | undefined;
  organizations?: string[] | null;
}

const batch = 500;

/** Yields what `listCoverage` returns for all of these projects, some at a time. */
export async function* streamCoverage(db: Reader, filter: CoverageFilter): AsyncGenerator<ListedCoverage[]> {
  let rows: ListedCoverage[] = [];
  do {
    rows = await listCoverage(db, { ...filter, after: rows.at(-1)?.number ?? null, limit: batch });
    yield rows;
  } while (rows.length === batch);
}

/** Lists the covered intervals of each project, and the intervals that are not covered, in the order of the projects' numbers. */
export async function listCoverage(
  db: Reader,
  {
    numbers: wanted,
    projectId,
    organizations = null,
    after = null,
    limit,
  }: CoverageFilter & { after?: string | null; limit: number },
): Promise<ListedCoverage[]> {
  const isAsked = and(
    when(wanted, (some) => sql`p.number = any(${sql.param(some)}::bigint[])`),
    when(projectId, (id) => sql`p.id = ${id}`),
    visible(sql`p.organization_id`, organizations),
    sql`p.number > coalesce(${after}::bigint, 0)`,
  );
  const page = await db.execute(sql`
    select p.number::text from keywarden.project p where ${isAsked} order by p.number limit ${limit}`);
  if (page.length === 0) return [];
  const numbers = sql`${sql.param(page.map(({ number }) => String(number)))}::bigint[]`;
  const rows = await db.execute(sql`
    select p.number::text, o.base_url as control_plane, p.organization_id, p.id as project_id, p.name,
      ${time(sql`p.created_at`)} as created_at, ${time(sql`p.walked_at`)} as walked_at, ${time(sql`p.gone_at`)} as gone_at,
      ${time(sql`p.last_seen_at`)} as last_listed_at, ${time(endedAt)} as ended_at,
      ${intervals(sql`covered.known`)} as known,
      ${intervals(sql`${asked} - covered.known - ${dropped}`)} as unknown,
      ${intervals(sql`(${asked} - covered.known) * ${dropped}`)} as dropped,
      exists (select from keywarden.rejected_row r
        where r.control_plane_number = p.control_plane_number and r.list = 'operations' and r.place = p.id) as has_rejected
    from keywarden.project p
      join keywarden.control_plane o on o.number = p.control_plane_number
      join keywarden.control_plane_now n on n.control_plane_number = p.control_plane_number
      -- Cut first for a cluster (docs/adr/0017).
      left join (select project_number, known from keywarden.operation_coverage where project_number = any(${numbers}) offset 0) c
        on c.project_number = p.number
      cross join lateral (select coalesce(c.known, '{}'::tstzmultirange) as known) covered
    where p.number = any(${numbers}) and ${isAsked} order by p.number`);
  return rows.map(toCoverage);
}

const youngMs = 3_600_000;

function toCoverage({
  number,
  dropped,
  has_rejected: hasRejected,
  ended_at: ended,
  ...row
}: Record<string, unknown>): ListedCoverage {
  const coverage = operationCoverage.parse({ ...row, known: parse(row.known), unknown: [] });
  const { known, created_at: createdAt, walked_at: walkedAt, gone_at: goneAt } = coverage;
  const [first, last] = [known[0]?.from, known.at(-1)?.to];
  // If a project was created moments before its walk, none of its operations is old enough to be certain.
  const isYoung = Date.parse(walkedAt ?? '') - Date.parse(createdAt) < youngMs;
  const sinceWalk = goneAt === null ? 'recent' : 'deleted';
  const reasonOf = (gap: Interval): GapReason => {
    // A service that shows whole seconds leaves a second of operations that share a time.
    const lengthMs = Date.parse(gap.to) - Date.parse(gap.from);
    if (gap.from === gap.to || (lengthMs <= 1000 && first !== undefined && gap.from > first && gap.from !== last))
      return 'instant';
    if (last !== undefined && gap.from === last) return sinceWalk;
    if (walkedAt === null) return goneAt === null ? 'not_walked' : 'deleted';
    if (first === undefined && isYoung) return sinceWalk;
    if (hasRejected === true) return 'unreadable';
    if (first === undefined || gap.to <= first) return 'pruned';
    return 'gap';
  };
  const gaps = [
    ...parse(row.unknown).map((gap) => ({ ...gap, reason: reasonOf(gap) })),
    ...parse(dropped).map((gap) => ({ ...gap, reason: 'retention' as const })),
  ];
  return {
    number: String(number),
    endedAt: typeof ended === 'string' ? ended : null,
    coverage: { ...coverage, unknown: gaps.toSorted((a, b) => (a.from < b.from ? -1 : 1)) },
  };
}

/** Returns intervals parsed from Postgres's JSON. */
function parse(json: unknown): Interval[] {
  return z.array(interval).parse(typeof json === 'string' ? JSON.parse(json) : json);
}
