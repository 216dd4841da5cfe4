import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, time } from '../../item.ts';
import type { Reader } from '../../list.ts';
import { toInstant } from '../../schema/columns.ts';
import type { Sql } from '../../sql.ts';
import { trustedListings } from '../source.ts';

const suspicion = z.strictObject({ since: instant, why: z.string() }).nullable();

/** The times of a scope's complete listings, and the listings between which more than a day passed. */
export const inventoryCoverage = z
  .strictObject({
    control_plane: z.string(),
    scope: z.string().meta({ description: 'user:ID or organization:ID' }),
    first_listed_at: instant.nullable().meta({ description: 'Null if no listing was trusted so far' }),
    last_listed_at: instant.nullable(),
    listings: z.int(),
    gaps: z.array(z.strictObject({ from: instant, to: instant })).meta({
      description: 'A key that existed only within one of these intervals may never have been observed',
    }),
    suspect: suspicion.meta({ description: 'Why the newest listings are suspect, and since when' }),
    doubt: suspicion.meta({ description: 'The former name of suspect', deprecated: true }),
  })
  .meta({ id: 'InventoryCoverage' });

export type InventoryCoverage = z.output<typeof inventoryCoverage>;

/** Lists the scopes that a connection lists and whose newest listing is suspect, with the start and the reason. */
export async function listSuspectScopes(db: Sql): Promise<{ scope: string; since: string; why: string }[]> {
  const rows = await db`
    select s.scope, since.listed_at as since, newest.why_suspect as why from (
      select distinct s.control_plane_number, s.scope from keywarden.connection_scope s
        join keywarden.connection c on c.name = s.connection and c.removed_at is null) s
    cross join lateral (
      select number, why_suspect from keywarden.key_listing l where l.control_plane_number = s.control_plane_number and l.scope = s.scope
      order by l.number desc limit 1) newest
    cross join lateral (
      select coalesce(max(number), 0) as number from keywarden.key_listing l
      where l.control_plane_number = s.control_plane_number and l.scope = s.scope and l.why_suspect is null) last_trusted
    cross join lateral (
      select listed_at from keywarden.key_listing l where l.control_plane_number = s.control_plane_number and l.scope = s.scope
        and l.number > last_trusted.number order by l.number limit 1) since
    where newest.why_suspect is not null order by s.scope`;
  return rows.map((row) => ({ scope: String(row.scope), since: toInstant(String(row.since)), why: String(row.why) }));
}

/** Returns the coverage of the key inventory. Each complete listing proves its own time, and is evidence for the day around it. */
export async function listInventoryCoverage(db: Reader): Promise<InventoryCoverage[]> {
  const rows = await db.execute(sql`
    with scope as (
      select control_plane_number, scope from keywarden.listed_scope
      union select control_plane_number, scope from keywarden.key_listing where why_suspect is not null
    )
    select c.base_url as control_plane, s.scope, ${time(sql`t.first`)} as first_listed_at, ${time(sql`t.last`)} as last_listed_at, t.listings, t.gaps,
      ${time(sql`d.since`)} as since, d.why
    from scope s join keywarden.control_plane c on c.number = s.control_plane_number
      -- The trusted listings of one scope are in the order of their index: those of all scopes would have to be sorted.
      cross join lateral (
        select min(l.listed_at) as first, max(l.listed_at) as last, count(*)::int as listings,
          coalesce(json_agg(json_build_object('from', ${time(sql`l.before`)}, 'to', ${time(sql`l.listed_at`)}) order by l.listed_at)
            filter (where l.listed_at - l.before > interval '1 day'), '[]')::text as gaps
        from (select l.listed_at, lead(l.listed_at) over (order by l.listed_at desc) as before from ${trustedListings(sql`s`)}) l) t
      cross join lateral (
        select (array_agg(l.listed_at order by l.number))[1] as since, (array_agg(l.why_suspect order by l.number desc))[1] as why
        from keywarden.key_listing l
        where l.control_plane_number = s.control_plane_number and l.scope = s.scope and l.why_suspect is not null and l.number > coalesce((
          select n.number from keywarden.key_listing n
          where n.control_plane_number = s.control_plane_number and n.scope = s.scope and n.why_suspect is null order by n.number desc limit 1), 0)) d
    where split_part(s.scope, ':', 1) in ('user', 'organization') order by c.number, s.scope`);
  return rows.map(({ gaps, since, why, ...row }) => {
    const suspect = why === null ? null : { since, why };
    return inventoryCoverage.parse({ ...row, gaps: JSON.parse(String(gaps)), suspect, doubt: suspect });
  });
}
