import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { getTableColumns, getTableName } from 'drizzle-orm';
import { type PgTable } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { assertCurrent, migrateStore } from './migrate.ts';
import * as governance from './schema/governance.ts';
import * as tables from './schema/tables.ts';
import { openStore } from './store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('a database that is up to date is left as it is, also by two at once', async () => {
  expect(await Promise.all([migrateStore(store.sql), migrateStore(store.sql)])).toEqual([0, 0]);
});

const { keywarden: _schema, ...others } = tables;

test.each(Object.entries({ ...others, ...governance }))(
  'the table %s is as the queries see it: columns, types, nulls',
  async (_name, table: PgTable) => {
    const rows = await store.sql<{ name: string; type: string; nullable: boolean }[]>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable
    from pg_attribute a where a.attrelid = ${`keywarden.${getTableName(table)}`}::regclass and a.attnum > 0 and not a.attisdropped
    order by a.attname`;
    const [{ is_view: isView } = {}] = await store.sql`
      select relkind = 'v' as is_view from pg_class where oid = ${`keywarden.${getTableName(table)}`}::regclass`;
    // Postgres keeps of no column of a view that it is never null.
    const expected = Object.values(getTableColumns(table))
      .map((column) => ({ name: column.name, type: column.getSQLType(), nullable: isView === true || !column.notNull }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect([...rows].map((row) => ({ ...row }))).toEqual(expected);
  },
);

test('a database with other migrations than ours is refused, not passed over', async () => {
  await store.sql`update keywarden.migration set hash = 'of another version'`;
  await expect(assertCurrent(store.sql)).rejects.toThrow(/they are not the ones of this version/);
  await store.sql`delete from keywarden.migration`;
  await expect(assertCurrent(store.sql)).rejects.toThrow(/run keywarden migrate/);
});

test('a user who may not migrate is told what it takes', async () => {
  const name = `weak_${Date.now()}`;
  await store.sql.unsafe(`create user ${name} password 'weak-password'`);
  await store.sql.unsafe(`create database ${name} owner ${name}`);
  const url = Object.assign(new URL(store.url), {
    username: name,
    password: 'weak-password',
    pathname: `/${name}`,
  }).href;
  const migrating = openStore({ databaseUrl: url, dataFolder: '.', applicationName: 'test', migrations: 'migrate' });
  await expect(migrating).rejects.toThrow(/^The database's user may not migrate: /);
  await store.sql.unsafe(`drop database ${name} with (force)`);
  await store.sql.unsafe(`drop user ${name}`);
});
