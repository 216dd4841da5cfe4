import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { migrateStore } from './migrate.ts';
import type { Store } from './store.ts';

// A migration beside the apps, which continue to work.

let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
});
afterAll(async () => await store.close());

const outdate = async () =>
  await store.sql`update keywarden.repeatable set sha256 = 'another' where name like '%10-key%'`;
const migrated = { migrations: 0, functions: 1, sequences: 0 };

test('a transaction that has read a table and then reads views is not ended, and the migration that waits for it is not either', async () => {
  const migrating = await daemon.sql.begin(async (tx) => {
    await tx`select from keywarden.plan`;
    await outdate();
    const work = [migrateStore(store.sql)];
    await store.untilBlocked(...work);
    expect(await tx`select from keywarden.newest_plan`).toEqual([]);
    return { work };
  });
  expect(await Promise.all(migrating.work)).toEqual([migrated]);
});

test('what others do continues while a migration waits for a transaction that someone left open', async () => {
  const reader = await store.sql.reserve();
  await reader`begin`;
  await reader`select from keywarden.plan`;
  await outdate();
  const migrating = migrateStore(store.sql);
  await store.untilBlocked(migrating);
  for (const relation of ['plan', 'newest_plan', 'credential', 'key_owner_now', 'ledger_event'])
    await daemon.sql`select from keywarden.${daemon.sql(relation)} limit 0`;
  await daemon.sql`insert into keywarden.pause (paused_by) values ('ada')`;
  await reader`commit`;
  reader.release();
  expect(await migrating).toEqual(migrated);
});

test('a session that waits for another while a migration tries its locks is not ended', async () => {
  const lock = 7_317_001;
  const countWaiting = async (seconds: number) => {
    const rows = await store.sql`
      select from pg_locks where locktype = 'advisory' and objid = ${lock} and waitstart < clock_timestamp() - ${seconds} * interval '1 s'`;
    return rows.length;
  };
  const holder = await store.sql.reserve();
  await holder`begin`;
  await holder`select pg_advisory_xact_lock(${lock})`;
  await outdate();
  let isOver = false;
  const reading = until(async () => {
    await holder`savepoint unread`;
    await holder`select from keywarden.exemption limit 0`;
    await holder`rollback to savepoint unread`;
    return isOver;
  });
  const waiting: Promise<unknown>[] = [];
  const migrating: Promise<unknown>[] = [];
  let failed = 0;
  for (const each of Array.from({ length: 6 }).keys()) {
    const wait = daemon.sql.begin(async (tx) => {
      await tx`select from keywarden.plan limit 0`;
      await tx`select pg_advisory_xact_lock(${lock})`;
    });
    waiting.push(wait.catch(() => (failed += 1)));
    await until(async () => failed > 0 || (await countWaiting(0.15)) === each + 1);
    if (each === 0) migrating.push(migrateStore(store.sql));
  }
  // Postgres has looked after a second.
  await until(async () => failed > 0 || (await countWaiting(1.5)) === waiting.length);
  isOver = true;
  await reading;
  await holder`commit`;
  holder.release();
  await Promise.all(waiting);
  expect(await Promise.all(migrating)).toEqual([migrated]);
  expect(failed).toBe(0);
});
