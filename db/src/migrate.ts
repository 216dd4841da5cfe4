import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { countOf } from '@keywarden/core/values';
import { codeOf, storeError, UserError } from '@keywarden/runtime';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type postgres from 'postgres';
import { hasQueues, installQueues } from './jobs/install.ts';
import { lockChanged } from './migration-locks.ts';
import {
  applyRepeatables,
  countRepeatables,
  countStaleRepeatables,
  lacksGrants,
  readRepeatable,
  refuseDependents,
} from './repeatables.ts';
import { listBlockers } from './silence.ts';
import { hasTable, type Sql } from './sql.ts';

const config = {
  migrationsFolder: fileURLToPath(new URL('../migrations', import.meta.url)),
  migrationsSchema: 'keywarden',
  migrationsTable: 'migration',
};
/** Read once: an upgrade in place changes the files under a process that still runs the former version. */
let journal: MigrationMeta[] | undefined;
const readJournal = () => (journal ??= readMigrationFiles(config));
const upgradeFolder = new URL('../upgrade/', import.meta.url);

/** The result of a migration. */
export interface Migrated {
  migrations: number;
  /** The number of files in db/functions that were new or had changed, or of all after a restore without grants. */
  functions: number;
  /** The number of sequences that were behind the rows of their tables, as after logical replication, and were set. */
  sequences: number;
}

/** How a migration reports, again and again, for whose locks it waits. */
interface Watching {
  onBlocked: (why: string) => void;
  everyMs?: number;
  waitedMs?: number;
}

/** Updates the database's schema, one process at a time. The pool needs three connections, and one more to watch. */
export async function migrateStore(sql: Sql, watching?: Watching): Promise<Migrated> {
  const watch = watching && setInterval(() => void reportBlockers(sql, watching), watching.everyMs ?? 10_000);
  try {
    return await migrateNow(sql);
  } catch (error) {
    throw (await isOnCluster(sql)) && error instanceof UserError && codeOf(error.cause) === '42501'
      ? storeError(`${error.message} ${ofCluster}`, { cause: error })
      : error;
  } finally {
    clearInterval(watch);
  }
}

async function reportBlockers(sql: Sql, { onBlocked, waitedMs = 5000 }: Watching): Promise<void> {
  const blockers = await listBlockers(sql, { waitedMs, isOwn: true }).catch(() => []); // the migration itself fails
  for (const blocker of blockers) onBlocked(blocker);
}

/** Citus refuses an owner of another database that a node knows with more rights. */
const ofCluster =
  'On a Citus cluster, create the database and the extension on every node and add the nodes before you create the owner, on the coordinator and in that database.';

async function isOnCluster(sql: Sql): Promise<boolean> {
  const rows = await sql`select from pg_extension where extname = 'citus'`.catch(() => []);
  return rows.length > 0;
}

async function migrateNow(sql: Sql): Promise<Migrated> {
  await createMigrationTable(sql).catch(refuseWeakUser);
  return await withMigrationLock(sql, async () => {
    const reserved = await sql.reserve();
    try {
      // Refuses the store of a newer version before it changes anything.
      await countMissing(sql);
      const sequences = await advanceSequences(reserved).catch(refuseWeakUser);
      await adoptEarlyMigrations(reserved).catch(refuseWeakUser);
      const migrations = await countMissing(sql);
      const functions = (await lacksGrants(sql)) ? countRepeatables() : await countStaleRepeatables(sql);
      if (migrations + functions > 0)
        await apply(reserved, readJournal().slice(readJournal().length - migrations))
          .catch(refuseDependents)
          .catch(refuseWeakUser)
          .catch(refusePartOfStore);
      // No trigger sees a migration.
      await reserved`
        select keywarden.begin_ledger() where exists (select from keywarden.migration m where not exists (
          select from keywarden.ledger_event e where e.type = 'store.migrated' and e.subject = 'migration/' || m.id))`;
      if (!(await hasQueues(sql))) await installQueues(reserved).catch(refuseWeakUser);
      await assertCurrent(sql);
      return { migrations, functions, sequences };
    } finally {
      reserved.release();
    }
  });
}

