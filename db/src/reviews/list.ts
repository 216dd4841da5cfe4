import { sql } from 'drizzle-orm';
import { type List, type Reader, time, when, within } from '../list.ts';

/** The decision about an item that counts: its newest. */
const decision = sql`left join lateral (select d.decision, d.reason, d.decided_by, d.decided_at from keywarden.review_decision d
  where d.review_number = i.review_number and d.key_number = i.key_number order by d.number desc limit 1) d on true`;
const decided = (
  how: 'keep' | 'revoke' | 'rotate' | null,
) => sql`(select count(*) from keywarden.review_item i ${decision}
  where i.review_number = v.number and d.decision is not distinct from ${how})`;

export interface ReviewFilter {
  number?: string | undefined;
  state?: 'open' | 'signed' | undefined;
  /** Signed in this time. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Access reviews, newest first, each with how far it is. */
export function reviewList({ number, state, from, to }: ReviewFilter): List {
  return {
    from: sql`keywarden.review v left join keywarden.review_signature s on s.review_number = v.number`,
    item: {
      id: sql`v.number::text`,
      title: sql`v.title`,
      state: sql`case when s.review_number is null then 'open' else 'signed' end`,
      as_of: time(sql`v.as_of`),
      filter: sql`v.filter`,
      holes: sql`v.holes`,
      plan_id: sql`v.plan_id`,
      keep_for_days: sql`(extract(epoch from v.keep_for) / 86400)::int`,
      opened_by: sql`v.opened_by`,
      opened_at: time(sql`v.opened_at`),
      signed_by: sql`s.signed_by`,
      signed_at: time(sql`s.signed_at`),
      sha256: sql`s.sha256`,
      keys: sql`(select count(*) from keywarden.review_item i where i.review_number = v.number)`,
      undecided: decided(null),
      keep: decided('keep'),
      revoke: decided('revoke'),
      rotate: decided('rotate'),
    },
    where: [
      when(number, (wanted) => sql`v.number = ${wanted}::bigint`),
      when(state, (wanted) => (wanted === 'open' ? sql`s.review_number is null` : sql`s.review_number is not null`)),
      ...within(sql`s.signed_at`, { from, to }),
    ],
    order: [{ by: sql`v.number`, type: 'bigint' }],
    direction: 'desc',
  };
}

export interface ReviewItemFilter {
  review?: string | undefined;
  keyNumber?: string | undefined;
  decision?: 'keep' | 'revoke' | 'rotate' | 'undecided' | undefined;
  /** Of reviews that were signed in this time. */
  from?: string | undefined;
  to?: string | undefined;
}

/** The keys of reviews as they were frozen, with what was decided of each. */
export function reviewItemList(filter: ReviewItemFilter): List {
  return {
    from: sql`keywarden.review_item i ${decision} left join keywarden.review_signature s on s.review_number = i.review_number`,
    item: {
      review_id: sql`i.review_number::text`,
      key: sql`i.key`,
      findings: sql`i.findings`,
      decision: sql`d.decision`,
      reason: sql`d.reason`,
      decided_by: sql`d.decided_by`,
      decided_at: time(sql`d.decided_at`),
    },
    where: [
      when(filter.review, (review) => sql`i.review_number = ${review}::bigint`),
      when(filter.keyNumber, (number) => sql`i.key_number = ${number}::bigint`),
      when(filter.decision, (wanted) =>
        wanted === 'undecided' ? sql`d.decision is null` : sql`d.decision = ${wanted}`,
      ),
      ...within(sql`s.signed_at`, filter),
    ],
    order: [
      { by: sql`i.review_number`, type: 'bigint' },
      { by: sql`i.key_number`, type: 'bigint' },
    ],
    direction: 'asc',
  };
}

/** Every decision that was made in a review, also those that another replaced, oldest first. */
export function reviewDecisionList(review: string): List {
  return {
    from: sql`keywarden.review_decision d`,
    item: {
      key_number: sql`d.key_number::text`,
      decision: sql`d.decision`,
      reason: sql`d.reason`,
      decided_by: sql`d.decided_by`,
      decided_at: time(sql`d.decided_at`),
    },
    where: [sql`d.review_number = ${review}::bigint`],
    order: [{ by: sql`d.number`, type: 'bigint' }],
    direction: 'asc',
  };
}

/** Whether a review is there, and of what its keys were chosen. */
export async function findReview(db: Reader, number: string): Promise<{ asOf: string; isSigned: boolean } | undefined> {
  const [row] = await db.execute(sql`
    select ${time(sql`v.as_of`)} as as_of, s.review_number is not null as is_signed from keywarden.review v
      left join keywarden.review_signature s on s.review_number = v.number where v.number = ${number}::bigint`);
  return row === undefined ? undefined : { asOf: String(row.as_of), isSigned: row.is_signed === true };
}
