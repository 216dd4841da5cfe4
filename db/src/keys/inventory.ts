import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, time } from '../item.ts';
import type { Reader } from '../list.ts';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';

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
    with listing as (
      select control_plane_number, scope, listed_at, why_suspect,
        lag(listed_at) over (partition by control_plane_number, scope, why_suspect is null order by listed_at) as before
      from keywarden.key_listing where split_part(scope, ':', 1) in ('user', 'organization')
    ), last_trusted as (
      select control_plane_number, scope, max(number) as last from keywarden.key_listing where why_suspect is null group by 1, 2
    ), suspect as (
      select d.control_plane_number, d.scope, (array_agg(d.listed_at order by d.number))[1] as since,
        (array_agg(d.why_suspect order by d.number desc))[1] as why
      from keywarden.key_listing d left join last_trusted b on b.control_plane_number = d.control_plane_number and b.scope = d.scope
      where d.why_suspect is not null and d.number > coalesce(b.last, 0) group by 1, 2
    )
    select c.base_url as control_plane, l.scope, ${time(sql`min(l.listed_at) filter (where l.why_suspect is null)`)} as first_listed_at,
      ${time(sql`max(l.listed_at) filter (where l.why_suspect is null)`)} as last_listed_at,
      count(*) filter (where l.why_suspect is null)::int as listings,
      coalesce(json_agg(json_build_object('from', ${time(sql`l.before`)}, 'to', ${time(sql`l.listed_at`)}) order by l.listed_at)
        filter (where l.why_suspect is null and l.listed_at - l.before > interval '1 day'), '[]')::text as gaps,
      ${time(sql`d.since`)} as since, d.why
    from listing l join keywarden.control_plane c on c.number = l.control_plane_number
      left join suspect d on d.control_plane_number = l.control_plane_number and d.scope = l.scope
    group by c.number, c.base_url, l.scope, d.since, d.why order by c.number, l.scope`);
  return rows.map(({ gaps, since, why, ...row }) => {
    const suspect = why === null ? null : { since, why };
    return inventoryCoverage.parse({ ...row, gaps: JSON.parse(String(gaps)), suspect, doubt: suspect });
  });
}
