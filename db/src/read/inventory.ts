import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../store.ts';

/** When a scope's keys were listed completely, and between which listings more than a day lies. Times are RFC 3339. */
export interface InventoryCoverage {
  controlPlane: string;
  /** `user:ID` or `organization:ID`. */
  scope: string;
  firstListedAt: string;
  lastListedAt: string;
  listings: number;
  /** A key that came and went within one of these may never have been seen. */
  gaps: { from: string; to: string }[];
}

/** The coverage of the key inventory: each complete listing proves its own time, and says something of the day around it. */
export async function listInventoryCoverage(sql: Sql): Promise<InventoryCoverage[]> {
  const rows = await sql`
    with listing as (
      select control_plane_number, scope, listed_at,
        lag(listed_at) over (partition by control_plane_number, scope order by listed_at) as before
      from keywarden.key_listing where doubt is null
    )
    select c.base_url, l.scope, min(l.listed_at) as first, max(l.listed_at) as last, count(*)::int as listings,
      coalesce(json_agg(json_build_object('from', l.before, 'to', l.listed_at) order by l.listed_at)
        filter (where l.listed_at - l.before > interval '1 day'), '[]') as gaps
    from listing l join keywarden.control_plane c on c.number = l.control_plane_number
    group by c.number, c.base_url, l.scope order by c.number, l.scope`;
  return rows.map((row) => ({
    controlPlane: String(row.base_url),
    scope: String(row.scope),
    firstListedAt: toInstant(String(row.first)),
    lastListedAt: toInstant(String(row.last)),
    listings: Number(row.listings),
    gaps: (row.gaps as { from: string; to: string }[]).map(({ from, to }) => ({
      from: toInstant(from),
      to: toInstant(to),
    })),
  }));
}
