import { sql } from 'drizzle-orm';
import { boolean, check, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant, int64, keywarden, reference } from './columns.ts';

export const controlPlane = keywarden.table('control_plane', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  baseUrl: text('base_url').notNull().unique('control_plane_base_url_key'),
  firstSeenAt: instant('first_seen_at').notNull().default(sql`now()`),
});

/**
 * A configured base URL with one credential. own_key_id is the credential's own key, which is configured and never guessed.
 */
export const connection = keywarden.table(
  'connection',
  {
    name: text('name').primaryKey(),
    controlPlaneNumber: int64('control_plane_number').notNull(),
    accountId: text('account_id').notNull(),
    authMethod: text('auth_method').notNull(),
    ownKeyId: text('own_key_id'),
    isSandbox: boolean('is_sandbox').notNull(),
    checkedAt: instant('checked_at').notNull(),
    removedAt: instant('removed_at'),
  },
  (t) => [reference(t.controlPlaneNumber, controlPlane.number)],
);

export const connectionScope = keywarden.table(
  'connection_scope',
  {
    connection: text('connection').notNull(),
    controlPlaneNumber: int64('control_plane_number').notNull(),
    scope: text('scope').notNull(),
    seenAt: instant('seen_at').notNull(),
  },
  (t) => [
    primaryKey({ name: 'connection_scope_pkey', columns: [t.connection, t.controlPlaneNumber, t.scope] }),
    reference(t.connection, connection.name),
    reference(t.controlPlaneNumber, controlPlane.number),
  ],
);

/** Own keys of connections, including former ones. While two replicas have different keys, both are in use (R2). */
export const ownKey = keywarden.table(
  'own_key',
  {
    connection: text('connection').notNull(),
    keyId: text('key_id').notNull(),
    checkedAt: instant('checked_at').notNull().default(sql`now()`),
  },
  (t) => [
    primaryKey({ name: 'own_key_pkey', columns: [t.connection, t.keyId] }),
    reference(t.connection, connection.name),
  ],
);

/** The own key that each process uses. An old key is retired when all live processes have the new one. */
export const replicaCredential = keywarden.table(
  'replica_credential',
  {
    replica: uuid('replica').notNull(),
    connection: text('connection').notNull(),
    keyId: text('key_id').notNull(),
    authenticatedAt: instant('authenticated_at').notNull().default(sql`now()`),
    endedAt: instant('ended_at'),
  },
  (t) => [
    primaryKey({ name: 'replica_credential_pkey', columns: [t.replica, t.connection] }),
    reference(t.connection, connection.name),
  ],
);

/**
 * The policy that each replica uses, reported every minute. A null policy means that its configuration file is invalid; `why` explains it.
 * While recently reported replicas differ, nothing is revoked or rotated automatically.
 */
export const replicaPolicy = keywarden.table(
  'replica_policy',
  {
    replica: uuid('replica').primaryKey(),
    policySha256: text('policy_sha256'),
    why: text('why'),
    reportedAt: instant('said_at').notNull().default(sql`now()`),
  },
  () => [check('replica_policy_check', sql`(policy_sha256 is null) = (why is not null)`)],
);
