import { sql } from 'drizzle-orm';
import { jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, refers, table } from './columns.ts';
import { credential } from './keys.ts';
import { revocationIntent } from './revocations.ts';

export const incidentKinds = [
  'used_in_flight',
  'breaker',
  'high_water_mark',
  'rotation_stalled',
  'orphan',
  'job_failed',
  'key_changed',
  'configuration',
  'listing_doubted',
  'signature_broken',
  'review_overdue',
  'ledger_inconsistent',
  'revocation_undone',
] as const;

/**
 * An incident that a person has to check. control plane and scope are as plans name them, and empty for an incident without a scope. An
 * incident that concerns a scope and no key is one incident while it is open. Kinds:
 * - used_in_flight: the answer to a revocation showed a use that the evidence did not have (R5)
 * - breaker: a plan flags more keys of a scope than policy allows, and nothing is revoked there (R3)
 * - high_water_mark: the store is new, or older than what this machine has seen; nothing is revoked automatically (R10)
 * - rotation_stalled: a rotation cannot continue; its successor may be live
 * - orphan: a key that Keywarden may have created, and that no rotation has (T2)
 * - job_failed: a job of the daemon failed in all its attempts; its scope is "job KIND ACCOUNT"
 * - key_changed: a listing shows an id with another creation time, creator or kind; neither key is revoked until a person has checked
 * - configuration: a daemon whose configuration file has become invalid judges and revokes nothing; or replicas have different policies
 * - listing_doubted: for over a day no listing of a scope was trusted
 * - signature_broken: a signed access review no longer has the content that was signed; its scope is "review NUMBER"
 * - ledger_inconsistent: the ledger in the store is not the one that this machine has seen, or its rows differ from it
 * - revocation_undone: a key that counts as revoked by us is listed again, by two listings that no replica's lag explains
 * - review_overdue: reviews of a campaign were not signed by its due date; its scope is "campaign NUMBER"
 */
export const incident = table(
  'incident',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    kind: text('kind', { enum: incidentKinds }).notNull(),
    openedAt: instant('opened_at').notNull().default(sql`clock_timestamp()`),
    keyNumber: refers(int64('key_number'), () => credential.number),
    intentNumber: refers(int64('intent_number'), () => revocationIntent.number),
    detail: jsonb('detail').$type<JsonObject>().notNull(),
    closedAt: instant('closed_at'),
    closedBy: text('closed_by'),
    note: text('note'),
    scope: text('scope').notNull().default(''),
  },
  (t) => [
    uniqueIndex('incident_open_of_key')
      .on(t.kind, t.keyNumber)
      .where(sql`closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed')`),
    uniqueIndex('incident_open_of_scope').on(t.kind, t.scope).where(sql`closed_at is null and key_number is null`),
  ],
);
