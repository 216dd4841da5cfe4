import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { equals, type FilterOf, isNumber, listOf, matching, within } from '../list.ts';

export const ledgerEventItem = z
  .strictObject({
    number: z.string(),
    type: z.string(),
    subject: z.string().meta({ description: 'The table and the number of the row that it is about' }),
    recorded_at: instant,
    leaf_index: z.string().nullable().meta({ description: 'Its place in the tree; null until it is added' }),
  })
  .meta({ id: 'LedgerEvent' });

/** A record of the report, by its kind and the id that the report shows. */
interface LedgerRecord {
  kind: LedgerRecordKind;
  id: string;
}

/** Returns the number that an id has; that of no row if it is none. */
const numberOf = (id: string) => (/^\d{1,18}$/.test(id) ? id : '0');

/** The subjects of the intents that meet a condition, and of their outcomes. */
const revocationsOf = (condition: SQL) =>
  sql`select t || number from keywarden.revocation_intent cross join unnest('{revocation_intent/,revocation_outcome/}'::text[]) t where ${condition}`;

/** The subjects of the events about each kind of record: a query with one column. */
const subjectsOf = {
  plan: (id) => sql`select 'plan/' || ${id}
    union all select 'plan_rejection/' || number from keywarden.plan_rejection where plan_id = ${id}
    union all select t || number from keywarden.plan_approval cross join unnest('{plan_approval/,approval_end/}'::text[]) t where plan_id = ${id}
    union all ${revocationsOf(sql`plan_id = ${id}`)}`,
  revocation: (id) => sql`values ('revocation_intent/' || ${id}), ('revocation_outcome/' || ${id})`,
  rotation: (id) => sql`select 'rotation/' || number from keywarden.rotation where id = ${id}
    union all select 'rotation_event/' || rotation_number || '/' || sequence from keywarden.rotation_event
      join keywarden.rotation r on r.number = rotation_number where r.id = ${id}
    union all ${revocationsOf(sql`rotation_number = (select number from keywarden.rotation where id = ${id})`)}`,
  review: (id) => sql`values ('review/' || ${id}), ('review_signature/' || ${id})
    union all select 'review_decision/' || number from keywarden.review_decision where review_number = ${numberOf(id)}::bigint`,
  campaign: (id) => sql`select 'review_campaign/' || ${id}
    union all select t || number from keywarden.review cross join unnest('{review/,review_signature/}'::text[]) t
      where campaign_number = ${numberOf(id)}::bigint
    union all select 'review_decision/' || d.number from keywarden.review_decision d join keywarden.review r on r.number = d.review_number
      where r.campaign_number = ${numberOf(id)}::bigint`,
  exemption: (id) => sql`select 'exemption/' || ${id}`,
  incident: (id) => sql`select 'incident/' || ${id}`,
} satisfies Record<string, (id: string) => SQL>;

export type LedgerRecordKind = keyof typeof subjectsOf;
export const ledgerRecordKinds = Object.keys(subjectsOf) as [LedgerRecordKind, ...LedgerRecordKind[]];

const filters = {
  number: isNumber('e.number'),
  type: equals('e.type'),
  subject: equals('e.subject'),
  /** A record of the report with everything that belongs to it. */
  about: ({ kind, id }: LedgerRecord) => sql`e.subject = any(array(${subjectsOf[kind](id)}))`,
  ...within(sql`e.recorded_at`),
};

/** Lists the events of the ledger, newest first. */
export function ledgerEventList(filter: FilterOf<typeof filters>) {
  return listOf(ledgerEventItem, 'e', {
    from: sql`keywarden.ledger_event e`,
    item: { number: sql`e.number::text`, leaf_index: sql`e.leaf_index::text` },
    where: matching(filters, filter),
  });
}