/**
 * Applies the missing migrations and all files in db/functions, in one transaction: no process sees the tables of one version with the functions of another. A
 * function may have the columns of a table, so it changes with a migration although its file has not.
 */
async function apply(session: Sql, missing: MigrationMeta[]): Promise<void> {
  const statements = missing.flatMap(({ sql }) => sql);
  try {
    await session`begin`;
    await liftLimits(session);
    await lockChanged(session, statements);
    // The server may have ended the idle session that keeps others from migrating. Another process may then have applied the same.
    if ((await countMissing(session)) !== missing.length)
      throw storeError('Another process has migrated the database meanwhile; run keywarden migrate again.', {
        canRetry: true,
      });
    for (const statement of statements) await session.unsafe(statement);
    for (const { hash, folderMillis } of missing)
      await session`insert into keywarden.migration (hash, created_at) values (${hash}, ${folderMillis})`;
    await applyRepeatables(session);
    await session`commit`;
  } catch (error) {
    await session`rollback`;
    throw error;
  }
}

/** A migration may take longer than the server allows a transaction to be idle, or to last (from Postgres 17 on). */
async function liftLimits(tx: postgres.ISql): Promise<void> {
  await tx`select set_config(name, '0', true) from pg_settings
    where name in ('idle_in_transaction_session_timeout', 'transaction_timeout', 'lock_timeout')`;
}

/** Sets each sequence that is behind the rows of its table. Migrations and the ledger add rows, so this comes first, also in a store without this function. */
async function advanceSequences(session: Sql): Promise<number> {
  await session.unsafe(readRepeatable('04-sequences_behind.sql'));
  const rows = await session`select setval(sequence, highest) from keywarden.sequences_behind()`;
  return rows.length;
}

/** Creates the table of applied migrations as drizzle's migrator does, if it is missing. The lock below needs it. */
async function createMigrationTable(sql: Sql): Promise<void> {
  if (await hasTable(sql, 'keywarden.migration')) return;
  try {
    await sql
      .unsafe(
        'create schema if not exists keywarden; create table if not exists keywarden.migration (id serial primary key, hash text not null, created_at bigint)',
      )
      .simple();
  } catch (error) {
    // Another process has just created it.
    if (!['23505', '42P06', '42P07'].includes(codeOf(error))) throw error;
  }
}

/**
 * Works while no other process migrates. The lock is one that the apps' roles may not take, so none of them can delay a migration: they may
 * only read the table. It permits the rows that a migration itself adds.
 */
export async function withMigrationLock<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  const locked = await sql.begin(async (tx) => {
    await liftLimits(tx);
    await tx`lock table keywarden.migration in share update exclusive mode`.catch(refuseWeakUser);
    return { result: await work() };
  });
  return locked.result;
}

/** Throws a UserError if the user cannot migrate: another user owns the tables, or another database's owner created the roles. */
function refuseWeakUser(error: unknown): never {
  if (!['42501', '42710'].includes(codeOf(error))) throw error;
  throw storeError(
    "The database's user cannot migrate: it must have CREATEROLE or hold keywarden_admin, keywarden_daemon and keywarden_report WITH ADMIN OPTION, and must own the database or have CREATE on it while keywarden_daemon has TEMPORARY; use the owner, or grant that.",
    { cause: error },
  );
}

/** Throws a UserError for tables whose migrations are not recorded. */
function refusePartOfStore(error: unknown): never {
  if (codeOf(error) !== '42P07') throw error;
  throw storeError(
    'The database has tables of Keywarden, and no record of the migrations that created them, as after a restore of the schema alone; restore the whole backup into an empty database.',
    { cause: error },
  );
}

