import { sql } from 'drizzle-orm';
import { type List, type Reader, time, visible, when } from '../list.ts';

/** An exemption's own present: that of the control plane of its keys. */
const present = sql`(select max(p.at) from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
  join keywarden.control_plane_present p on p.control_plane_number = k.control_plane_number where x.exemption_number = e.number)`;
const state = sql`case when e.ended_at is not null then 'ended' when e.until <= ${present} then 'lapsed' else 'in_force' end`;

export interface ExemptionFilter {
  number?: string | undefined;
  keyNumber?: string | undefined;
  state?: 'in_force' | 'ended' | 'lapsed' | undefined;
  /** Their time ends before this. */
  lapsesBefore?: string | undefined;
  /** In force at some time between these. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Exceptions from rules, newest first, with those of their keys that the asker may see. */
export function exemptionList(filter: ExemptionFilter, organizations: string[] | null): List {
  const sees = visible(sql`k.organization_id`, organizations) ?? sql`true`;
  return {
    from: sql`keywarden.exemption e`,
    item: {
      id: sql`e.number::text`,
      rules: sql`e.rules`,
      reason: sql`e.reason`,
      pattern: sql`e.pattern`,
      granted_by: sql`e.granted_by`,
      granted_at: time(sql`e.granted_at`),
      until: time(sql`e.until`),
      state,
      ended_at: time(sql`e.ended_at`),
      ended_by: sql`e.ended_by`,
      keys: sql`(select json_agg(json_build_object('number', k.number::text, 'id', k.id::text, 'name', k.name,
          'organization_id', k.organization_id) order by k.number)
        from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number where x.exemption_number = e.number and ${sees})`,
    },
    where: [
      when(filter.number, (number) => sql`e.number = ${number}::bigint`),
      when(filter.state, (wanted) => sql`${state} = ${wanted}`),
      when(filter.lapsesBefore, (at) => sql`e.until < ${at}::timestamptz`),
      when(filter.from, (at) => sql`least(e.until, e.ended_at) >= ${at}::timestamptz`),
      when(filter.to, (at) => sql`e.granted_at < ${at}::timestamptz`),
      sql`exists (select from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
        where x.exemption_number = e.number and ${sees}
          and ${when(filter.keyNumber, (number) => sql`k.number = ${number}::bigint`) ?? sql`true`})`,
    ],
    order: [{ by: sql`e.number`, type: 'bigint' }],
    direction: 'desc',
  };
}

/** Whether every key that an exemption covers is of organizations that the asker may see. */
export async function coversOnly(db: Reader, number: string, organizations: string[] | null): Promise<boolean> {
  const [row] = await db.execute(sql`
    select coalesce(bool_and(coalesce(${visible(sql`k.organization_id`, organizations) ?? sql`true`}, false)), false) as covers
    from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number where x.exemption_number = ${number}::bigint`);
  return row?.covers === true;
}
