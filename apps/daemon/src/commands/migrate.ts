import { exitCode } from '@keywarden/core/process';
import { migrateStore, setOperationRetention } from '@keywarden/db/store';
import { withContext } from './session.ts';

/** Brings the database up to date. */
export async function migrateCommand(): Promise<number> {
  return await withContext(
    async ({ store, config }) => {
      const applied = await migrateStore(store.sql);
      await setOperationRetention(store.sql, config.retention.operations?.ms ?? null);
      console.log(
        applied === 0 ? 'The database is up to date.' : `Applied ${applied} migrations; the database is up to date.`,
      );
      return exitCode.done;
    },
    { needsControlPlane: false, migrations: 'none' },
  );
}
