import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, text } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, notEmpty, refers, table } from './columns.ts';
import { credential } from './keys.ts';

/**
 * Each policy that a plan was judged by, as parsed. document is the canonical JSON that sha256 is computed from; Postgres's own text of it if it was stored by
 * an earlier version.
 */
export const policyVersion = table('policy_version', {
  sha256: text('sha256').primaryKey(),
  document: text('document').notNull(),
  firstUsedAt: instant('first_used_at').notNull().default(sql`now()`),
});

/**
 * document is the canonical JSON that sha256 is computed from. approves is the hash of what a person approves of it; the id is its beginning.
 * last_made_at moves when the same keys are to be revoked for the same reasons again. The document and the findings then change with what is held
 * or reported; the plan's findings are those of findings_at. derived_from: the plan that this one is a part of.
 */
export const plan = table('plan', {
  id: text('id').primaryKey(),
  sequence: int64('sequence').generatedAlwaysAsIdentity().unique('plan_sequence_key'),
  sha256: text('sha256').notNull(),
  document: text('document').notNull(),
  createdAt: instant('created_at').notNull().default(sql`now()`),
  lastMadeAt: instant('last_made_at').notNull().default(sql`now()`),
  itemCount: integer('item_count').notNull(),
  heldCount: integer('held_count').notNull(),
  reportedCount: integer('reported_count').notNull(),
  policySha256: text('policy_sha256'),
  approves: text('approves'),
  derivedFrom: text('derived_from'),
  findingsAt: instant('findings_at').notNull().default(sql`now()`),
});

export const findingActions = ['report', 'notify', 'rotate', 'revoke'] as const;

export const findingDispositions = ['planned', 'held', 'reported'] as const;

export const finding = table(
  'finding',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    planId: refers(text('plan_id'), () => plan.id).notNull(),
    keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
    rule: text('rule').notNull(),
    action: text('action', { enum: findingActions }).notNull(),
    disposition: text('disposition', { enum: findingDispositions }).notNull(),
    whyHeld: text('why_held'),
    ruleLimit: text('rule_limit').notNull(),
    evidence: jsonb('evidence').$type<JsonObject>().notNull(),
    reason: text('reason').notNull(),
    holdKind: text('hold_kind'),
    madeAt: instant('made_at').notNull().default(sql`now()`),
    /** Whether an open breaker of the plan counts the key: an approval of the plan permits it. */
    inBreaker: boolean('in_breaker').notNull().default(false),
  },
  (t) => [index('finding_of_key').on(t.planId, t.keyNumber), index('finding_of_plan').on(t.planId, t.madeAt, t.number)],
);

export const planApprovalVias = ['command line', 'report', 'enforcement'] as const;
export type PlanApprovalVia = (typeof planApprovalVias)[number];

export const planApproval = table(
  'plan_approval',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    planId: refers(text('plan_id'), () => plan.id).notNull(),
    approvedBy: text('approved_by').notNull(),
    via: text('via', { enum: planApprovalVias }).notNull(),
    approvedAt: instant('approved_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [index('plan_approval_by_plan').on(t.planId, t.approvedAt)],
);

export const approvalEndHows = ['done', 'stopped'] as const;

/**
 * An approval that is over. done: each of its items is done, and what its plan flags is acknowledged. stopped: it was not to continue. An
 * approval of the report that is not here is tried again until it expires.
 */
export const approvalEnd = table('approval_end', {
  approvalNumber: refers(int64('approval_number'), () => planApproval.number).primaryKey(),
  how: text('how', { enum: approvalEndHows }).notNull(),
  at: instant('at').notNull().default(sql`now()`),
});

/** An operator's rejection of a plan. The newest decision on a plan counts: a later approval lets the plan continue. */
export const planRejection = table(
  'plan_rejection',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    planId: refers(text('plan_id'), () => plan.id).notNull(),
    rejectedBy: notEmpty(text('rejected_by')).notNull(),
    reason: notEmpty(text('reason')).notNull(),
    rejectedAt: instant('rejected_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [index('plan_rejection_by_plan').on(t.planId, t.rejectedAt)],
);

/** What one machine may carry out, as its last pass found. */
export const enforcementState = table('enforcement_state', {
  machine: text('machine').primaryKey(),
  at: instant('at').notNull().default(sql`now()`),
  /** Why no approval of the report is carried out; null if approvals are. */
  whyNotApproved: text('why_not_approved'),
  /** Why nothing is revoked automatically; null if it may be. */
  whyNotAutomatic: text('why_not_automatic'),
  /** Only approvals after this time are carried out; null for all. */
  approvalsSince: instant('approvals_since'),
  /** When the next pass begins; null if none is known. */
  nextAt: instant('next_at'),
  /** The number of configured sinks, without which no key can be rotated; null if a former version ran the pass. */
  sinks: integer('sinks'),
});
