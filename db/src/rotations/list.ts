import { type SQL, sql } from 'drizzle-orm';
import { type List, time, visible, when, within } from '../list.ts';
import { keyReference } from '../plans/list.ts';

export interface RotationFilter {
  id?: string | undefined;
  keyNumber?: string | undefined;
  state?: string | undefined;
  open?: boolean | undefined;
  /** Moved in this time. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Rotations of keys, newest first: where each stands, and how it came there. */
export function rotationList(filter: RotationFilter, organizations: string[] | null): List {
  return {
    from: sql`keywarden.rotation r join keywarden.key k on k.number = r.key_number
      cross join lateral (select e.state, e.at, e.why from keywarden.rotation_event e where e.rotation_number = r.number
        order by e.sequence desc limit 1) l
      left join lateral (select m.key_id from keywarden.rotation_mint m where m.rotation_number = r.number and m.key_id is not null
        order by m.attempt desc limit 1) m on true`,
    item: {
      id: sql`r.id`,
      key: keyReference,
      successor_id: sql`m.key_id::text`,
      rule: sql`r.rule`,
      sink: sql`r.sink`,
      state: sql`l.state`,
      since: time(sql`l.at`),
      why: sql`l.why`,
      via: sql`r.via`,
      requested_by: sql`r.requested_by`,
      opened_at: time(sql`r.opened_at`),
      ended_at: time(sql`r.ended_at`),
      given_up_by: sql`r.given_up_by`,
      events: sql`(select json_agg(json_build_object('state', e.state, 'at', ${time(sql`e.at`)}, 'why', e.why) order by e.sequence)
        from keywarden.rotation_event e where e.rotation_number = r.number)`,
    },
    where: [
      when(filter.id, (id) => sql`r.id = ${id}`),
      when(
        filter.keyNumber,
        (number) => sql`(r.key_number = ${number}::bigint or r.line_number = ${number}::bigint or exists (
        select from keywarden.key_line l where l.key_number = ${number}::bigint and l.rotation_number = r.number))`,
      ),
      when(filter.state, (state) => sql`l.state = ${state}`),
      when(filter.open, (open) => (open ? sql`r.ended_at is null` : sql`r.ended_at is not null`)),
      movedWithin(filter),
      visible(sql`k.organization_id`, organizations),
    ],
    order: [{ by: sql`r.number`, type: 'bigint' }],
    direction: 'desc',
  };
}

function movedWithin({ from, to }: RotationFilter): SQL | undefined {
  const tests = within(sql`e.at`, { from, to }).filter((test) => test !== undefined);
  if (tests.length === 0) return undefined;
  return sql`exists (select from keywarden.rotation_event e where e.rotation_number = r.number and ${sql.join(tests, sql` and `)})`;
}

/** What was asked for here, newest first, and what the daemon answered. */
export function rotationRequestList(
  { keyNumber, number }: { keyNumber?: string | undefined; number?: string | undefined },
  organizations: string[] | null,
): List {
  return {
    from: sql`keywarden.rotation_request q join keywarden.key k on k.number = q.key_number
      left join keywarden.rotation_request_answer a on a.request_number = q.number
      left join keywarden.rotation r on r.number = a.rotation_number`,
    item: {
      id: sql`q.number::text`,
      key: keyReference,
      requested_by: sql`q.requested_by`,
      reason: sql`q.reason`,
      requested_at: time(sql`q.requested_at`),
      answered_at: time(sql`a.answered_at`),
      rotation_id: sql`r.id`,
      why_not: sql`a.why_not`,
    },
    where: [
      when(number, (wanted) => sql`q.number = ${wanted}::bigint`),
      when(keyNumber, (wanted) => sql`q.key_number = ${wanted}::bigint`),
      visible(sql`k.organization_id`, organizations),
    ],
    order: [{ by: sql`q.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
