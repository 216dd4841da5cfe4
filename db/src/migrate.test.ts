import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { assertCurrent, migrateStore } from './migrate.ts';
import * as schema from './schema/index.ts';
import { openStore } from './store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  store.isTampered();
});
afterAll(async () => await store.close());

test('an up-to-date database stays as it is, even when two processes migrate at once', async () => {
  const nothing = { migrations: 0, functions: 0, sequences: 0 };
  expect(await Promise.all([migrateStore(store.sql), migrateStore(store.sql)])).toEqual([nothing, nothing]);
});

test('no role of an app can delay a migration: not by the lock that it takes, and not by the one of earlier versions', async () => {
  for (const role of ['keywarden_daemon', 'keywarden_report', 'keywarden_admin'] as const) {
    const { sql } = await store.as(role);
    for (const mode of ['share update exclusive', 'share', 'share row exclusive', 'exclusive', 'access exclusive'])
      await expect(
        sql.begin((tx) => tx.unsafe(`lock table keywarden.migration in ${mode} mode`)),
      ).rejects.toMatchObject({
        code: '42501',
      });
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7317002)`;
      await tx`lock table keywarden.migration in access share mode`;
      expect(await migrateStore(store.sql)).toEqual({ migrations: 0, functions: 0, sequences: 0 });
    });
  }
});

test('the store has the tables of db/src/schema, with their columns, types and nulls, and no others', async () => {
  const rows = await store.sql`
    select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end as line
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'keywarden'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      and c.relname <> 'migration'`;
  const tables = (Object.values(schema) as unknown[]).filter((each): each is PgTable => is(each, PgTable));
  const declared = tables.flatMap((table) =>
    Object.values(getTableColumns(table)).map((column) => {
      const { columnType, generatedIdentity } = column as { columnType: string; generatedIdentity?: object };
      expect(columnType).not.toBe('PgBigInt64');
      const isNotNull = column.notNull || column.primary || generatedIdentity !== undefined;
      return `${getTableName(table)}.${column.name} ${column.getSQLType()}${isNotNull ? ' not null' : ''}`;
    }),
  );
  expect(rows.map(({ line }) => String(line)).toSorted()).toEqual(declared.toSorted());
});

test('a function that another version has changed is replaced by this version’s', async () => {
  await store.sql`update keywarden.repeatable set sha256 = 'another' where name like '%hold_fence%'`;
  await store.sql.unsafe('drop function keywarden.hold_fence');
  await expect(assertCurrent(store.sql)).rejects.toThrow(
    /1 of the database's functions, views and grants differ from this version's/,
  );
  expect(await migrateStore(store.sql)).toEqual({ migrations: 0, functions: 1, sequences: 0 });
  await assertCurrent(store.sql);
  expect(await store.sql`select to_regprocedure('keywarden.hold_fence(text, bigint)') as name`).not.toEqual([
    { name: null },
  ]);
});

test('the function that stores operations has the fields of a migration, also if no file in db/functions has changed', async () => {
  const upgraded = await createTestStore(inject('postgresUrl'));
  upgraded.isTampered();
  await upgraded.sql`delete from keywarden.migration where id = (select max(id) from keywarden.migration)`;
  for (const table of ['operation', 'operation_version'])
    await upgraded.sql.unsafe(`alter table keywarden.${table} add column added text`);
  // The new version has it among its former functions.
  await upgraded.sql`drop function keywarden.save_operation_page`;
  expect(await migrateStore(upgraded.sql)).toMatchObject({ migrations: 1, functions: 0 });
  const found =
    await upgraded.sql`select from pg_proc where proname = 'save_operation_page' and 'each_added' = any(proargnames)`;
  expect(found).toHaveLength(1);
  await upgraded.close();
});

test('two migrations apply nothing twice, also if the server has ended the session that keeps one of them out', async () => {
  const shared = await createTestStore(inject('postgresUrl'));
  shared.isTampered();
  await shared.sql`delete from keywarden.migration where id = (select max(id) from keywarden.migration)`;
  const migrate = async () => {
    const options = {
      databaseUrl: shared.url,
      dataFolder: '.',
      applicationName: 'migrate',
      migrations: 'none',
    } as const;
    const other = await openStore(options);
    try {
      return await migrateStore(other.sql);
    } finally {
      await other.close();
    }
  };
  const listLocks = async (isGranted: boolean) =>
    await shared.sql`
    select pid from pg_locks where mode = 'ShareUpdateExclusiveLock' and granted = ${isGranted}
      and database = (select oid from pg_database where datname = current_database()) and (not granted or relation = 'keywarden.migration'::regclass)`;
  const reader = await shared.sql.reserve();
  await reader`begin`;
  await reader`select from keywarden.plan`;
  const work = [migrate()];
  await shared.untilBlocked(...work);
  for (const { pid } of await listLocks(true)) await shared.sql`select pg_terminate_backend(${String(pid)}::int)`;
  await until(async () => (await listLocks(true)).length === 0);
  work.push(migrate());
  // It has counted what is missing, and waits for the tables.
  await until(async () => (await listLocks(false)).length > 0);
  await reader`commit`;
  reader.release();
  const [, second] = await Promise.allSettled(work);
  expect(String(second?.status === 'rejected' && second.reason)).toMatch(/run keywarden migrate again/);
  await migrateStore(shared.sql);
  await assertCurrent(shared.sql);
  await shared.close();
});

test('a migration that waits for a session names it', async () => {
  const reader = await store.sql.reserve();
  await reader`begin`;
  const [{ pid } = {}] = await reader`select pg_backend_pid() as pid, (select count(*) from keywarden.key)`;
  await store.sql`update keywarden.repeatable set sha256 = 'another' where name like '%10-key%'`;
  const blockers: string[] = [];
  const migrating = migrateStore(store.sql, { onBlocked: (why) => blockers.push(why), everyMs: 10, waitedMs: 0 });
  await until(() => blockers.length > 1);
  const named = new Set(blockers.map((why) => why.replace(/^.* lock of /, '').replace(/ of the user .*/, '')));
  expect([...named]).toEqual([`session ${String(pid)}`]);
  await reader`commit`;
  reader.release();
  expect(await migrating).toEqual({ migrations: 0, functions: 1, sequences: 0 });
});

test('a foreign view that depends on ours is not dropped, and the migration error explains the fix', async () => {
  await store.sql`update keywarden.repeatable set sha256 = 'another' where name like '%10-key%'`;
  await store.sql.unsafe('create view public.theirs as select number from keywarden.key');
  await expect(migrateStore(store.sql)).rejects.toThrow(/Other views or functions depend on Keywarden's views/);
  await store.sql.unsafe('drop view public.theirs');
  expect(await migrateStore(store.sql)).toEqual({ migrations: 0, functions: 1, sequences: 0 });
});

test('a database with other migrations than ours is refused, not skipped', async () => {
  await store.sql`update keywarden.migration set hash = 'of another version'`;
  await expect(assertCurrent(store.sql)).rejects.toThrow(/which do not match the \d+ of this version/);
  // What a newer version has changed stays.
  const name = 'keywarden.sequences_behind()';
  await store.sql.unsafe(`alter function ${name} set work_mem = '5MB'`);
  await expect(migrateStore(store.sql)).rejects.toThrow(/which do not match the \d+ of this version/);
  const [found] = await store.sql`select proconfig from pg_proc where oid = ${name}::regprocedure`;
  expect(found?.proconfig).toContain('work_mem=5MB');
  await store.sql`delete from keywarden.migration`;
  await expect(assertCurrent(store.sql)).rejects.toThrow(/run keywarden migrate/);
  // As after a restore of the schema alone.
  await expect(migrateStore(store.sql)).rejects.toThrow(/; restore the whole backup into an empty database\.$/);
});

test('a user without permission to migrate gets an error that names the required permissions', async () => {
  const name = `weak_${Date.now()}`;
  await store.sql.unsafe(`create user ${name} password 'weak-password'`);
  await store.sql.unsafe(`create database ${name} owner ${name}`);
  const url = Object.assign(new URL(store.url), {
    username: name,
    password: 'weak-password',
    pathname: `/${name}`,
  }).href;
  const migrating = openStore({ databaseUrl: url, dataFolder: '.', applicationName: 'test', migrations: 'migrate' });
  await expect(migrating).rejects.toThrow(/^The database's user cannot migrate: /);
  await store.sql.unsafe(`drop database ${name} with (force)`);
  await store.sql.unsafe(`drop user ${name}`);
});

test('a user that may not let the daemon compare views cannot migrate, until the owner grants it', async () => {
  const name = `mover_${Date.now()}`;
  await store.sql.unsafe(`create user ${name} password 'mover-password'`);
  await store.sql.unsafe(`grant keywarden_admin, keywarden_daemon, keywarden_report to ${name} with admin option`);
  await store.sql.unsafe(`create database ${name}`);
  await store.sql.unsafe(`revoke temporary on database ${name} from public`);
  await store.sql.unsafe(`grant create on database ${name} to ${name}`);
  const url = new URL(store.url);
  Object.assign(url, { username: name, password: 'mover-password', pathname: `/${name}` });
  const migrate = async () =>
    await openStore({ databaseUrl: url.href, dataFolder: '.', applicationName: 'test', migrations: 'migrate' });
  await expect(migrate()).rejects.toThrow(/^The database's user cannot migrate: .* keywarden_daemon has TEMPORARY;/);
  await store.sql.unsafe(`grant temporary on database ${name} to keywarden_daemon`);
  const migrated = await migrate();
  await migrated.close();
  await store.sql.unsafe(`drop database ${name} with (force)`);
  await store.sql.unsafe(`drop user ${name}`);
});
