import { sql } from 'drizzle-orm';
import { check, foreignKey, index, interval, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, keywarden, oneOf, reference } from './columns.ts';
import { credential } from './keys.ts';
import { plan } from './plans.ts';

/**
 * An access review: keys as they were at a time, with a person's decision about each. keep_for: how long the exemption of a key lasts that
 * is kept despite a rule's finding.
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
  },
  (t) => [
    reference(t.planId, plan.id),
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
