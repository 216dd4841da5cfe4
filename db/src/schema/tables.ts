import type { CredentialKind, KeyKind } from '@keywarden/core/wire';
import { bigint, boolean, integer, jsonb, pgSchema, text, uuid } from 'drizzle-orm/pg-core';
import { instant, int64 } from './columns.ts';

// The tables as queries see them. migrations/ makes them; a test holds the two together.
export const keywarden = pgSchema('keywarden');

export type JsonObject = Record<string, unknown>;

export const controlPlane = keywarden.table('control_plane', {
  number: int64('number').notNull(),
  baseUrl: text('base_url').notNull(),
  firstSeenAt: instant('first_seen_at').notNull(),
});

export const connection = keywarden.table('connection', {
  name: text('name').notNull(),
  controlPlaneNumber: int64('control_plane_number').notNull(),
  accountId: text('account_id').notNull(),
  authMethod: text('auth_method').notNull(),
  ownKeyId: text('own_key_id'),
  isSandbox: boolean('is_sandbox').notNull(),
  checkedAt: instant('checked_at').notNull(),
  removedAt: instant('removed_at'),
});

export const connectionScope = keywarden.table('connection_scope', {
  connection: text('connection').notNull(),
  controlPlaneNumber: int64('control_plane_number').notNull(),
  scope: text('scope').notNull(),
  seenAt: instant('seen_at').notNull(),
});

export const syncRun = keywarden.table('sync_run', {
  number: int64('number').notNull(),
  kind: text('kind').$type<'keys' | 'operations'>().notNull(),
  connection: text('connection').notNull(),
  status: text('status').$type<'running' | 'finished' | 'failed' | 'interrupted'>().notNull(),
  startedAt: instant('started_at').notNull(),
  finishedAt: instant('finished_at'),
  counts: jsonb('counts').$type<Record<string, number>>().notNull(),
  error: jsonb('error').$type<{ type: string; code: string; message?: string }>(),
});

