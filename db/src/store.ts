import { storeError, UserError } from '@keywarden/runtime';
import { drizzle } from 'drizzle-orm/postgres-js';
import { connect, readVersion } from './connect.ts';
import { openEmbedded } from './embedded/embedded.ts';
import { createEmbeddedLogins, embeddedLogin } from './embedded/logins.ts';
import { createLocks, type Locks } from './locks.ts';
import { assertCurrent, migrateStore } from './migrate.ts';
import { setOperationRetention } from './operations/retention.ts';
import { toInstant } from './schema/columns.ts';
import { type Db, isTrue, type PoolOptions, readText, type Sql, type StoreRole } from './sql.ts';

export { distributeOperations, listMisplacedTables } from './citus.ts';
export { probeSettings, whyNodesMissing } from './cluster.ts';
export type { Lease } from './locks.ts';
export { assertCurrent, type Migrated, migrateStore } from './migrate.ts';
export { setOperationRetention } from './operations/retention.ts';
export { listBlockers } from './silence.ts';
export type { Db, PoolOptions, Sql, StoreRole } from './sql.ts';

/** The audit store: one pool, used through drizzle where it suffices and as SQL otherwise. */
export interface Store {
  sql: Sql;
  db: Db;
  /** The locks for work that only one process may do at a time. */
  locks: Locks;
  /**
   * Opens another pool on the same database, by default in the same role, for work that must not wait behind the first pool or delay it. It
   * is closed with the store.
   */
  connect: (options: PoolOptions) => Sql;
  /** In words, without a secret: "embedded Postgres 18.4", "Postgres 17.2 at db.internal". */
  description: string;
  close(): Promise<void>;
}

/**
 * Whether to migrate:
 * - auto: the embedded database is migrated, and any other must be current
 * - migrate: any database is migrated
 * - none: nothing is checked
 */
export type Migrations = 'auto' | 'migrate' | 'none';

export interface StoreOptions {
  databaseUrl: string | undefined;
  dataFolder: string;
  applicationName: string;
  migrations?: Migrations;
  /** The role to work as; by default the user in the URL. */
  role?: StoreRole;
  /** How long operations are kept, in ms (null: forever), set when the database is migrated. Unchanged if absent. */
  operationRetentionMs?: number | null;
  maxConnections?: number;
  /** Statements that take longer are canceled, in ms. Without it there is no limit. */
  statementTimeoutMs?: number;
}

/** Returns the query builder over a pool. It sets the pool's parsers: times and JSON pass as text. */
export const builderOver = (sql: Sql): Db => drizzle(sql);

const oldestVersion = 150_000;

/** Opens the store. Throws a UserError for a database that is unreachable or too old, refuses the connection, or has another schema. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const embedded = options.databaseUrl === undefined ? await openEmbedded(options.dataFolder) : undefined;
  const url = options.databaseUrl ?? embedded?.url ?? '';
  const migrations = options.migrations ?? 'auto';
  const migrates = migrations === 'migrate' || (migrations === 'auto' && embedded !== undefined);
  // An open connection to the embedded server would keep a failed process alive.
  if (migrates)
    await migrateAsOwner(url, options).catch(async (error: unknown) => {
      await embedded?.close();
      throw error;
    });
  const pools: Sql[] = [];
  const open = (pool: PoolOptions) => {
    const role = pool.role ?? options.role;
    const loginUrl = embedded === undefined || role === undefined ? url : embeddedLogin(url, role);
    const opened = connect(loginUrl, { ...options, role, pool });
    pools.push(opened);
    return opened;
  };
  const sql = open({ max: options.maxConnections ?? 10 });
  const db = builderOver(sql);
  const locks = createLocks(open);
  const close = async () => {
    await Promise.all(pools.map((pool) => pool.end({ timeout: 5 })));
    await embedded?.close();
  };
  try {
    const { name, number } = await readVersion(sql, url, options.role);
    if (number < oldestVersion) throw storeError(`Postgres ${name} is too old; Keywarden needs 15 or newer.`);
    if (!migrates && migrations === 'auto') await assertCurrent(sql);
    if (migrations === 'auto') await assertWritable(sql, url);
    const description = embedded ? `embedded Postgres ${name}` : `Postgres ${name} at ${new URL(url).host}`;
    return { sql, db, locks, connect: open, description, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Migrates as the database's own user. The apps then use roles with fewer permissions. */
