import { sql } from 'drizzle-orm';
import { jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, refers, table } from './columns.ts';
import { credential } from './keys.ts';
import { revocationIntent } from './revocations.ts';

export const incidentKinds = [
  // The answer to a revocation showed a use that the evidence did not have (R5).
  'used_in_flight',
  // A plan flags more keys of a scope than policy allows, and nothing is revoked there (R3).
  'breaker',
  // The store lacks the last mark of a machine: it is an older one, or another. Nothing is revoked automatically (R10).
  'high_water_mark',
  // A rotation cannot continue. Its successor may be live.
  'rotation_stalled',
  // A key that Keywarden may have created, and that no rotation has (T2).
  'orphan',
  // A job of the daemon failed in all its attempts. Its scope is "job KIND ACCOUNT".
  'job_failed',
  // A listing shows an id with another creation time, creator or kind. Neither key is revoked until a person has checked.
  'key_changed',
  // A daemon whose configuration file has become invalid judges and revokes nothing; or replicas have different policies.
  'configuration',
  // For over a day no listing of a scope was trusted.
  'listing_doubted',
  // A signed access review no longer has the content that was signed. Its scope is "review NUMBER".
  'signature_broken',
  // Reviews of a campaign were not signed by its due date. Its scope is "campaign NUMBER".
  'review_overdue',
  // The ledger in the store is not the one that this machine has seen, or its rows differ from it.
  'ledger_inconsistent',
  // A key that counts as revoked by us is listed again, by two listings that no replica's lag explains.
  'revocation_undone',
] as const;

/** Kinds with at most one open incident a key. */
export const kindsOnceAKey = [
  'rotation_stalled',
  'orphan',
  'key_changed',
] as const satisfies (typeof incidentKinds)[number][];

/** The condition of their index. */
export const isOpenOfKey = sql.raw(
  `closed_at is null and kind in (${kindsOnceAKey.map((kind) => `'${kind}'`).join(', ')})`,
);

/**
 * An incident that a person has to check. control plane and scope are as plans name them, and empty for an incident without a scope. An
 * incident that concerns a scope and no key is one incident while it is open.
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
    uniqueIndex('incident_open_of_key').on(t.kind, t.keyNumber).where(isOpenOfKey),
    uniqueIndex('incident_open_of_scope').on(t.kind, t.scope).where(sql`closed_at is null and key_number is null`),
  ],
);
