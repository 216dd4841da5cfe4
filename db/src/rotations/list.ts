import { rotationStates } from '@keywarden/core/rotation';
import { and, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, jsonOf, time } from '../item.ts';
import { keyReference, referenceToKey } from '../keys/reference.ts';
import { equals, type FilterOf, isNumber, listOf, matching, visible, within } from '../list.ts';
import { rotationVias } from '../schema/rotations.ts';

const state = z.enum(rotationStates);
const event = z.strictObject({ state, at: instant, why: z.string().nullable() });

export const rotationItem = z
  .strictObject({
    id: z.string(),
    key: keyReference,
    successor_id: z.string().nullable(),
    rule: z.string().nullable(),
    sink: z.string(),
    state,
    since: instant,
    why: z.string().nullable(),
    via: z.enum(rotationVias),
    requested_by: z.string(),
    opened_at: instant,
    ended_at: instant.nullable(),
    given_up_by: z.string().nullable(),
    events: z.array(event),
  })
  .meta({ id: 'Rotation' });

const moved = within(sql`e.at`);
const filters = {
  id: equals('r.id'),
  /** The store's number of a key in its lineage. */
  key: (number: string) => sql`r.number = any(array(
    select o.number from keywarden.rotation o where o.key_number = ${number}::bigint or o.lineage_number = ${number}::bigint
    union all
    select m.rotation_number from keywarden.rotation_mint m where m.key_id = (select c.id from keywarden.credential c where c.number = ${number}::bigint)
      and exists (select from keywarden.key_lineage l where l.rotation_number = m.rotation_number and l.key_number = ${number}::bigint)))`,
  state: (wanted: z.output<typeof state>) => sql`l.state = ${wanted}`,
  open: (open: boolean) => (open ? sql`r.ended_at is null` : sql`r.ended_at is not null`),
};
/** `from` and `to`: rotations that changed in this time. */
type RotationFilter = FilterOf<typeof filters> & FilterOf<typeof moved>;

/** Lists rotations of keys, newest first, with their states and transitions. */
export function rotationList(filter: RotationFilter, organizations: string[] | null) {
  return listOf(rotationItem, 'r', {
    from: sql`keywarden.rotation r join keywarden.key k on k.number = r.key_number
      cross join lateral (select e.state, e.at, e.why from keywarden.rotation_event e where e.rotation_number = r.number
        order by e.sequence desc limit 1) l
      left join lateral (select m.key_id from keywarden.rotation_mint m where m.rotation_number = r.number and m.key_id is not null
        order by m.attempt desc limit 1) m on true`,
    item: {
      key: referenceToKey,
      successor_id: sql`m.key_id::text`,
      state: sql`l.state`,
      since: time(sql`l.at`),
      why: sql`l.why`,
      events: sql`(select json_agg(${jsonOf(event, 'e')} order by e.sequence)
        from keywarden.rotation_event e where e.rotation_number = r.number)`,
    },
    where: [...matching(filters, filter), movedWithin(filter), visible(sql`k.organization_id`, organizations)],
  });
}

function movedWithin(filter: RotationFilter): SQL | undefined {
  const isWithin = and(...matching(moved, filter));
  return (
    isWithin && sql`exists (select from keywarden.rotation_event e where e.rotation_number = r.number and ${isWithin})`
  );
}

export const rotationRequestItem = z
  .strictObject({
    id: z.string(),
    key: keyReference,
    requested_by: z.string(),
    reason: z.string(),
    requested_at: instant,
    answered_at: instant.nullable(),
    rotation_id: z.string().nullable(),
    why_not: z.string().nullable(),
  })
  .meta({ id: 'RotationRequest' });

const requestFilters = { number: isNumber('q.number'), key: isNumber('q.key_number') };

/** Lists the rotation requests made here, newest first, with the daemon's answers. */
export function rotationRequestList(filter: FilterOf<typeof requestFilters>, organizations: string[] | null) {
  return listOf(rotationRequestItem, 'q', {
    from: sql`keywarden.rotation_request q join keywarden.key k on k.number = q.key_number
      left join keywarden.rotation_request_answer a on a.request_number = q.number
      left join keywarden.rotation r on r.number = a.rotation_number`,
    item: {
      id: sql`q.number::text`,
      key: referenceToKey,
      answered_at: time(sql`a.answered_at`),
      rotation_id: sql`r.id`,
      why_not: sql`a.why_not`,
    },
    where: [...matching(requestFilters, filter), visible(sql`k.organization_id`, organizations)],
  });
}