export const organization = keywarden.table('organization', {
  controlPlaneNumber: int64('control_plane_number').notNull(),
  id: text('id').notNull(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull(),
  extra: jsonb('extra').$type<JsonObject>(),
  firstSeenAt: instant('first_seen_at').notNull(),
  lastSeenAt: instant('last_seen_at').notNull(),
});

export const member = keywarden.table('member', {
  controlPlaneNumber: int64('control_plane_number').notNull(),
  organizationId: text('organization_id').notNull(),
  userId: text('user_id').notNull(),
  memberId: text('member_id').notNull(),
  email: text('email').notNull(),
  role: text('role').notNull(),
  joinedAt: instant('joined_at'),
  firstSeenAt: instant('first_seen_at').notNull(),
  lastSeenAt: instant('last_seen_at').notNull(),
  missingSince: instant('missing_since'),
  leftAt: instant('left_at'),
});

export const project = keywarden.table('project', {
  number: int64('number').notNull(),
  controlPlaneNumber: int64('control_plane_number').notNull(),
  id: text('id').notNull(),
  organizationId: text('organization_id').notNull(),
  name: text('name').notNull(),
  regionId: text('region_id'),
  pgVersion: integer('pg_version'),
  ownerId: text('owner_id'),
  createdAt: instant('created_at').notNull(),
  updatedAt: instant('updated_at').notNull(),
  extra: jsonb('extra').$type<JsonObject>(),
  firstSeenAt: instant('first_seen_at').notNull(),
  lastSeenAt: instant('last_seen_at').notNull(),
  missingSince: instant('missing_since'),
  goneAt: instant('gone_at'),
  walkedAt: instant('walked_at'),
  holeTriedAt: instant('hole_tried_at'),
  deletedAt: instant('deleted_at'),
  walkRefusedAt: instant('walk_refused_at'),
  listedActiveAt: instant('listed_active_at'),
});

export const openWalk = keywarden.table('open_walk', {
  projectNumber: int64('project_number').notNull(),
  beganAt: instant('began_at').notNull(),
  floor: instant('floor'),
  cursor: text('cursor').notNull(),
  below: instant('below').notNull(),
});

export const keyListing = keywarden.table('key_listing', {
  number: int64('number').notNull(),
  controlPlaneNumber: int64('control_plane_number').notNull(),
  scope: text('scope').notNull(),
  connection: text('connection').notNull(),
  runNumber: int64('run_number'),
  listedAt: instant('listed_at').notNull(),
  begunAt: instant('begun_at').notNull(),
  receivedAt: instant('received_at').notNull(),
  keyCount: integer('key_count').notNull(),
  doubt: text('doubt'),
});

const credentialColumns = {
  number: int64('number').notNull(),
  controlPlaneNumber: int64('control_plane_number').notNull(),
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
  useWentBack: boolean('use_went_back').notNull(),
  extra: jsonb('extra').$type<JsonObject>(),
  firstSeenAt: instant('first_seen_at').notNull(),
  missingSince: instant('missing_since'),
  goneAt: instant('gone_at'),
  presentSince: instant('present_since').notNull(),
  supersededAt: instant('superseded_at'),
};

/** API keys and all others by which somebody gets in. */
export const credential = keywarden.table('credential', {
  ...credentialColumns,
  kind: text('kind').$type<CredentialKind>().notNull(),
  branchId: text('branch_id'),
  holder: text('holder'),
  expiresAt: instant('expires_at'),
});

/** A view: the API keys among the credentials. */
export const key = keywarden.table('key', { ...credentialColumns, kind: text('kind').$type<KeyKind>().notNull() });

export const keyObservation = keywarden.table('key_observation', {
  number: int64('number').notNull(),
  keyNumber: int64('key_number').notNull(),
  runNumber: int64('run_number'),
  seenAt: instant('seen_at').notNull(),
  event: text('event').$type<'first_seen' | 'changed' | 'missing' | 'gone' | 'back' | 'revoked'>().notNull(),
  record: jsonb('record').$type<JsonObject>(),
});

export const keyUse = keywarden.table('key_use', {
  keyNumber: int64('key_number').notNull(),
  hour: instant('hour').notNull(),
  address: text('address').notNull(),
  lastUsedAt: instant('last_used_at').notNull(),
  firstUsedAt: instant('first_used_at').notNull(),
});

const operationColumns = {
  projectNumber: int64('project_number').notNull(),
  createdAt: instant('created_at').notNull(),
  id: uuid('id').notNull(),
  branchId: text('branch_id'),
  endpointId: text('endpoint_id'),
  action: text('action').notNull(),
  status: text('status').notNull(),
  failuresCount: bigint('failures_count', { mode: 'number' }).notNull(),
  error: text('error'),
  retryAt: instant('retry_at'),
  updatedAt: instant('updated_at').notNull(),
  totalDurationMs: bigint('total_duration_ms', { mode: 'number' }),
  extra: jsonb('extra').$type<JsonObject>(),
  seenAt: instant('seen_at').notNull(),
};

export const operation = keywarden.table('operation', { ...operationColumns, place: integer('place').notNull() });

export const operationVersion = keywarden.table('operation_version', {
  ...operationColumns,
  replacedAt: instant('replaced_at').notNull(),
});

export const operationPruned = keywarden.table('operation_pruned', {
  projectNumber: int64('project_number').notNull(),
  createdAt: instant('created_at').notNull(),
  id: uuid('id').notNull(),
  foundAt: instant('found_at').notNull(),
});

export const reportToken = keywarden.table('report_token', {
  number: int64('number').notNull(),
  name: text('name').notNull(),
  tokenHash: text('token_hash').notNull(),
  role: text('role').$type<'viewer' | 'auditor' | 'operator'>().notNull(),
  organizationIds: text('organization_ids').array(),
  createdAt: instant('created_at').notNull(),
  expiresAt: instant('expires_at'),
  revokedAt: instant('revoked_at'),
});
