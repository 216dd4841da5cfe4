import { sql } from 'drizzle-orm';
import { jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, keywarden, oneOf, reference } from './columns.ts';
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
] as const;

/**
 * What a person has to look at. used_in_flight: the answer to a revocation showed a use that the evidence had not (R5). control plane and scope, as
 * plans name them; empty for what is of no scope. What is of a scope, and not of a key, is one incident while it is open. job_failed: a job of the
 * daemon failed as often as it is tried; its scope is "job KIND ACCOUNT". key_changed: an id that a listing shows with another creation time,
 * creator or kind. Neither key goes until a person has looked. configuration: a daemon whose configuration file cannot be used any more judges and
 * revokes nothing. listing_doubted: for over a day no listing of a scope could be believed.
 */
export const incident = keywarden.table(
  'incident',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    kind: text('kind', { enum: incidentKinds }).notNull(),
    openedAt: instant('opened_at').notNull().default(sql`now()`),
    keyNumber: int64('key_number'),
    intentNumber: int64('intent_number'),
    detail: jsonb('detail').$type<JsonObject>().notNull(),
    closedAt: instant('closed_at'),
    closedBy: text('closed_by'),
    note: text('note'),
    scope: text('scope').notNull().default(''),
  },
  (t) => [
    reference(t.intentNumber, revocationIntent.number),
    reference(t.keyNumber, credential.number),
    oneOf(t.kind, incidentKinds),
    uniqueIndex('incident_open_of_key')
      .on(t.kind, t.keyNumber)
      .where(sql`closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed')`),
    uniqueIndex('incident_open_of_scope').on(t.kind, t.scope).where(sql`closed_at is null and key_number is null`),
  ],
);
