import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, interval, jsonb, text } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, type JsonObject, notEmpty, refers, table } from './columns.ts';
import { credential } from './keys.ts';
import { noticeMessage } from './notifications.ts';
import { plan } from './plans.ts';

export const campaignSplits = ['organization', 'owner'] as const;
/** What happens to keys that are undecided at the due date: none leaves them undecided. */
export const campaignDefaults = ['none', 'keep', 'revoke'] as const;
/** For which keys the decision to keep needs a reason: all keys, keys with a finding, or keys that a rule wants to revoke or rotate. */
export const campaignReasons = ['always', 'finding', 'flagged'] as const;

/**
 * Access reviews that were opened together, one for each organization or owner, with a due date by the database's clock. remind_days: how many days
 * before the due date the reviewers are reminded.
 */
export const reviewCampaign = table(
  'review_campaign',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    title: notEmpty(text('title')).notNull(),
    splitBy: text('split_by', { enum: campaignSplits }).notNull(),
    dueAt: instant('due_at').notNull(),
    remindDays: integer('remind_days').array().notNull(),
    defaultDecision: text('default_decision', { enum: campaignDefaults }).notNull(),
    keepNeedsReason: text('keep_needs_reason', { enum: campaignReasons }).notNull(),
    escalateTo: text('escalate_to'),
    escalateAfterDays: integer('escalate_after_days').notNull(),
    openedBy: notEmpty(text('opened_by')).notNull(),
    openedAt: instant('opened_at').notNull().default(sql`clock_timestamp()`),
    canceledAt: instant('canceled_at'),
    canceledBy: text('canceled_by'),
    canceledBecause: text('canceled_because'),
  },
  () => [check('review_campaign_due_at_check', sql`due_at > opened_at`)],
);

/**
 * An access review: keys as they were at a time, with a person's decision about each. keep_for: how long the exemption of a key lasts that
 * is kept despite a rule's finding. reviewer: who is reminded of a review of a campaign.
 */
export const review = table(
  'review',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    title: notEmpty(text('title')).notNull(),
    asOf: instant('as_of').notNull(),
    filter: jsonb('filter').$type<JsonObject>().notNull(),
    holes: jsonb('holes').$type<JsonObject>().notNull(),
    planId: refers(text('plan_id'), () => plan.id),
    keepFor: interval('keep_for').notNull(),
    openedBy: notEmpty(text('opened_by')).notNull(),
    openedAt: instant('opened_at').notNull().default(sql`clock_timestamp()`),
    campaignNumber: refers(int64('campaign_number'), () => reviewCampaign.number),
    reviewer: text('reviewer'),
  },
  (t) => [index('review_by_campaign').on(t.campaignNumber).where(sql`campaign_number is not null`)],
);

/** key: as every list shows it. findings: the policy's findings about it when the review was opened. */
export const reviewItem = table(
  'review_item',
  {
    reviewNumber: inKey(refers(int64('review_number'), () => review.number)).notNull(),
    keyNumber: inKey(refers(int64('key_number'), () => credential.number)).notNull(),
    key: jsonb('key').$type<JsonObject>().notNull(),
    findings: jsonb('findings').$type<JsonObject>().notNull(),
  },
  (t) => [index('review_item_by_key').on(t.keyNumber)],
);

export const reviewDecisionDecisions = ['keep', 'revoke', 'rotate'] as const;

export const reviewDecision = table(
  'review_decision',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    reviewNumber: int64('review_number').notNull(),
    keyNumber: int64('key_number').notNull(),
    decision: text('decision', { enum: reviewDecisionDecisions }).notNull(),
    reason: notEmpty(text('reason')).notNull(),
    decidedBy: notEmpty(text('decided_by')).notNull(),
    decidedAt: instant('decided_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    foreignKey({
      name: 'review_decision_review_number_key_number_fkey',
      columns: [t.reviewNumber, t.keyNumber],
      foreignColumns: [reviewItem.reviewNumber, reviewItem.keyNumber],
    }),
    index('review_decision_by_item').on(t.reviewNumber, t.keyNumber, t.number.desc().nullsFirst()),
    index('review_decision_by_key').on(t.keyNumber),
  ],
);

/**
 * sha256 is computed from the review as canonical JSON: the decisions, their keys and the people who decided. content_sha256 is computed by
 * keywarden.review_content_hash, and every reader compares it with the rows again.
 */
export const reviewSignature = table('review_signature', {
  reviewNumber: refers(int64('review_number'), () => review.number).primaryKey(),
  signedBy: notEmpty(text('signed_by')).notNull(),
  signedAt: instant('signed_at').notNull().default(sql`clock_timestamp()`),
  sha256: text('sha256').notNull(),
  contentSha256: text('content_sha256'),
});

/** Which reminders of a review were written for a channel. step: `7d` before the due date, `overdue` or `escalation`. */
export const reviewReminder = table('review_reminder', {
  reviewNumber: inKey(refers(int64('review_number'), () => review.number)).notNull(),
  step: inKey(text('step')).notNull(),
  channel: inKey(text('channel')).notNull(),
  messageNumber: refers(int64('message_number'), () => noticeMessage.number).notNull(),
});
