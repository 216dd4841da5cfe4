import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, jsonb, text, unique } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, keywarden, oneOf, reference } from './columns.ts';
import { credential, keyListing } from './keys.ts';
import { plan, planApproval } from './plans.ts';
import { rotation } from './rotations.ts';

/**
 * Committed before a call that revokes. The unique attempt lets only one caller begin it. A key is revoked under a plan or its rotation.
 * judged_at: the control plane's time at which the key was judged; null for intents that are older than this column.
 */
export const revocationIntent = keywarden.table(
  'revocation_intent',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    planId: text('plan_id'),
    keyNumber: int64('key_number').notNull(),
    attempt: integer('attempt').notNull(),
    connection: text('connection').notNull(),
    approvalNumber: int64('approval_number'),
    lastListingNumber: int64('last_listing_number').notNull(),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    judgedAt: instant('judged_at'),
    policySha256: text('policy_sha256'),
    rotationNumber: int64('rotation_number'),
  },
  (t) => [
    reference(t.approvalNumber, planApproval.number),
    unique('revocation_intent_key_number_attempt_key').on(t.keyNumber, t.attempt),
    reference(t.keyNumber, credential.number),
    reference(t.lastListingNumber, keyListing.number),
    reference(t.planId, plan.id),
    reference(t.rotationNumber, rotation.number),
    check(
      'revocation_intent_cause',
      sql`((plan_id is null) = (approval_number is null)) and ((plan_id is null) = (rotation_number is not null))`,
    ),
    index('revocation_intent_by_rotation').on(t.rotationNumber).where(sql`rotation_number is not null`),
    index('revocation_intent_by_time').on(sql`coalesce(judged_at, created_at)`),
  ],
);

export const revocationOutcomeOutcomes = ['revoked', 'gone', 'not_revoked', 'failed'] as const;

/** revoked: by us. gone: no longer there, and not known to be by us. not_revoked: still there. failed: refused. */
export const revocationOutcome = keywarden.table(
  'revocation_outcome',
  {
    intentNumber: int64('intent_number').primaryKey(),
    outcome: text('outcome', { enum: revocationOutcomeOutcomes }).notNull(),
    usedInFlight: boolean('used_in_flight').notNull().default(false),
    detail: jsonb('detail').$type<JsonObject>(),
    at: instant('at').notNull().default(sql`now()`),
  },
  (t) => [reference(t.intentNumber, revocationIntent.number), oneOf(t.outcome, revocationOutcomeOutcomes)],
);
