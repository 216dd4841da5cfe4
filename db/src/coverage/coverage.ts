import { type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';

/** Times from `from` to `to`, RFC 3339 with every digit; a bound that is not included is an instant outside. */
export interface Interval {
  from: string;
  to: string;
  isFromIncluded: boolean;
  isToIncluded: boolean;
}

/**
 * Why the archive does not claim to have every operation of an interval. recent: not walked since, or too young to be sure of;
 * deleted: the project went, or was hidden, before a walk came; not_walked: the first walk has not come so far; pruned: the control plane no longer
 * served them when the project was first walked; gap: no walk came while they were served; instant: operations of that one time could not be proved whole, mostly
 * because more bear it than a page can show; unreadable: a walk met rows of the project that cannot be read, and this is not claimed, perhaps for them;
 * retention: dropped by our own retention.
 */
export type HoleReason =
  | 'recent'
  | 'deleted'
  | 'not_walked'
  | 'pruned'
  | 'gap'
  | 'instant'
  | 'unreadable'
  | 'retention';

export interface ProjectCoverage {
  /** The project's number in the store: the place in this list. */
  number: string;
  controlPlane: string;
  organizationId: string;
  projectId: string;
  name: string;
  createdAt: string;
  walkedAt: string | null;
  goneAt: string | null;
  /** When a list last showed it: of later times nothing is asked. */
  lastListedAt: string;
  known: Interval[];
  unknown: (Interval & { reason: HoleReason })[];
}

/** What is asked: from the project's creation to when it was last listed, or to when it was found missing. */
const asked = sql`tstzmultirange(tstzrange(p.created_at, greatest(p.created_at, coalesce(p.missing_since, p.last_seen_at)), '[]'))`;
const dropped = sql`coalesce((select range_agg(tstzrange(d.month::timestamp at time zone 'UTC',
  (d.month + interval '1 month') at time zone 'UTC')) from keywarden.operation_drop d where d.dropped_at is not null), '{}')`;
const intervals = (of: SQL) => sql`coalesce((select json_agg(json_build_object('from', lower(r), 'to', upper(r),
  'isFromIncluded', lower_inc(r), 'isToIncluded', upper_inc(r)) order by r) from unnest(${of}) r), '[]')`;

/** What the archive is known to hold of each project, and where it is not, in the order of their numbers. */
export async function listCoverage(
  db: Reader,
  {
    projectId,
    organizations = null,
    after = null,
    limit,
  }: { projectId?: string | undefined; organizations?: string[] | null; after?: string | null; limit: number },
): Promise<ProjectCoverage[]> {
  const rows = await db.execute(sql`
    select p.number::text, o.base_url, p.organization_id, p.id, p.name, p.walked_at is not null as is_walked,
      ${intervals(sql`covered.known`)} as known,
      ${intervals(sql`${asked} - covered.known - ${dropped}`)} as unknown,
      ${intervals(sql`(${asked} - covered.known) * ${dropped}`)} as dropped,
      to_json(p.created_at) as created_at, to_json(p.walked_at) as walked_at, to_json(p.gone_at) as gone_at,
      to_json(p.last_seen_at) as last_seen_at, exists (select from keywarden.rejected_row r
        where r.control_plane_number = p.control_plane_number and r.list = 'operations' and r.place = p.id) as has_rejected
    from keywarden.project p
      join keywarden.control_plane o on o.number = p.control_plane_number
      left join keywarden.operation_coverage c on c.project_number = p.number
      cross join lateral (select coalesce(c.known, '{}'::tstzmultirange) as known) covered
    where (${projectId ?? null}::text is null or p.id = ${projectId ?? null})
      and (${organizations === null} or p.organization_id = any(${sql.param(organizations ?? [])}::text[]))
      and p.number > coalesce(${after}::bigint, 0)
    order by p.number limit ${limit}`);
  return rows.map(toCoverage);
}

const youngMs = 3_600_000;

function toCoverage(row: Record<string, unknown>): ProjectCoverage {
  const [createdAt, walkedAt, goneAt] = [row.created_at, row.walked_at, row.gone_at].map(toText);
  const facts = { walkedAt: walkedAt ?? null, goneAt: goneAt ?? null };
  const unknown = toIntervals(row.unknown);
  const known = toIntervals(row.known);
  const [first, last] = [known[0]?.from, known.at(-1)?.to];
  // Nothing of a project that was made a moment before its walk is old enough to be sure of.
  const isYoung = Date.parse(facts.walkedAt ?? '') - Date.parse(createdAt ?? '') < youngMs;
  const reasonOf = (hole: Interval): HoleReason => {
    if (hole.from === hole.to) return 'instant';
    if (last !== undefined && hole.from === last) return facts.goneAt === null ? 'recent' : 'deleted';
    if (facts.walkedAt === null) return facts.goneAt === null ? 'not_walked' : 'deleted';
    if (first === undefined && isYoung) return 'recent';
    if (row.has_rejected === true) return 'unreadable';
    if (first === undefined || hole.to <= first) return 'pruned';
    return 'gap';
  };
  const holes = [
    ...unknown.map((hole) => ({ ...hole, reason: reasonOf(hole) })),
    ...toIntervals(row.dropped).map((hole) => ({ ...hole, reason: 'retention' as const })),
  ];
  return {
    number: String(row.number),
    controlPlane: String(row.base_url),
    organizationId: String(row.organization_id),
    projectId: String(row.id),
    name: String(row.name),
    createdAt: createdAt ?? '',
    ...facts,
    lastListedAt: toText(row.last_seen_at) ?? '',
    known,
    unknown: holes.toSorted((a, b) => (a.from < b.from ? -1 : 1)),
  };
}

/** Postgres's JSON of a timestamptz in UTC, as the rest of Keywarden writes it. */
function toText(at: unknown): string | undefined {
  return typeof at === 'string' ? at.replaceAll('"', '').replace('+00:00', 'Z') : undefined;
}

function toIntervals(json: unknown): Interval[] {
  const rows: Interval[] = typeof json === 'string' ? JSON.parse(json) : json;
  return rows.map((row) => ({ ...row, from: toText(row.from) ?? '', to: toText(row.to) ?? '' }));
}
