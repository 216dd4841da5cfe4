import { unknownCreator } from '@keywarden/core/wire';
import { eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant, json, time } from '../item.ts';
import { inventoryGap } from '../keys/inventory/gaps.ts';
import { credentialItem, keyItem } from '../keys/list.ts';
import { type FilterOf, isNumber, type List, listOf, matching, type Reader, within } from '../list.ts';
import { reviewDecisionDecisions, review as reviewTable } from '../schema/reviews.ts';

export const reviewItem = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    state: z.enum(['open', 'signed']),
    as_of: instant,
    filter: json,
    holes: z.array(inventoryGap),
    plan_id: z.string().nullable().meta({ description: 'The plan whose findings are shown with the keys' }),
    keep_for_days: z
      .int()
      .meta({ description: "How long a key that is kept despite a rule's finding is exempt from that rule" }),
    opened_by: z.string(),
    opened_at: instant,
    signed_by: z.string().nullable(),
    signed_at: instant.nullable(),
    sha256: z.string().nullable().meta({ description: "SHA-256 of the review's document, once it is signed" }),
    intact: z.boolean().nullable().meta({
      description:
        'Whether a signed review still has the content that was signed; a review that has not decides nothing. null before it is signed',
    }),
    keys: z.int(),
    campaign_id: z.string().nullable(),
    reviewer: z.string().nullable().meta({ description: 'Who is reminded of a review of a campaign' }),
    due_at: instant.nullable().meta({ description: 'When a review of a campaign must be signed' }),
    undecided: z.int(),
    by_default: z.int().meta({ description: 'Keys whose newest decision is the default of the campaign' }),
    keep: z.int(),
    revoke: z.int(),
    rotate: z.int(),
  })
  .meta({ id: 'Review' });

const reviewCounts = reviewItem.pick({
  keys: true,
  undecided: true,
  by_default: true,
  keep: true,
  revoke: true,
  rotate: true,
});

const decisions = z.enum(reviewDecisionDecisions);
type Decision = z.output<typeof decisions>;

/** Fields that keys in early reviews do not have. */
const later = { use: true, organization_name: true } as const;

export const reviewedKey = z
  .strictObject({
    review_id: z.string(),
    key: z.union([keyItem.partial(later), credentialItem.partial(later)]).meta({
      description:
        'The key or other credential as it was when the review was opened; `use` and `organization_name` are missing in early reviews',
    }),
    findings: z.array(
      z.strictObject({ rule: z.string(), action: z.string(), disposition: z.string(), reason: z.string() }),
    ),
    decision: decisions.nullable(),
    reason: z.string().nullable(),
    decided_by: z.string().nullable(),
    decided_at: instant.nullable(),
  })
  .meta({ id: 'ReviewedKey' });

/** Projects that a key reaches are counted up to this number. */
const mostProjects = 1000;

/** What a reviewer needs to know of a key, as it is now. It is not part of what a signature covers. */
const reviewContext = z
  .strictObject({
    reach: z.enum(['project', 'organization', 'account']).meta({
      description: 'What the key can reach: one project, its organization, or all organizations of its user',
    }),
    projects: z
      .int()
      .nullable()
      .meta({
        description: `How many of these projects a connection lists, up to ${mostProjects}; null if none is known`,
      }),
    use_by_hour: z.array(z.int()).length(24).meta({
      description: 'In how many hours of the last 90 days a use was observed, by the hour of the day in UTC',
    }),
    last_decision: z
      .strictObject({ review_id: z.string(), decision: decisions, decided_by: z.string(), signed_at: instant })
      .nullable()
      .meta({ description: 'The decision of the newest other review that was signed' }),
  })
  .meta({ id: 'ReviewContext' });

/** A key of a review with its context. */
export const reviewedKeyInContext = reviewedKey.extend({ context: reviewContext }).meta({ id: 'ReviewedKeyInContext' });

export const reviewDecision = z
  .strictObject({
    key_number: z.string(),
    decision: decisions,
    reason: z.string(),
    decided_by: z.string(),
    decided_at: instant,
  })
  .meta({ id: 'ReviewDecision' });

/** The numbers of a review's keys, by the current decision about each. */
const counts = sql`left join lateral (
  select count(*) as keys, count(*) filter (where i.decision is null) as undecided,
    count(*) filter (where i.decided_by = keywarden.campaign_default(v.campaign_number)) as by_default,
    count(*) filter (where i.decision = 'keep') as keep, count(*) filter (where i.decision = 'revoke') as revoke,
    count(*) filter (where i.decision = 'rotate') as rotate
  from keywarden.review_item_now i where i.review_number = v.number) n on true`;

const reviewFilters = {
  number: isNumber('v.number'),
  campaignId: isNumber('v.campaign_number'),
  state: (state: 'open' | 'signed') =>
    state === 'open' ? sql`s.review_number is null` : sql`s.review_number is not null`,
  /** Signed, with the content that was signed. */
  isIntact: (only: boolean) => (only ? sql`s.content_sha256 = keywarden.review_content_hash(v.number)` : undefined),
  /** Open reviews of campaigns that are not canceled, those that are due first before the others. */
  isDue: (only: boolean) => (only ? sql`s.review_number is null and c.canceled_at is null` : undefined),
  /** Signed in this time. */
  ...within(sql`s.signed_at`),
};

