import { boolean, integer, text } from 'drizzle-orm/pg-core';
import { instant, int64, view } from './columns.ts';
import { findingActions, findingDispositions, planApprovalVias } from './plans.ts';
import { reviewDecisionDecisions } from './reviews.ts';

// The columns of views that statements read. db/functions defines each view, and says what it shows. The view of keys is in keys.ts.

export const countedApproval = view('counted_approval', {
  number: int64('number').notNull(),
  planId: text('plan_id').notNull(),
  via: text('via', { enum: planApprovalVias }).notNull(),
  approvedAt: instant('approved_at').notNull(),
});

export const findingNow = view('finding_now', {
  planId: text('plan_id').notNull(),
  keyNumber: int64('key_number').notNull(),
  rule: text('rule').notNull(),
  action: text('action', { enum: findingActions }).notNull(),
  disposition: text('disposition', { enum: findingDispositions }).notNull(),
  inBreaker: boolean('in_breaker').notNull(),
});

export const keyOwnerNow = view('key_owner_now', {
  keyNumber: int64('key_number').notNull(),
  lineageNumber: int64('lineage_number').notNull(),
  owner: text('owner').notNull(),
});

export const mintedKey = view('minted_key', {
  rotationNumber: int64('rotation_number').notNull(),
  attempt: integer('attempt').notNull(),
  keyNumber: int64('key_number').notNull(),
});

export const planStanding = view('plan_standing', {
  planId: text('plan_id').notNull(),
  approversNeeded: integer('approvers_needed').notNull(),
});

export const reviewItemNow = view('review_item_now', {
  reviewNumber: int64('review_number').notNull(),
  keyNumber: int64('key_number').notNull(),
  decision: text('decision', { enum: reviewDecisionDecisions }),
});

export const reviewVerdict = view('review_verdict', {
  keyNumber: int64('key_number').notNull(),
  decision: text('decision', { enum: reviewDecisionDecisions }).notNull(),
  reason: text('reason'),
  decidedBy: text('decided_by').notNull(),
  decidedAt: instant('decided_at').notNull(),
  reviewNumber: int64('review_number').notNull(),
  signerWasRevoked: boolean('signer_was_revoked').notNull(),
});

export const standingApproval = view('standing_approval', {
  planId: text('plan_id').notNull(),
  person: text('person').notNull(),
  approvedAt: instant('approved_at').notNull(),
});

export const standingRejection = view('standing_rejection', {
  planId: text('plan_id').notNull(),
  rejectedBy: text('rejected_by').notNull(),
  reason: text('reason').notNull(),
  rejectedAt: instant('rejected_at').notNull(),
});
