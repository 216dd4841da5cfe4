import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded, planLaunch, stopPostmaster } from '@keywarden/db/embedded';
import { openStore, type Sql, type Store, type StoreRole } from '@keywarden/db/store';
import { until } from '../until.ts';
import { listUnrecorded } from './ledger-faults.ts';

const templateDatabase = 'keywarden_template';
const options = { dataFolder: tmpdir(), applicationName: 'keywarden tests' };

export interface TestStore extends Store {
  url: string;
  /** Returns the same database in an app's role; it closes with the store. */
  as(role: StoreRole): Promise<Store>;
  /** Says that the test changes governed rows behind the ledger. Otherwise `close` fails for a row that differs from it. */
  isTampered(): void;
  /** Waits until each of these pieces of work waits for a lock of the database. Throws if one ends before: then nothing makes it wait. */
  untilBlocked(...work: Promise<unknown>[]): Promise<void>;
}

export interface TestPostgres {
  url: string;
  /** Stops the server while clients are connected; it restarts automatically. */
  interrupt(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts an embedded Postgres in a folder that is removed with it, with a migrated database to copy. A signal that ends the process ends it too. Tests do not
 * wait for the disk. A benchmark sets `isDurable` and gets the production settings. With `other` or TEST_POSTGRES, an administrator's address, it uses that server instead, and changes none of its settings.
 * Tests that interrupt the server, or need two of them, fail there.
 */
export async function startTestPostgres({
  isDurable = false,
  other = process.env.TEST_POSTGRES,
}: {
  isDurable?: boolean;
  other?: string | undefined;
} = {}): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-test-'));
  const ignoreSignals = beforeSignal(async () => {
    await postgres?.close();
    // It is a process of its own, and others may use it.
    if (!other) await stopPostmaster(planLaunch(folder));
    rmSync(folder, { recursive: true, force: true });
  });
  let postgres: Pick<TestPostgres, 'url' | 'close'> | undefined;
  postgres = other ? { url: other, close: () => Promise.resolve() } : await openEmbedded(folder);
  const administrator = await openStore({ ...options, databaseUrl: postgres.url, migrations: 'none' });
  await administrator.sql.unsafe(`drop database if exists ${templateDatabase}`);
  await administrator.sql.unsafe(`create database ${templateDatabase}`);
  if (!isDurable && !other) {
    await administrator.sql.unsafe('alter system set fsync = off');
    await administrator.sql.unsafe('select pg_reload_conf()');
  }
  await administrator.close();
  const databaseUrl = urlOf(postgres.url, templateDatabase);
  const template = await openStore({ ...options, databaseUrl, migrations: 'migrate' });
  await template.close();
  return {
    url: postgres.url,
    interrupt: async () => {
      if (other) throw new Error('only the embedded Postgres can be interrupted; run this test without TEST_POSTGRES');
      await stopPostmaster(planLaunch(folder));
    },
    async close() {
      ignoreSignals();
      await postgres.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Does work before a signal ends this process. Returns what takes that back. */
function beforeSignal(work: () => Promise<void>): () => void {
  const end = (signal: NodeJS.Signals) => {
    takeBack();
    void work().finally(() => process.kill(process.pid, signal));
  };
  const takeBack = () => void process.off('SIGINT', end).off('SIGTERM', end);
  process.on('SIGINT', end).on('SIGTERM', end);
  return takeBack;
}

/** Creates a migrated database for one test file and drops it on close. */
export async function createTestStore(postgresUrl: string): Promise<TestStore> {
  const administrator = await openStore({
    ...options,
    databaseUrl: postgresUrl,
    migrations: 'none',
    maxConnections: 1,
  });
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administrator.sql.unsafe(`create database ${name} template ${templateDatabase} strategy file_copy`);
  const url = urlOf(postgresUrl, name);
  const store = await openStore({ ...options, databaseUrl: url });
  await recordAgain(store.sql);
  const others: Store[] = [];
  let isTampered = false;
  return {
    ...store,
    url,
    async as(role) {
      const other = await openStore({ ...options, databaseUrl: url, role });
      others.push(other);
      return other;
    },
    isTampered: () => void (isTampered = true),
    async untilBlocked(...work) {
      let hasEnded = false;
      for (const each of work) void each.catch(() => undefined).then(() => (hasEnded = true));
      await until(async () => {
        if (hasEnded) throw new Error('it ended, although it must wait for a lock');
        const blocked = await store.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return blocked.length === work.length;
      });
    },
    async close() {
      for (const other of others) await other.close();
      // A store without the ledger has nothing to compare.
      const faults = isTampered ? [] : await listUnrecorded(store.sql).catch(() => []);
      await store.close();
      await administrator.sql.unsafe(`drop database ${name} with (force)`);
      await administrator.close();
      const [named, rest] = [faults.slice(0, 10).join(', '), faults.length - 10];
      if (faults.length > 0)
        throw new Error(`the ledger does not have what the store has: ${named}${rest > 0 ? ` and ${rest} more` : ''}`);
    },
  };
}

/**
 * Records the migrations of a copied database as of now. Those of the template may have waited for a signature for an hour, and then nothing is enforced
 * automatically.
 */
async function recordAgain(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`truncate keywarden.ledger_event restart identity cascade`;
    await tx`select keywarden.begin_ledger()`;
  });
}

function urlOf(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: `/${database}` }).href;
}