/** Lists access reviews, newest first, each with its progress. */
export function reviewList(filter: FilterOf<typeof reviewFilters>) {
  return listOf(reviewItem, 'v', {
    from: sql`keywarden.review v left join keywarden.review_signature s on s.review_number = v.number
      left join keywarden.review_campaign c on c.number = v.campaign_number ${counts}`,
    item: {
      ...columnsOf(reviewCounts, 'n'),
      id: sql`v.number::text`,
      state: sql`case when s.review_number is null then 'open' else 'signed' end`,
      keep_for_days: sql`(extract(epoch from v.keep_for) / 86400)::int`,
      signed_by: sql`s.signed_by`,
      signed_at: time(sql`s.signed_at`),
      sha256: sql`s.sha256`,
      intact: sql`case when s.review_number is not null then s.content_sha256 is not distinct from keywarden.review_content_hash(v.number) end`,
      campaign_id: sql`v.campaign_number::text`,
      due_at: time(sql`c.due_at`),
    },
    where: matching(reviewFilters, filter),
    ...(filter.isDue && {
      order: { "coalesce(c.due_at, 'infinity')": 'timestamptz', 'v.number': 'bigint' },
      direction: 'asc',
    }),
  });
}

/** Counts the keys of a review that it decided to revoke and that are gone. */
export async function countRevokedKeys(db: Reader, review: string): Promise<number> {
  const [row] = await db.execute(sql`
    select count(*)::int as n from keywarden.review_item_now v join keywarden.credential k on k.number = v.key_number
    where v.review_number = ${review}::bigint and v.decision = 'revoke' and k.gone_at is not null`);
  return Number(row?.n);
}

const reviewItemFilters = {
  review: isNumber('d.review_number'),
  /** The store's number of a key. */
  key: isNumber('d.key_number'),
  decision: (wanted: Decision | 'undecided') =>
    wanted === 'undecided' ? sql`d.decision is null` : sql`d.decision = ${wanted}`,
  /** Items of reviews that were signed in this time. */
  ...within(sql`s.signed_at`),
};
type ReviewItemFilter = FilterOf<typeof reviewItemFilters>;

/** Lists the keys of reviews as they were frozen, with their decisions. */
export function reviewItemList(filter: ReviewItemFilter) {
  return listOf(reviewedKey, 'd', {
    from: sql`keywarden.review_item_now d left join keywarden.review_signature s on s.review_number = d.review_number`,
    item: { review_id: sql`d.review_number::text` },
    where: matching(reviewItemFilters, filter),
    order: { 'd.review_number': 'bigint', 'd.key_number': 'bigint' },
    direction: 'asc',
  });
}

/** Lists the same with the context of each key. */
export function reviewItemsInContext(filter: ReviewItemFilter): List<typeof reviewedKeyInContext> {
  const { item, from, ...list } = reviewItemList(filter);
  return {
    ...list,
    schema: reviewedKeyInContext,
    from: sql`${from} join keywarden.credential k on k.number = d.key_number`,
    item: {
      ...item,
      context: sql`json_build_object(
        'reach', case when k.project_id is not null then 'project' when k.organization_id is not null then 'organization' else 'account' end,
        'projects', case when k.project_id is not null then 1 else (select nullif(count(*), 0) from (select from keywarden.project p
          where p.control_plane_number = k.control_plane_number and p.gone_at is null and case when k.organization_id is not null
            then p.organization_id = k.organization_id
            else k.creator_id <> ${unknownCreator} and p.organization_id in (select m.organization_id from keywarden.member m
              where m.control_plane_number = k.control_plane_number and m.user_id = k.creator_id and m.left_at is null) end
          limit ${mostProjects}) p) end,
        'use_by_hour', (select json_agg(coalesce(u.hours, 0) order by h) from generate_series(0, 23) h left join (
            select extract(hour from u.hour at time zone 'UTC')::int as hour, count(distinct u.hour)::int as hours from keywarden.key_use u
            where u.key_number = k.number and u.hour > (select p.at - interval '90 days' from keywarden.control_plane_now p
              where p.control_plane_number = k.control_plane_number) group by 1) u on u.hour = h),
        'last_decision', (select json_build_object('review_id', e.review_number::text, 'decision', e.decision, 'decided_by', e.decided_by,
            'signed_at', ${time(sql`e.signed_at`)})
          from (select e.*, g.signed_at, g.content_sha256 from keywarden.review_item_now e
              join keywarden.review_signature g on g.review_number = e.review_number
            where e.key_number = d.key_number and e.review_number <> d.review_number and g.signed_at < coalesce(s.signed_at, 'infinity')
            order by g.signed_at desc limit 1) e
          where e.content_sha256 = keywarden.review_content_hash(e.review_number)))`,
    },
  };
}

/** Lists every decision of a review, including replaced ones, oldest first. */
export function reviewDecisionList(review: string) {
  return listOf(reviewDecision, 'd', {
    from: sql`keywarden.review_decision d`,
    item: { key_number: sql`d.key_number::text` },
    where: [sql`d.review_number = ${review}::bigint`],
    direction: 'asc',
  });
}

/** Returns whether there is a review with this number. */
export async function hasReview(db: Reader, number: string): Promise<boolean> {
  const found = await db.select({ number: reviewTable.number }).from(reviewTable).where(eq(reviewTable.number, number));
  return found.length > 0;
}
