import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { openStore, type Store } from './store.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** An administrator's URL of the Postgres that all tests of a run share. */
    postgresUrl: string;
  }
}

export const templateDatabase = 'keywarden_template';

export interface TestStore extends Store {
  url: string;
}

/** A migrated database of its own for one test file, dropped when it is closed. */
export async function createTestStore(postgresUrl: string): Promise<TestStore> {
  const options = { dataFolder: tmpdir(), applicationName: 'keywarden tests' };
  const administrator = await openStore({
    ...options,
    databaseUrl: postgresUrl,
    migrations: 'none',
    maxConnections: 1,
  });
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administrator.sql.unsafe(`create database ${name} template ${templateDatabase}`);
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  const store = await openStore({ ...options, databaseUrl: url });
  return {
    ...store,
    url,
    async close() {
      await store.close();
      await administrator.sql.unsafe(`drop database ${name} with (force)`);
      await administrator.close();
    },
  };
}