/** Throws if the database's schema is not the one of this version. */
export async function assertCurrent(sql: Sql): Promise<void> {
  const outdated = (message: string) => storeError(message, { canRetry: true });
  // Without them, a role may not even look at the migrations.
  if (await lacksGrants(sql))
    throw outdated("The database lacks the roles' rights, as after a restore without them; run keywarden migrate.");
  await refuseRowSecurity(sql);
  const missing = await countMissing(sql);
  if (missing > 0) throw outdated(`The database lacks ${missing} of this version's migrations; run keywarden migrate.`);
  const stale = await countStaleRepeatables(sql);
  if (stale > 0)
    throw outdated(
      `${stale} of the database's functions, views and grants differ from this version's; run keywarden migrate with the newest version.`,
    );
  if (!(await hasQueues(sql)))
    throw outdated("The database's queues differ from this version's; run keywarden migrate with the newest version.");
  const behind = await sql`select from keywarden.sequences_behind()`;
  if (behind.length > 0)
    throw outdated(
      `${countOf(behind.length, 'sequence')} of the database ${behind.length === 1 ? 'is' : 'are'} behind the rows, as after logical replication; run keywarden migrate.`,
    );
}

/** Throws a UserError for row security that someone turned on, as an event trigger of a host may do for each new table. The apps' statements would fail. */
async function refuseRowSecurity(sql: Sql): Promise<void> {
  const rows = await sql`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('keywarden', 'keywarden_jobs') and c.relrowsecurity and not c.relispartition order by 1`;
  const [first] = rows;
  if (first === undefined) return;
  const others = rows.length === 1 ? '' : ` and ${rows.length - 1} more`;
  throw storeError(
    `Row security is on for ${String(first.name)}${others}, and would hide rows; as the owner, run ALTER TABLE ... DISABLE ROW LEVEL SECURITY for each.`,
    { canRetry: true },
  );
}

/**
 * Returns the number of the journal's migrations that were not applied. The applied ones must be its first ones, unchanged. The migrator
 * compares only times and would skip the others silently.
 */
async function countMissing(sql: Sql): Promise<number> {
  const known = readJournal();
  const applied = await readApplied(sql);
  if (isEarly(applied)) return known.length;
  if (!isPrefix(applied, hashesOf(known)))
    throw storeError(
      `The database has ${applied.length} migrations, which do not match the ${known.length} of this version; use the Keywarden version that created it, or a newer one.`,
    );
  return known.length - applied.length;
}

const hashesOf = (journal: MigrationMeta[]) => journal.map(({ hash }) => hash);
const isPrefix = (part: string[], whole: string[]) =>
  part.length <= whole.length && part.every((hash, index) => hash === whole[index]);

async function readApplied(sql: Sql): Promise<string[]> {
  const rows = (await hasTable(sql, 'keywarden.migration'))
    ? await sql`select hash from keywarden.migration order by id`
    : [];
  return rows.map((row) => String(row.hash));
}

/** Returns the hashes of the migrations that the baseline replaced. */
function readEarly(): string[] {
  return JSON.parse(readFileSync(new URL('early-migrations.json', upgradeFolder), 'utf8')) as string[];
}

const isEarly = (applied: string[]) => applied.length > 0 && isPrefix(applied, readEarly());

/** Upgrades a database with the migrations that the baseline replaced. From then on it counts as created by the baseline. */
async function adoptEarlyMigrations(session: Sql): Promise<void> {
  const applied = await readApplied(session);
  if (!isEarly(applied)) return;
  if (applied.length < readEarly().length)
    throw storeError(
      `The database has ${applied.length} of the sixteen migrations that this version requires; run keywarden migrate with the version that has them all, then with this one.`,
    );
  const [baseline] = readJournal();
  if (baseline === undefined) throw new Error('there is no baseline');
  const differences = readFileSync(new URL('from-early-migrations.sql', upgradeFolder), 'utf8');
  const adopted = `insert into keywarden.migration (hash, created_at) values ('${baseline.hash}', ${baseline.folderMillis})`;
  try {
    await session.unsafe(`begin;\n${differences}\ndelete from keywarden.migration;\n${adopted};\ncommit`).simple();
  } catch (error) {
    await session`rollback`;
    throw error;
  }
}
