import { sql } from 'drizzle-orm';
import { keysNow } from '../keys/source.ts';
import { type Reader, visible } from '../list.ts';
import { isIdle } from './figures.ts';

/**
 * Counts the live keys of each organization, once on each day of their control plane. A day is counted once, so what is listed later on that
 * day is in the next count. A key without a trusted listing within a day is unknown. An organization that was counted before and has no key any more
 * has zero.
 */
export async function countKeysOfDay(db: Reader): Promise<void> {
  const day = sql`(p.at at time zone 'UTC')::date`;
  await db.execute(sql`
    insert into keywarden.key_count (day, control_plane_number, organization_id, live, idle, unknown)
    with due as (
      select p.control_plane_number, p.at, ${day} as day from keywarden.control_plane_now p
      where not exists (select from keywarden.key_count c where c.control_plane_number = p.control_plane_number and c.day = ${day})
    ), live as (
      select p.day, k.control_plane_number, coalesce(k.organization_id, '') as organization_id,
        l.is_fresh and ${isIdle} as is_idle, not l.is_fresh or k.use = 'unknown' or not k.creation_known as is_unknown
      from due p join ${keysNow('keys')} on k.control_plane_number = p.control_plane_number
        cross join lateral (select coalesce((select g.listed_at > p.at - interval '1 day' from keywarden.key_listing g
          where g.control_plane_number = k.control_plane_number and g.scope = k.scope and g.why_suspect is null
          order by g.listed_at desc limit 1), false) as is_fresh) l
      where k.state <> 'gone'
    ), counted as (
      select day, control_plane_number, organization_id, count(*) as live, count(*) filter (where is_idle) as idle,
        count(*) filter (where is_unknown) as unknown from live group by 1, 2, 3
    )
    select * from counted
    union all select distinct p.day, p.control_plane_number, c.organization_id, 0, 0, 0
      from due p join keywarden.key_count c on c.control_plane_number = p.control_plane_number
      where not exists (select from counted n where n.control_plane_number = p.control_plane_number and n.organization_id = c.organization_id)
    order by 1, 2, 3
    on conflict do nothing`);
}

/** The live keys of a week: of each organization, those of its last counted day. */
export interface WeekCount {
  /** The last counted day: `2026-03-31`. */
  day: string;
  inUse: number;
  idle: number;
  unknown: number;
}

/** Returns the counts of the last 52 weeks that have one, oldest first. */
export async function readIdleTrend(db: Reader, organizations: string[] | null): Promise<WeekCount[]> {
  const rows = await db.execute(sql`
    select max(w.day)::text as day, sum(w.live)::int as live, sum(w.idle)::int as idle, sum(w.unknown)::int as unknown
    from (select distinct on (date_trunc('week', c.day), c.control_plane_number, c.organization_id) date_trunc('week', c.day) as week, c.*
      from keywarden.key_count c
      where c.day > (select max(l.day) from keywarden.key_count l) - 364 and ${visible(sql`c.organization_id`, organizations)}
      order by date_trunc('week', c.day), c.control_plane_number, c.organization_id, c.day desc) w
    group by w.week order by w.week`);
  return rows.map((row) => {
    const [live, idle, unknown] = [Number(row.live), Number(row.idle), Number(row.unknown)];
    return { day: String(row.day), inUse: live - idle - unknown, idle, unknown };
  });
}
