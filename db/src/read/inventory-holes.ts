import { sql } from 'drizzle-orm';
import { toInstant } from '../schema/columns.ts';
import { type Reader, visible } from './list.ts';

/** Times of which nobody knows whether other keys came and went in a scope. Null: since ever, or until now. */
export interface InventoryHole {
  control_plane: string;
  scope: string;
  from: string | null;
  to: string | null;
}

const organizationOf = sql`case when s.scope like 'organization:%' then substr(s.scope, 14) end`;

/**
 * Where the inventory of keys is not known between two times (or at one), scope by scope: before its first complete listing, where more
 * than a day lies between two, and after the last one once that is a day old; an organization that was never listed whole is one hole.
 */
export async function listInventoryHoles(
  db: Reader,
  { from, to, organizations }: { from: string; to: string; organizations: string[] | null },
): Promise<InventoryHole[]> {
  const rows = await db.execute(sql`
    with listing as (
      select control_plane_number, scope, listed_at from keywarden.key_listing where doubt is null
    ), gap as (
      select control_plane_number, scope, lag(listed_at) over w as opens, listed_at as closes from listing
      window w as (partition by control_plane_number, scope order by listed_at)
      union all
      select control_plane_number, scope, max(listed_at), null from listing group by control_plane_number, scope
      union all
      select o.control_plane_number, 'organization:' || o.id, null, null from keywarden.organization o
      where not exists (select from listing l where l.control_plane_number = o.control_plane_number and l.scope = 'organization:' || o.id)
    )
    select c.base_url as control_plane, s.scope, s.opens, s.closes from gap s
      join keywarden.control_plane c on c.number = s.control_plane_number
    where ${visible(organizationOf, organizations) ?? sql`true`}
      and (s.opens is null or coalesce(s.closes, ${to}::timestamptz) - s.opens > interval '1 day')
      and coalesce(s.opens, '-infinity') < ${to}::timestamptz and coalesce(s.closes, 'infinity') > ${from}::timestamptz
    order by c.base_url, s.scope, s.opens nulls first`);
  return rows.map((row) => ({
    control_plane: String(row.control_plane),
    scope: String(row.scope),
    from: toTime(row.opens),
    to: toTime(row.closes),
  }));
}

function toTime(value: unknown): string | null {
  return typeof value === 'string' ? toInstant(value) : null;
}
