import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, jsonb, text, unique } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, refers, table } from './columns.ts';
import { credential, keyListing } from './keys.ts';
import { plan, planApproval } from './plans.ts';
import { rotation } from './rotations.ts';

/**
 * Committed before a call that revokes. The unique attempt lets only one caller begin it. A key is revoked under a plan or its rotation.
 * judged_at: the control plane's time at which the key was judged; null for intents that are older than this column.
 */
export const revocationIntent = table(
  'revocation_intent',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    planId: refers(text('plan_id'), () => plan.id),
    keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
    attempt: integer('attempt').notNull(),
    connection: text('connection').notNull(),
    approvalNumber: refers(int64('approval_number'), () => planApproval.number),
    lastListingNumber: refers(int64('last_listing_number'), () => keyListing.number).notNull(),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    judgedAt: instant('judged_at'),
    policySha256: text('policy_sha256'),
    rotationNumber: refers(int64('rotation_number'), () => rotation.number),
  },
  (t) => [
    unique('revocation_intent_key_number_attempt_key').on(t.keyNumber, t.attempt),
    check(
      'revocation_intent_cause',
      sql`((plan_id is null) = (approval_number is null)) and ((plan_id is null) = (rotation_number is not null))`,
    ),
    index('revocation_intent_by_plan').on(t.planId, t.number).where(sql`plan_id is not null`),
    index('revocation_intent_by_rotation').on(t.rotationNumber).where(sql`rotation_number is not null`),
    index('revocation_intent_by_time').on(sql`coalesce(judged_at, created_at)`),
  ],
);

export const revocationOutcomeOutcomes = ['revoked', 'gone', 'not_revoked', 'failed'] as const;

/** revoked: by us. gone: no longer there, and not known to be by us. not_revoked: still there. failed: refused. */
export const revocationOutcome = table('revocation_outcome', {
  intentNumber: refers(int64('intent_number'), () => revocationIntent.number).primaryKey(),
  outcome: text('outcome', { enum: revocationOutcomeOutcomes }).notNull(),
  usedInFlight: boolean('used_in_flight').notNull().default(false),
  detail: jsonb('detail').$type<JsonObject>(),
  at: instant('at').notNull().default(sql`now()`),
});
