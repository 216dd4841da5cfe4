import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { time } from '../item.ts';
import { ownerOfKey } from '../keys/reference.ts';
import { keysNow } from '../keys/source.ts';
import { type Reader, visible } from '../list.ts';

/** One bar of a chart: the number of keys or rotations in a group. */
export interface Figure {
  group: string;
  count: number;
}

type Organizations = string[] | null;

const seen = (organizations: Organizations): SQL => visible(sql`k.organization_id`, organizations);

async function read(db: Reader, query: SQL): Promise<Figure[]> {
  const rows = await db.execute(query);
  return rows.map((row) => ({ group: String(row.group), count: Number(row.count) }));
}

/** Counts live keys by age or by time since last use, by the control plane's clock. Unknown ones have a group of their own. */
export async function countKeysByAge(
  db: Reader,
  of: 'created' | 'used',
  organizations: Organizations,
): Promise<Figure[]> {
  const days = sql`extract(epoch from p.at - ${of === 'created' ? sql`k.created_at` : sql`k.last_used_at`}) / 86400`;
  const isUnknown = of === 'created' ? sql`not k.creation_known` : sql`k.use = 'unknown'`;
  const isNever = of === 'created' ? sql`false` : sql`k.use = 'never'`;
  const figures = await read(
    db,
    sql`with aged as (
      select case when ${isUnknown} then 6 when ${isNever} then 5 else width_bucket(${days}, array[7, 30, 90, 365]) end as slot
      from ${keysNow('keys')} join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
      where k.state = 'active' and ${seen(organizations)}
    )
    select (array['under 7 d', '7 to 30 d', '30 to 90 d', '90 d to 1 y', 'over 1 y', 'never', 'unknown'])[s + 1] as "group",
      count(a.slot)::int as count
    from generate_series(0, 6) s left join aged a on a.slot = s group by s order by s`,
  );
  return figures.filter(
    ({ group, count }) => count > 0 || !(group === 'unknown' || (group === 'never' && of === 'created')),
  );
}

/** Whether a key `k` is known to be unused for over 90 days, or never used and created longer ago, at the time `p.at`. */
export const isIdle = sql`(k.use <> 'unknown' and k.creation_known and coalesce(k.last_used_at, k.created_at) < p.at - interval '90 days'
  and k.created_at < p.at - interval '90 days')`;

/** The keys of an organization or of an owner, by what needs attention. */
const breakdown = z.object({
  /** The organization's id, or null for personal keys; or the owner. */
  id: z.string().nullable(),
  name: z.string(),
  keys: z.int(),
  /** Known to be unused for over 90 days, or never used and created longer ago. */
  idle: z.int(),
  /** In the newest plan, to be revoked. */
  planned: z.int(),
});

export type Breakdown = z.output<typeof breakdown>;

/** Counts live keys by organization or by owner, those with most idle keys first. */
export async function breakDownKeys(
  db: Reader,
  by: 'organization' | 'owner',
  { organizations, limit }: { organizations: Organizations; limit: number },
): Promise<Breakdown[]> {
  // An owner of whom only the id is known is shown by the name that the control plane gives for the creator.
  const [id, join, name] =
    by === 'organization'
      ? [sql`k.organization_id`, sql``, sql`max(o.name)`]
      : [
          sql`w.owner`,
          sql`cross join lateral (select ${ownerOfKey} as owner offset 0) w`,
          sql`max(k.creator_name) filter (where k.creator_id = w.owner)`,
        ];
  const rows = await db.execute(sql`
    select b.id, coalesce(b.name, b.id, 'personal') as name, b.keys, b.idle, b.planned
    from (
      select ${id} as id, ${name} as name, count(*)::int as keys, (count(*) filter (where ${isIdle}))::int as idle,
        (count(*) filter (where k.number in (select f.key_number from keywarden.finding_now f
          where f.plan_id = (select id from keywarden.newest_plan) and f.disposition = 'planned')))::int as planned
      from ${keysNow('keys')} join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number ${join}
        left join keywarden.organization o on o.control_plane_number = k.control_plane_number and o.id = k.organization_id
      where k.state = 'active' and ${seen(organizations)} group by 1
    ) b order by b.idle desc, b.keys desc, b.id limit ${limit}`);
  return rows.map((row) => breakdown.parse(row));
}

/** Counts the keys of the newest plan by the rules that match them. */
export async function countFindingsByRule(db: Reader, organizations: Organizations): Promise<Figure[]> {
  return await read(
    db,
    sql`select f.rule as "group", count(*)::int as count from keywarden.finding_now f join keywarden.credential k on k.number = f.key_number
    where f.plan_id = (select id from keywarden.newest_plan) and ${seen(organizations)}
    group by 1 order by 2 desc, 1`,
  );
}

/** Counts keys that were revoked, or rotations that succeeded, in each of the last months. */
export async function countByMonth(
  db: Reader,
  of: 'revoked' | 'rotated',
  organizations: Organizations,
): Promise<Figure[]> {
  const ended =
    of === 'revoked'
      ? sql`select coalesce(i.judged_at, i.created_at) as at from keywarden.revocation_intent i
          join keywarden.revocation_outcome o on o.intent_number = i.number join keywarden.credential k on k.number = i.key_number
          where o.outcome = 'revoked' and ${seen(organizations)}`
      : sql`select e.at from keywarden.rotation_event e join keywarden.rotation r on r.number = e.rotation_number
          join keywarden.credential k on k.number = r.key_number where e.state = 'retired' and ${seen(organizations)}`;
  return await read(
    db,
    sql`with present as (select coalesce(max(at), now()) as at from keywarden.control_plane_now), ended as (${ended})
    select to_char(m.month at time zone 'UTC', 'YYYY-MM') as "group",
      (select count(*)::int from ended where ended.at >= m.month and ended.at < m.month + interval '1 month') as count
    from present, generate_series(date_trunc('month', present.at, 'UTC') - interval '11 months', present.at, interval '1 month') as m(month)
    order by 1`,
  );
}

/** Returns when keys were last listed completely, by the control plane's clock; null if they never were. */
export async function readLastListing(db: Reader): Promise<string | null> {
  const [row] = await db.execute(sql`
    select ${time(sql`listed_at`)} as at from keywarden.key_listing
    where why_suspect is null and split_part(scope, ':', 1) in ('user', 'organization') order by number desc limit 1`);
  return typeof row?.at === 'string' ? row.at : null;
}

/** Returns the current time of the control planes as recorded in the store. Of several control planes the latest counts. */
export async function readControlPlaneNow(db: Reader): Promise<string> {
  const [row] = await db.execute(sql`
    select ${time(sql`coalesce(max(at), now())`)} as at from keywarden.control_plane_now`);
  return String(row?.at);
}
