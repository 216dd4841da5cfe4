import { boolean, integer, jsonb, text } from 'drizzle-orm/pg-core';
import { instant, int64 } from './columns.ts';
import { type JsonObject, keywarden } from './tables.ts';

// From a policy's findings to what became of a key, as queries see it.

export const plan = keywarden.table('plan', {
  id: text('id').notNull(),
  sequence: int64('sequence').notNull(),
  sha256: text('sha256').notNull(),
  document: text('document').notNull(),
  createdAt: instant('created_at').notNull(),
  lastMadeAt: instant('last_made_at').notNull(),
  itemCount: integer('item_count').notNull(),
  heldCount: integer('held_count').notNull(),
  reportedCount: integer('reported_count').notNull(),
  policySha256: text('policy_sha256'),
});

export const finding = keywarden.table('finding', {
  number: int64('number').notNull(),
  planId: text('plan_id').notNull(),
  keyNumber: int64('key_number').notNull(),
  rule: text('rule').notNull(),
  action: text('action').$type<'report' | 'notify' | 'rotate' | 'revoke'>().notNull(),
  disposition: text('disposition').$type<'planned' | 'held' | 'reported'>().notNull(),
  whyHeld: text('why_held'),
  limit: text('rule_limit').notNull(),
  evidence: jsonb('evidence').$type<JsonObject>().notNull(),
  reason: text('reason').notNull(),
  holdKind: text('hold_kind'),
});

export const planApproval = keywarden.table('plan_approval', {
  number: int64('number').notNull(),
  planId: text('plan_id').notNull(),
  approvedBy: text('approved_by').notNull(),
  via: text('via').$type<'command line' | 'report' | 'enforcement'>().notNull(),
  approvedAt: instant('approved_at').notNull(),
});

export const revocationIntent = keywarden.table('revocation_intent', {
  number: int64('number').notNull(),
  planId: text('plan_id'),
  keyNumber: int64('key_number').notNull(),
  attempt: integer('attempt').notNull(),
  connection: text('connection').notNull(),
  approvalNumber: int64('approval_number'),
  rotationNumber: int64('rotation_number'),
  lastListingNumber: int64('last_listing_number').notNull(),
  createdAt: instant('created_at').notNull(),
  judgedAt: instant('judged_at'),
  policySha256: text('policy_sha256'),
});

export const revocationOutcome = keywarden.table('revocation_outcome', {
  intentNumber: int64('intent_number').notNull(),
  outcome: text('outcome').$type<'revoked' | 'gone' | 'not_revoked' | 'failed'>().notNull(),
  usedInFlight: boolean('used_in_flight').notNull(),
  detail: jsonb('detail').$type<JsonObject>(),
  at: instant('at').notNull(),
});
