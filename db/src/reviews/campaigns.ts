import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant } from '../item.ts';
import { type FilterOf, isNumber, listOf, matching } from '../list.ts';
import { campaignDefaults, campaignReasons, campaignSplits } from '../schema/reviews.ts';
import { isTrue, type Sql, toJson } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';
import { type Chosen, chooseItems, type Readers } from './reviews.ts';

const progress = z.strictObject({
  reviews: z.int(),
  signed: z.int(),
  keys: z.int(),
  undecided: z.int(),
  by_default: z.int().meta({ description: 'Keys whose newest decision is the default of the campaign' }),
});

export const campaignItem = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    state: z.enum(['open', 'overdue', 'signed', 'canceled']).meta({
      description: 'overdue: the due date has passed, and not every review is signed',
    }),
    split_by: z.enum(campaignSplits).meta({ description: 'One review for each organization, or for each owner' }),
    due_at: instant,
    remind_days: z.array(z.int()).meta({ description: 'How many days before the due date reviewers are reminded' }),
    default_decision: z
      .enum(campaignDefaults)
      .meta({ description: 'The decision about keys that are undecided at the due date; none leaves them undecided' }),
    keep_needs_reason: z.enum(campaignReasons).meta({
      description:
        'For which keys the decision to keep needs a reason: always; finding: keys with a finding; flagged: keys that a rule wants to revoke or rotate',
    }),
    escalate_to: z.string().nullable().meta({ description: 'Who is notified of reviews that stay overdue' }),
    escalate_after_days: z.int(),
    opened_by: z.string(),
    opened_at: instant,
    canceled_at: instant.nullable(),
    canceled_by: z.string().nullable(),
    canceled_because: z.string().nullable(),
    ...progress.shape,
  })
  .meta({ id: 'Campaign' });

const state = sql`case when c.canceled_at is not null then 'canceled' when p.signed = p.reviews then 'signed' when c.due_at <= now() then 'overdue' else 'open' end`;

const filters = {
  number: isNumber('c.number'),
  state: (wanted: z.output<typeof campaignItem>['state']) => sql`${state} = ${wanted}`,
};

/** Lists review campaigns with their progress, newest first. */
export function campaignList(filter: FilterOf<typeof filters>) {
  return listOf(campaignItem, 'c', {
    from: sql`keywarden.review_campaign c cross join lateral (
      select count(distinct r.number)::int as reviews, count(distinct s.review_number)::int as signed, count(*)::int as keys,
        (count(*) filter (where i.decision is null))::int as undecided,
        (count(*) filter (where i.decided_by = keywarden.campaign_default(c.number)))::int as by_default
      from keywarden.review r join keywarden.review_item_now i on i.review_number = r.number
        left join keywarden.review_signature s on s.review_number = r.number where r.campaign_number = c.number) p`,
    item: { id: sql`c.number::text`, state, ...columnsOf(progress, 'p') },
    where: matching(filters, filter),
  });
}

/** A campaign to open. The fields are those of a campaign. */
export interface NewCampaign extends Chosen {
  settings: Pick<
    z.output<typeof campaignItem>,
    | 'title'
    | 'split_by'
    | 'due_at'
    | 'remind_days'
    | 'default_decision'
    | 'keep_needs_reason'
    | 'escalate_to'
    | 'escalate_after_days'
  >;
}

/**
 * Opens a campaign: a review for each organization or owner of the chosen keys, as the principal. Returns its number, which is null if there is
 * no key or there are too many, or if the due date is not within the next year (`isDue`).
 */
export async function openCampaign(
  readers: Readers,
  campaign: NewCampaign,
): Promise<{ number: string | null; isDue: boolean }> {
  const { settings, asOf, request, holes, keepForDays, principal } = campaign;
  const items = await chooseItems(readers.db, campaign);
  if (items === null) return { number: null, isDue: true };
  const [row] = await readers.sql`
    select keywarden.open_campaign(${principal.credential}, ${toJson(settings)}::text::jsonb, ${asOf}::timestamptz,
      ${toJson(request)}::text::jsonb, ${toJson(holes)}::text::jsonb, ${keepForDays}, ${items}::text::jsonb) as number`;
  const number = row?.number == null ? null : String(row.number);
  return number === '0' ? { number: null, isDue: false } : { number, isDue: true };
}

/** Cancels a campaign as the principal. Returns false if it is already canceled. */
export async function cancelCampaign(
  sql: Sql,
  { campaign, reason, principal }: { campaign: string; reason: string; principal: Principal },
): Promise<boolean> {
  return await isTrue(sql`select keywarden.cancel_campaign(${principal.credential}, ${campaign}, ${reason})`);
}
