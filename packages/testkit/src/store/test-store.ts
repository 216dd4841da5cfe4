import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded, planLaunch, stopPostmaster } from '@keywarden/db/embedded';
import { openStore, type Store } from '@keywarden/db/store';

const templateDatabase = 'keywarden_template';
const options = { dataFolder: tmpdir(), applicationName: 'keywarden tests' };

export interface TestStore extends Store {
  url: string;
  /** The same database as an app sees it; closed with the store. */
  as(role: 'keywarden_daemon' | 'keywarden_report'): Promise<Store>;
}

export interface TestPostgres {
  url: string;
  /** Stops the server under whoever works with it; it starts again by itself. */
  interrupt(): Promise<void>;
  close(): Promise<void>;
}

/**
 * An embedded Postgres in a folder that goes with it, with a migrated database to copy. Tests do not wait for the disk; a benchmark says
 * `isDurable`, and has the settings that everybody has.
 */
export async function startTestPostgres({ isDurable = false } = {}): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-test-'));
  const postgres = await openEmbedded(folder);
  const administrator = await openStore({ ...options, databaseUrl: postgres.url, migrations: 'none' });
  await administrator.sql.unsafe(`create database ${templateDatabase}`);
  if (!isDurable) {
    await administrator.sql.unsafe('alter system set fsync = off');
    await administrator.sql.unsafe('select pg_reload_conf()');
  }
  await administrator.close();
  const databaseUrl = urlOf(postgres.url, templateDatabase);
  const template = await openStore({ ...options, databaseUrl, migrations: 'migrate' });
  await template.close();
  return {
    url: postgres.url,
    interrupt: () => stopPostmaster(planLaunch(folder)),
    async close() {
      await postgres.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A migrated database of its own for one test file, dropped when it is closed. */
export async function createTestStore(postgresUrl: string): Promise<TestStore> {
  const administrator = await openStore({
    ...options,
    databaseUrl: postgresUrl,
    migrations: 'none',
    maxConnections: 1,
  });
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administrator.sql.unsafe(`create database ${name} template ${templateDatabase}`);
  const url = urlOf(postgresUrl, name);
  const store = await openStore({ ...options, databaseUrl: url });
  const others: Store[] = [];
  return {
    ...store,
    url,
    async as(role) {
      const other = await openStore({ ...options, databaseUrl: url, role });
      others.push(other);
      return other;
    },
    async close() {
      for (const other of others) await other.close();
      await store.close();
      await administrator.sql.unsafe(`drop database ${name} with (force)`);
      await administrator.close();
    },
  };
}

function urlOf(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: `/${database}` }).href;
}
