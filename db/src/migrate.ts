import { fileURLToPath } from 'node:url';
import { codeOf, UserError } from '@keywarden/runtime';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import type postgres from 'postgres';
import { hasQueues, installQueues } from './jobs/install.ts';

const config = {
  migrationsFolder: fileURLToPath(new URL('../migrations', import.meta.url)),
  migrationsSchema: 'keywarden',
  migrationsTable: 'migration',
};
const migrationLock = 7_317_002;

/** Brings the database up to date, one process at a time. Answers with the number of migrations that were applied. */
export async function migrateStore(sql: postgres.Sql): Promise<number> {
  const reserved = await sql.reserve();
  try {
    await reserved`select pg_advisory_lock(${migrationLock})`;
    const missing = await countMissing(sql);
    if (missing > 0) await migrate(drizzle(sql), config).catch(refuseWeakUser);
    if (!(await hasQueues(sql))) await installQueues(reserved).catch(refuseWeakUser);
    await assertCurrent(sql);
    return missing;
  } finally {
    await reserved`select pg_advisory_unlock(${migrationLock})`.catch(() => undefined); // the session ends with it
    reserved.release();
  }
}

/** Another's tables, or roles that another database's owner made, are not this user's to change. */
function refuseWeakUser(error: unknown): never {
  if (!['42501', '42710'].includes(codeOf(error))) throw error;
  throw new UserError(
    "The database's user may not migrate: it must own the database, and may create roles or hold keywarden_daemon and keywarden_report WITH ADMIN OPTION; use its owner, or grant that.",
    { exit: 2, cause: error },
  );
}

/** Refuses a database whose schema is not the one that this version knows. */
export async function assertCurrent(sql: postgres.Sql): Promise<void> {
  const missing = await countMissing(sql);
  if (missing > 0) {
    throw new UserError(`The database lacks ${missing} of this version's migrations; run keywarden migrate.`, {
      exit: 2,
      canRetry: true,
    });
  }
  if (!(await hasQueues(sql)))
    throw new UserError(
      "The database's queues are not those of this version of Keywarden; run keywarden migrate with the newest.",
      { exit: 2, canRetry: true },
    );
}

/**
 * The journal's migrations that were not applied. The applied ones must be its first ones, unchanged: the migrator itself
 * compares times alone and would pass over the rest in silence.
 */
async function countMissing(sql: postgres.Sql): Promise<number> {
  const journal = readMigrationFiles(config);
  const [found] = await sql`select to_regclass('keywarden.migration') as name`;
  const applied = found?.name ? await sql`select hash from keywarden.migration order by id` : [];
  const isPrefix = applied.length <= journal.length && applied.every((row, index) => row.hash === journal[index]?.hash);
  if (!isPrefix) {
    throw new UserError(
      `The database has ${applied.length} migrations and they are not the ones of this version, which has ${journal.length}; use the Keywarden that made it, or a newer one.`,
      { exit: 2 },
    );
  }
  return journal.length - applied.length;
}