async function migrateAsOwner(url: string, options: StoreOptions): Promise<void> {
  const { statementTimeoutMs: _none, ...owner } = options;
  const sql = connect(url, { ...owner, role: undefined, pool: { max: 3 } });
  builderOver(sql);
  try {
    await readVersion(sql, url, undefined);
    await migrateStore(sql);
    if (options.databaseUrl === undefined) await createEmbeddedLogins(sql, url);
    if (options.operationRetentionMs !== undefined) await setOperationRetention(sql, options.operationRetentionMs);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Returns whether the database takes no writes. A standby takes none, and answers reads. */
async function isReadOnly(sql: Sql): Promise<boolean> {
  return await isTrue(sql`select current_setting('transaction_read_only') = 'on'`);
}

/** Throws a UserError for a database that takes no writes. It may take them soon, as after a failover. */
async function assertWritable(sql: Sql, url: string): Promise<void> {
  if (!(await isReadOnly(sql))) return;
  const message = `The database at ${new URL(url).host} is read-only, as a standby is; set DATABASE_URL to the primary, or end default_transaction_read_only.`;
  throw new UserError('store', message, { canRetry: true });
}

/**
 * Throws a UserError (exit 2) if the user of the connection could do more than its role: a superuser, a user who may create roles, or one who acts
 * as the owner of the tables. SET ROLE NONE would undo the role of an app.
 */
export async function assertAppLogin(sql: Sql): Promise<void> {
  const [user] = await sql`
    select r.rolname as name, r.rolsuper or r.rolcreaterole or r.rolbypassrls as is_strong,
      pg_has_role(session_user, n.nspowner, 'member') as is_owner
    from pg_roles r, pg_namespace n where r.rolname = session_user and n.nspname = 'keywarden'`;
  if (user === undefined || !(user.is_strong || user.is_owner)) return;
  const what = user.is_strong ? 'is a superuser or may create roles' : 'owns the tables';
  throw storeError(
    `The database user ${String(user.name)} ${what}, so an error or a thief could change history: use a login that has only the role of this process (docs/ROLES.md), or set ALLOW_OWNER_LOGIN=1.`,
  );
}

/** Returns whether the session of a pool is encrypted, as the server sees it. It shows that to the login of the session, and not to the role of an app. */
export async function isEncrypted(sql: Sql): Promise<boolean> {
  return await sql.begin(async (tx) => {
    await tx`set local role none`;
    return await isTrue(tx`select ssl from pg_stat_ssl where pid = pg_backend_pid()`);
  });
}

/**
 * Lists, in words, the server settings under which a crash may lose committed data. A lost intent or approval could let a key be revoked
 * again, or let more keys be revoked than a day allows. The check includes what the sessions of this store set for themselves.
 */
export async function listUnsafeSettings(sql: Sql): Promise<string[]> {
  const rows = await sql`
    select name from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`;
  return rows.map(
    ({ name }) =>
      `${String(name)} is off: a crash may lose revocations and approvals that were recorded; set it on in the server's configuration`,
  );
}

/** The most connections of one daemon: ten for its work, two for probes, and one each for locks, shared limits, queues and their notifications. */
const daemonConnections = 16;

/** Lists, in words, the limits of connections that are too low for one daemon of this login. */
export async function listShortLimits(sql: Sql): Promise<string[]> {
  const rows = await sql`
    select what, most, fix from pg_roles r, pg_database d, lateral (values
      (format('the user %s', rolname), rolconnlimit, format('ALTER ROLE %I CONNECTION LIMIT', rolname)),
      (format('the database %s', datname), datconnlimit, format('ALTER DATABASE %I CONNECTION LIMIT', datname)),
      ('the server', current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int, 'ALTER SYSTEM SET max_connections ='))
      l(what, most, fix)
    where r.rolname = session_user and d.datname = current_database() and not r.rolsuper and most between 0 and ${daemonConnections - 1}`;
  return rows.map(
    ({ what, most, fix }) =>
      `${String(what)} may have ${String(most)} connections, and one daemon holds up to ${daemonConnections}: raise the limit for all daemons and reports with ${String(fix)} ...`,
  );
}

/**
 * Returns why an app cannot work with the store; null if the store has our tables and has taken a write, which leaves no row. Like every write, it waits
 * while a standby that must have it does not answer. `onFailure` gets the error of a store that does not answer or is not current.
 */
export async function whyNotReady(sql: Sql, onFailure?: (err: unknown) => void): Promise<string | null> {
  try {
    await assertCurrent(sql);
    if (await isReadOnly(sql)) return 'the store is read-only';
    await sql`select pg_logical_emit_message(true, 'keywarden', '') from (select count(*) from (select from keywarden.key limit 1) k) is_there`;
    return null;
  } catch (error) {
    onFailure?.(error);
    return error instanceof UserError ? error.message : 'the store does not answer';
  }
}

/** Returns the database's current time, as RFC 3339. */
export async function readNow(sql: Sql): Promise<string> {
  return toInstant(await readText(sql`select clock_timestamp()`));
}
