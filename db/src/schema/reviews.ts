import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, interval, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, keywarden, oneOf, reference } from './columns.ts';
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
export const reviewCampaign = keywarden.table(
  'review_campaign',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    title: text('title').notNull(),
    splitBy: text('split_by', { enum: campaignSplits }).notNull(),
    dueAt: instant('due_at').notNull(),
    remindDays: integer('remind_days').array().notNull(),
    defaultDecision: text('default_decision', { enum: campaignDefaults }).notNull(),
    keepNeedsReason: text('keep_needs_reason', { enum: campaignReasons }).notNull(),
    escalateTo: text('escalate_to'),
    escalateAfterDays: integer('escalate_after_days').notNull(),
    openedBy: text('opened_by').notNull(),
    openedAt: instant('opened_at').notNull().default(sql`now()`),
    canceledAt: instant('canceled_at'),
    canceledBy: text('canceled_by'),
    canceledBecause: text('canceled_because'),
  },
  (t) => [
    oneOf(t.splitBy, campaignSplits),
    oneOf(t.defaultDecision, campaignDefaults),
    oneOf(t.keepNeedsReason, campaignReasons),
    check('review_campaign_title_check', sql`title <> ''`),
    check('review_campaign_opened_by_check', sql`opened_by <> ''`),
    check('review_campaign_due_at_check', sql`due_at > opened_at`),
  ],
);

/**
 * An access review: keys as they were at a time, with a person's decision about each. keep_for: how long the exemption of a key lasts that
 * is kept despite a rule's finding. reviewer: who is reminded of a review of a campaign.
 */
export const review = keywarden.table(
  'review',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    title: text('title').notNull(),
    asOf: instant('as_of').notNull(),
    filter: jsonb('filter').$type<JsonObject>().notNull(),
    holes: jsonb('holes').$type<JsonObject>().notNull(),
    planId: text('plan_id'),
    keepFor: interval('keep_for').notNull(),
    openedBy: text('opened_by').notNull(),
    openedAt: instant('opened_at').notNull().default(sql`now()`),
    campaignNumber: int64('campaign_number'),
    reviewer: text('reviewer'),
  },
  (t) => [
    reference(t.planId, plan.id),
    reference(t.campaignNumber, reviewCampaign.number),
    index('review_by_campaign').on(t.campaignNumber).where(sql`campaign_number is not null`),
    check('review_opened_by_check', sql`opened_by <> ''`),
    check('review_title_check', sql`title <> ''`),
  ],
);

/** key: as every list shows it. findings: the policy's findings about it when the review was opened. */
export const reviewItem = keywarden.table(
  'review_item',
  {
    reviewNumber: int64('review_number').notNull(),
    keyNumber: int64('key_number').notNull(),
    key: jsonb('key').$type<JsonObject>().notNull(),
    findings: jsonb('findings').$type<JsonObject>().notNull(),
  },
  (t) => [
    primaryKey({ name: 'review_item_pkey', columns: [t.reviewNumber, t.keyNumber] }),
    index('review_item_by_key').on(t.keyNumber),
    reference(t.keyNumber, credential.number),
    reference(t.reviewNumber, review.number),
  ],
);

export const reviewDecisionDecisions = ['keep', 'revoke', 'rotate'] as const;

export const reviewDecision = keywarden.table(
  'review_decision',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    reviewNumber: int64('review_number').notNull(),
    keyNumber: int64('key_number').notNull(),
    decision: text('decision', { enum: reviewDecisionDecisions }).notNull(),
    reason: text('reason').notNull(),
    decidedBy: text('decided_by').notNull(),
    decidedAt: instant('decided_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    foreignKey({
      name: 'review_decision_review_number_key_number_fkey',
      columns: [t.reviewNumber, t.keyNumber],
      foreignColumns: [reviewItem.reviewNumber, reviewItem.keyNumber],
    }),
    oneOf(t.decision, reviewDecisionDecisions),
    check('review_decision_decided_by_check', sql`decided_by <> ''`),
    check('review_decision_reason_check', sql`reason <> ''`),
    index('review_decision_by_item').on(t.reviewNumber, t.keyNumber, t.number.desc().nullsFirst()),
    index('review_decision_by_key').on(t.keyNumber),
  ],
);

/**
 * sha256 is computed from the review as canonical JSON: the decisions, their keys and the people who decided. content_sha256 is computed by
 * keywarden.review_content_hash, and every reader compares it with the rows again.
 */
export const reviewSignature = keywarden.table(
  'review_signature',
  {
    reviewNumber: int64('review_number').primaryKey(),
    signedBy: text('signed_by').notNull(),
    signedAt: instant('signed_at').notNull().default(sql`clock_timestamp()`),
    sha256: text('sha256').notNull(),
    contentSha256: text('content_sha256'),
  },
  (t) => [reference(t.reviewNumber, review.number), check('review_signature_signed_by_check', sql`signed_by <> ''`)],
);

/** Which reminders of a review were written for a channel. step: `7d` before the due date, `overdue` or `escalation`. */
export const reviewReminder = keywarden.table(
  'review_reminder',
  {
    reviewNumber: int64('review_number').notNull(),
    step: text('step').notNull(),
    channel: text('channel').notNull(),
    messageNumber: int64('message_number').notNull(),
  },
  (t) => [
    primaryKey({ name: 'review_reminder_pkey', columns: [t.reviewNumber, t.step, t.channel] }),
    reference(t.reviewNumber, review.number),
    reference(t.messageNumber, noticeMessage.number),
  ],
);
