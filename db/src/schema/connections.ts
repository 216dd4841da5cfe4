import { sql } from 'drizzle-orm';
import { boolean, check, text, uuid } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, refers, table } from './columns.ts';

export const controlPlane = table('control_plane', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  baseUrl: text('base_url').notNull().unique('control_plane_base_url_key'),
  firstSeenAt: instant('first_seen_at').notNull().default(sql`now()`),
});

/** A configured base URL with one credential. own_key_id is the credential's own key, which is configured and never guessed. */
export const connection = table('connection', {
  name: text('name').primaryKey(),
  controlPlaneNumber: refers(int64('control_plane_number'), () => controlPlane.number).notNull(),
  accountId: text('account_id').notNull(),
  authMethod: text('auth_method').notNull(),
  ownKeyId: text('own_key_id'),
  isSandbox: boolean('is_sandbox').notNull(),
  checkedAt: instant('checked_at').notNull(),
  removedAt: instant('removed_at'),
});

export const connectionScope = table('connection_scope', {
  connection: inKey(refers(text('connection'), () => connection.name)).notNull(),
  controlPlaneNumber: inKey(refers(int64('control_plane_number'), () => controlPlane.number)).notNull(),
  scope: inKey(text('scope')).notNull(),
  seenAt: instant('seen_at').notNull(),
});

/** Own keys of connections, including former ones. While two replicas have different keys, both are in use (R2). */
export const ownKey = table('own_key', {
  connection: inKey(refers(text('connection'), () => connection.name)).notNull(),
  keyId: inKey(text('key_id')).notNull(),
  checkedAt: instant('checked_at').notNull().default(sql`now()`),
});

/** The own key that each process uses. An old key is retired when all live processes have the new one. */
export const replicaCredential = table('replica_credential', {
  replica: inKey(uuid('replica')).notNull(),
  connection: inKey(refers(text('connection'), () => connection.name)).notNull(),
  keyId: text('key_id').notNull(),
  authenticatedAt: instant('authenticated_at').notNull().default(sql`now()`),
  endedAt: instant('ended_at'),
});

/**
 * The policy that each replica uses, reported every minute. A null policy means that its configuration file is invalid; `why` explains it.
 * While recently reported replicas differ, nothing is revoked or rotated automatically.
 */
export const replicaPolicy = table(
  'replica_policy',
  {
    replica: uuid('replica').primaryKey(),
    policySha256: text('policy_sha256'),
    why: text('why'),
    reportedAt: instant('said_at').notNull().default(sql`now()`),
  },
  () => [check('replica_policy_check', sql`(policy_sha256 is null) = (why is not null)`)],
);
