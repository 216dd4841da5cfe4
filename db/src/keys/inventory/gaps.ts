import { otherKinds } from '@keywarden/core/wire';
import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, time } from '../../item.ts';
import { type Reader, visible } from '../../list.ts';
import { type InventoryKind, trustedListings } from '../source.ts';

/** The intervals for which it is unknown whether other keys existed in a scope. Null: without a start, or until now. */
export const inventoryGap = z
  .strictObject({ control_plane: z.string(), scope: z.string(), from: instant.nullable(), to: instant.nullable() })
  .meta({
    id: 'InventoryGap',
    description: 'The intervals for which it is unknown whether other keys existed in the scope',
  });

export type InventoryGap = z.output<typeof inventoryGap>;

/** The organization of a scope (`organization:ID`, or `KIND:ORGANIZATION/PROJECT`); null for a user's scope. */
const organizationOf = sql`case when s.scope not like 'user:%' then regexp_replace(substr(s.scope, strpos(s.scope, ':') + 1), '/[^/]*$', '') end`;

const isOfKeys = sql`split_part(s.scope, ':', 1) in ('user', 'organization')`;

/** Each inventory's listings, how long after a listing the next is due, when the last one was, what was never listed, and whether not even that is known. */
const inventories: Record<InventoryKind, { isListing: SQL; due: SQL; over: SQL; never: SQL; isEmpty: SQL }> = {
  keys: {
    isListing: isOfKeys,
    due: sql`interval '1 day'`,
    over: sql`null::timestamptz`,
    never: sql`select o.control_plane_number, 'organization:' || o.id, null::timestamptz, null::timestamptz from keywarden.organization o
      where not exists (select from listing l where l.control_plane_number = o.control_plane_number and l.scope = 'organization:' || o.id)`,
    isEmpty: sql`not exists (select from listing) and not exists (select from keywarden.organization)`,
  },
  credentials: {
    isListing: sql`not ${isOfKeys}`,
    due: sql`interval '2 days'`,
    // When a project goes, the credentials that gave access to it go too.
    over: sql`(select p.gone_at from keywarden.project p where p.control_plane_number = listing.control_plane_number
      and p.id = regexp_replace(listing.scope, '^.*/', ''))`,
    never: sql`select p.control_plane_number, n.kind || ':' || p.organization_id || '/' || p.id, null::timestamptz, p.gone_at
      from keywarden.project p cross join unnest(${sql.param([...otherKinds])}::text[]) n(kind)
      where not exists (select from listing l where l.control_plane_number = p.control_plane_number
        and l.scope = n.kind || ':' || p.organization_id || '/' || p.id)
      union all
      select o.control_plane_number, 'credentials:' || o.id, null, null from keywarden.organization o
      where not exists (select from keywarden.project p where p.control_plane_number = o.control_plane_number and p.organization_id = o.id)
        and not exists (select from keywarden.sync_run r where r.kind = 'credentials' and r.status = 'finished')`,
    isEmpty: sql`not exists (select from keywarden.organization)`,
  },
};

/**
 * Lists, for each scope, the times between which (or at which) the inventory of keys or of other credentials is unknown:
 * - before the first complete listing
 * - where more than a day (two days for other credentials) is between two listings
 * - after the last listing, once that is as old
 * A scope that was never listed completely is one gap. So is everything in a store that knows no scope.
 */
export async function listInventoryGaps(
  db: Reader,
  {
    from,
    to,
    organizations,
    of = 'keys',
  }: { from: string; to: string; organizations: string[] | null; of?: InventoryKind },
): Promise<InventoryGap[]> {
  const { isListing, due, over, never, isEmpty } = inventories[of];
  const rows = await db.execute(sql`
    with listing as (
      select s.control_plane_number, s.scope, l.listed_at from keywarden.listed_scope s cross join lateral (select l.listed_at from ${trustedListings(sql`s`)}
        -- Of a time, only the listings around it are read, however old the store is.
        and l.listed_at >= coalesce((select max(l.listed_at) from ${trustedListings(sql`s`)} and l.listed_at <= ${from}::timestamptz), '-infinity')
        and l.listed_at <= coalesce((select min(l.listed_at) from ${trustedListings(sql`s`)} and l.listed_at >= ${to}::timestamptz), 'infinity')) l
      where ${isListing}
    ), gap as (
      select control_plane_number, scope, lag(listed_at) over w as opens, listed_at as closes from listing
      window w as (partition by control_plane_number, scope order by listed_at)
      union all
      select control_plane_number, scope, max(listed_at), ${over} from listing group by control_plane_number, scope
      union all
      ${never}
      union all
      select null, 'every scope', null, null where ${isEmpty}
    )
    select coalesce(c.base_url, 'none') as control_plane, s.scope, ${time(sql`s.opens`)} as "from", ${time(sql`s.closes`)} as "to" from gap s
      left join keywarden.control_plane c on c.number = s.control_plane_number
    where (s.control_plane_number is null or ${visible(organizationOf, organizations)})
      and (s.opens is null or coalesce(s.closes, ${to}::timestamptz) - s.opens > ${due})
      and coalesce(s.opens, '-infinity') < ${to}::timestamptz and coalesce(s.closes, 'infinity') > ${from}::timestamptz
    order by c.base_url, s.scope, s.opens nulls first`);
  return rows.map((row) => inventoryGap.parse(row));
}
