import { unknownCreator } from '@keywarden/core/wire';
import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { listedReference, listedReferenceToKey } from '../keys/reference.ts';
import { type FilterOf, isNumber, listOf, matching, type Reader, visible, when } from '../list.ts';
import { isTrue } from '../sql.ts';

export const exemptionItem = z
  .strictObject({
    id: z.string(),
    rules: z.array(z.string()).nullable().meta({ description: 'null means every rule' }),
    reason: z.string().meta({ description: 'Hidden if it also covers keys that the token cannot see' }),
    pattern: z.string().nullable(),
    granted_by: z.string(),
    granted_at: instant,
    until: instant,
    state: z.enum(['in_force', 'ended', 'lapsed']),
    ended_at: instant.nullable(),
    ended_by: z.string().nullable(),
    keys: z.array(listedReference),
  })
  .meta({ id: 'Exemption' });

export type Exemption = z.output<typeof exemptionItem>;

/** An exemption's current time: that of its keys' control plane. */
const controlPlaneNow = sql`(select max(p.at) from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
  join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number where x.exemption_number = e.number)`;
const state = sql`case when e.ended_at is not null then 'ended' when e.until <= ${controlPlaneNow} then 'lapsed' else 'in_force' end`;

const filters = {
  number: isNumber('e.number'),
  state: (wanted: Exemption['state']) => sql`${state} = ${wanted}`,
  /** Exemptions that end before this time. */
  lapsesBefore: (at: string) => sql`e.until < ${at}::timestamptz`,
  /** Exemptions in force at some time between these two. */
  from: (at: string) => sql`least(e.until, e.ended_at) >= ${at}::timestamptz`,
  to: (at: string) => sql`e.granted_at < ${at}::timestamptz`,
};
/** `key` is a key's number in the store. */
type ExemptionFilter = FilterOf<typeof filters> & { key?: string | undefined };

/**
 * SQL: the numbers of the keys whose exemptions hold for a key: those of its lineage, and their records in other scopes (see readExemptions). Only the keys of
 * this lineage are looked up (offset 0 keeps them apart): those of all lineages take 60 ms in a store with 5,000 rotations.
 */
const exemptWith = (number: string) => sql`array(
  with f as (select w.lineage_number as number from keywarden.key_owner_now w where w.key_number = ${number}::bigint
      union select r.lineage_number from keywarden.rotation r where r.key_number = ${number}::bigint),
    m as (select number from f union select r.key_number from f join keywarden.rotation r on r.lineage_number = f.number
      union select l.key_number from f cross join lateral (
        select l.key_number from keywarden.key_lineage l where l.lineage_number = f.number offset 0) l)
  select number from m union select s.number from m join keywarden.credential c on c.number = m.number
    join keywarden.credential s on s.control_plane_number = c.control_plane_number and s.id = c.id
      and (s.creator_id = c.creator_id or ${unknownCreator} in (s.creator_id, c.creator_id))
      and date_trunc('second', s.created_at) = date_trunc('second', c.created_at))`;

/** Lists exemptions, newest first, each with those of its keys that are visible to the caller. */
export function exemptionList(filter: ExemptionFilter, organizations: string[] | null) {
  const sees = visible(sql`k.organization_id`, organizations);
  return listOf(exemptionItem, 'e', {
    from: sql`keywarden.exemption e`,
    item: {
      id: sql`e.number::text`,
      state,
      // What was written for several organizations may be about any of them.
      reason: sql`case when ${coversOnlySeen(sql`e.number`, organizations)} then e.reason else ${sharedReason} end`,
      pattern: sql`case when ${coversOnlySeen(sql`e.number`, organizations)} then e.pattern end`,
      keys: sql`(select json_agg(${listedReferenceToKey} order by k.number)
        from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number where x.exemption_number = e.number and ${sees})`,
    },
    where: [
      ...matching(filters, filter),
      sql`exists (select from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
        where x.exemption_number = e.number and ${sees}
          and ${when(filter.key, (number) => sql`k.number = any(${exemptWith(number)})`) ?? sql`true`})`,
    ],
  });
}

/** Returns whether every key of an exemption belongs to organizations that are visible to the caller. */
export async function coversOnly(db: Reader, number: string, organizations: string[] | null): Promise<boolean> {
  return await isTrue(db.execute(sql`select ${coversOnlySeen(sql`${number}::bigint`, organizations)}`));
}

const sharedReason = 'It also covers keys of other organizations.';

/** SQL: whether an exemption covers keys, and only those of these organizations. */
export const coversOnlySeen = (number: SQL, organizations: string[] | null) => sql`(
  select coalesce(bool_and(coalesce(${visible(sql`k.organization_id`, organizations)}, false)), false)
  from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number where x.exemption_number = ${number})`;
