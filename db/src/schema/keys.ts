import { credentialKinds, type KeyKind } from '@keywarden/core/wire';
import { sql } from 'drizzle-orm';
import { boolean, date, index, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, type JsonObject, refers, table, view } from './columns.ts';
import { controlPlane } from './connections.ts';
import { syncRun } from './runs.ts';

/**
 * One listing of one scope's keys: listed_at by the control plane's Date, begun_at by our database's clock. Listings that are incomplete or
 * not trusted have a `why_suspect`, and prove no absence. is_sudden: only because it is suddenly shorter.
 */
export const keyListing = table(
  'key_listing',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    controlPlaneNumber: refers(int64('control_plane_number'), () => controlPlane.number).notNull(),
    scope: text('scope').notNull(),
    connection: text('connection').notNull(),
    runNumber: refers(int64('run_number'), () => syncRun.number),
    listedAt: instant('listed_at').notNull(),
    begunAt: instant('begun_at').notNull(),
    receivedAt: instant('received_at').notNull().default(sql`now()`),
    keyCount: integer('key_count').notNull(),
    whySuspect: text('why_suspect'),
    isSudden: boolean('is_sudden').notNull().default(false),
  },
  (t) => [
    index('key_listing_believed')
      .on(t.controlPlaneNumber, t.scope, t.listedAt.desc().nullsFirst())
      .where(sql`why_suspect is null`),
    index('key_listing_by_control_plane').on(t.controlPlaneNumber, t.number),
    index('key_listing_by_scope').on(t.controlPlaneNumber, t.scope, t.number.desc().nullsFirst()),
    index('key_listing_suspect')
      .on(t.controlPlaneNumber, t.scope, t.number.desc().nullsFirst())
      .where(sql`why_suspect is not null`),
  ],
);

/** The fields of a record, and when it was seen. */
const recordColumns = {
  controlPlaneNumber: refers(int64('control_plane_number'), () => controlPlane.number).notNull(),
  scope: text('scope').notNull(),
  id: text('id').notNull(),
  organizationId: text('organization_id'),
  projectId: text('project_id'),
  name: text('name').notNull(),
  creatorId: text('creator_id').notNull(),
  creatorName: text('creator_name'),
  createdAt: instant('created_at').notNull(),
  lastUsedAt: instant('last_used_at'),
  lastUsedFrom: text('last_used_from'),
  extra: jsonb('extra').$type<JsonObject>(),
  firstSeenAt: instant('first_seen_at').notNull(),
  missingSince: instant('missing_since'),
  goneAt: instant('gone_at'),
  presentSince: instant('present_since').notNull(),
  supersededAt: instant('superseded_at'),
};

/**
 * API keys, and all other credentials that give access (docs/adr/0019).
 * - present_since: the first of the trusted listings that have all shown the key; for older rows the last listing, which is certain
 * - superseded_at: the row's id now belongs to another key, whose record has another creation time, creator or kind. The earlier row stays
 *   as it was, superseded and gone, and the id gets a new row (docs/adr/0018)
 * - holder: who can use the credential, if its record names them
 * - expires_at: null for a credential that does not expire
 * - key_by_record: finds the same record, whichever scope's list shows it
 */
export const credential = table(
  'credential',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    ...recordColumns,
    kind: text('kind', { enum: credentialKinds }).notNull(),
    useWentBack: boolean('use_went_back').notNull().default(false),
    branchId: text('branch_id'),
    holder: text('holder'),
    expiresAt: instant('expires_at'),
  },
  (t) => [
    uniqueIndex('key_by_id').on(t.controlPlaneNumber, t.scope, t.id).where(sql`superseded_at is null`),
    index('live_key_by_scope').on(t.controlPlaneNumber, t.scope).where(sql`gone_at is null`),
    index('gone_key_by_scope').on(t.controlPlaneNumber, t.scope, t.goneAt).where(sql`gone_at is not null`),
    index('key_by_record').on(t.controlPlaneNumber, t.id),
    index('key_superseded').on(t.controlPlaneNumber, t.scope, t.id).where(sql`superseded_at is not null`),
    index('other_credential').on(t.number).where(sql`kind not in ('personal', 'organization', 'project')`),
    index('other_credential_by_project')
      .on(t.controlPlaneNumber, t.projectId)
      .where(sql`kind not in ('personal', 'organization', 'project')`),
  ],
);

/** The API keys among the credentials. */
export const key = view('key', {
  number: int64('number').notNull(),
  ...recordColumns,
  kind: text('kind').$type<KeyKind>().notNull(),
  useWentBack: boolean('use_went_back').notNull(),
});

export const keyObservationEvents = ['first_seen', 'changed', 'missing', 'gone', 'back', 'revoked'] as const;

/** What changed when: first_seen, changed (name, creator, project, unknown fields), missing, gone, back, revoked (by us). */
export const keyObservation = table(
  'key_observation',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
    runNumber: refers(int64('run_number'), () => syncRun.number),
    seenAt: instant('seen_at').notNull(),
    event: text('event', { enum: keyObservationEvents }).notNull(),
    record: jsonb('record').$type<JsonObject>(),
  },
  (t) => [index('key_observation_by_key').on(t.keyNumber, t.number)],
);

/**
 * The history of use, which the control plane does not keep: one row for each key, address and hour. It has the first use of the hour too.
 * A later use of the same hour must not hide the use that a query about a past time needs.
 */
export const keyUse = table(
  'key_use',
  {
    keyNumber: inKey(refers(int64('key_number'), () => credential.number)).notNull(),
    hour: inKey(instant('hour')).notNull(),
    address: inKey(text('address')).notNull(),
    lastUsedAt: instant('last_used_at').notNull(),
    firstUsedAt: instant('first_used_at').notNull(),
  },
  (t) => [index('key_use_by_time').on(t.lastUsedAt)],
);

/**
 * Live keys of an organization, or personal ones with an empty organization_id, once on each day of the control plane. idle: known to be unused for over
 * 90 days. unknown: the last use or the creation is unknown.
 */
export const keyCount = table('key_count', {
  day: inKey(date('day')).notNull(),
  controlPlaneNumber: inKey(refers(int64('control_plane_number'), () => controlPlane.number)).notNull(),
  organizationId: inKey(text('organization_id')).notNull(),
  live: integer('live').notNull(),
  idle: integer('idle').notNull(),
  unknown: integer('unknown').notNull(),
});

export const keyOwnerSources = ['import', 'assignment'] as const;

/** The owner of a key. The newest row counts, and a row without an owner returns the key to its creator. */
export const keyOwner = table(
  'key_owner',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
    owner: text('owner'),
    source: text('source', { enum: keyOwnerSources }).notNull(),
    assignedAt: instant('assigned_at').notNull().default(sql`now()`),
    assignedBy: text('assigned_by').notNull(),
  },
  (t) => [index('key_owner_by_key').on(t.keyNumber, t.number.desc().nullsFirst())],
);
