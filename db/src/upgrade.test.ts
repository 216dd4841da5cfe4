import { readdirSync, readFileSync } from 'node:fs';
import { fillEveryTable } from '@keywarden/testkit/store/fill-every-table';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { listChangedMachinery } from './ledger/machinery.ts';
import { migrateStore } from './migrate.ts';
import type { Sql } from './sql.ts';
import { openStore } from './store.ts';

const early = new URL('../../packages/testkit/data/early-store.sql', import.meta.url);

/** Returns every part of a schema, one line each, without the records that a migration keeps of itself. */
async function describeSchema(sql: Sql): Promise<string[]> {
  const rows = await sql`
    with relations as (
      select * from pg_class where relnamespace = 'keywarden'::regnamespace and not relispartition and relname not like 'migration%'
    )
    select concat_ws('|', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid)) as line
      from pg_attribute a join relations c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    union all select concat_ws('|', 'constraint', c.relname, k.conname, pg_get_constraintdef(k.oid)) from pg_constraint k
      join relations c on c.oid = k.conrelid where k.contype <> 'n' -- said of the column above
    union all select concat_ws('|', 'index', pg_get_indexdef(i.indexrelid)) from pg_index i join relations c on c.oid = i.indrelid
    union all select concat_ws('|', 'relation', c.relname, c.relkind, c.reloptions, pg_get_partkeydef(c.oid),
      case c.relkind when 'v' then pg_get_viewdef(c.oid) end) from relations c
    union all select concat_ws('|', 'privilege', c.relname, x.grantee::regrole, x.privilege_type) from relations c, aclexplode(c.relacl) x
    union all select concat_ws('|', 'privilege', c.relname, a.attname, x.grantee::regrole, x.privilege_type) from relations c
      join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x
    union all select concat_ws('|', 'function', pg_get_functiondef(p.oid)) from pg_proc p where p.pronamespace = 'keywarden'::regnamespace
    union all select concat_ws('|', 'privilege', p.proname, x.grantee, x.privilege_type) from pg_proc p,
      aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x where p.pronamespace = 'keywarden'::regnamespace
    union all select concat_ws('|', 'trigger', pg_get_triggerdef(t.oid)) from pg_trigger t join relations c on c.oid = t.tgrelid
      where not t.tgisinternal
    order by 1`;
  return rows.map((row) => String(row.line));
}

/** Returns rows as JSON with the names that later migrations gave their columns. */
const withNewNames = (rows: string) =>
  rows
    .replaceAll('"doubt":', '"why_suspect":')
    .replaceAll('"fate":', '"outcome":')
    .replaceAll('"line_number":', '"lineage_number":');

async function readRows(sql: Sql, tables: string[]): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown> = {};
  for (const table of tables) {
    const [row] = await sql.unsafe(
      `select json_agg(to_json(t) order by to_json(t)::text)::text as rows from keywarden.${table} t`,
    );
    rows[table] = JSON.parse(withNewNames(String(row?.rows)));
  }
  return rows;
}

test('a store that the early migrations created keeps every row, and has the schema of a new one', async () => {
  const fresh = await createTestStore(inject('postgresUrl'));
  await fresh.sql.unsafe('create database early_store');
  const databaseUrl = Object.assign(new URL(fresh.url), { pathname: '/early_store' }).href;
  const old = await openStore({ databaseUrl, dataFolder: '.', applicationName: 'test', migrations: 'none' });
  await old.sql.unsafe(readFileSync(early, 'utf8')).simple();
  const tables = await fillEveryTable(old.sql);
  expect(tables.length).toBeGreaterThan(50);
  const before = await readRows(old.sql, tables);
  expect(Object.values(before)).not.toContain(null);
  await old.sql`update keywarden.credential set creator_id = ''`;

  // A migration that fails has changed nothing but the record of what had been applied.
  await old.sql.unsafe('create view public.theirs as select number from keywarden.key');
  await expect(migrateStore(old.sql)).rejects.toThrow(/Other views or functions depend on Keywarden's views/);
  expect(await old.sql`select count(*)::int as migrations from keywarden.migration`).toEqual([{ migrations: 1 }]);
  await old.sql.unsafe('drop view public.theirs');

  // All after the baseline.
  const migrations = readdirSync(new URL('../migrations', import.meta.url)).filter((name) =>
    /^(?!0000)\d+_.*\.sql$/.test(name),
  ).length;
  expect(await migrateStore(old.sql)).toEqual({ migrations, functions: expect.any(Number), sequences: 0 });
  expect(await listChangedMachinery(old.sql)).toEqual([]);
  // Later migrations add columns.
  const after = await readRows(old.sql, tables);
  const credential = (before.credential as object[]).map((row) => ({
    ...row,
    creator_id: 'unknown',
    creator_name: null,
  }));
  expect(after).toMatchObject({ ...before, policy_version: [expect.any(Object)], credential });
  // The JSON of a policy is a text since.
  const documentOf = (rows: unknown) => (rows as { document: unknown }[])[0]?.document;
  expect(JSON.parse(String(documentOf(after.policy_version)))).toEqual(documentOf(before.policy_version));
  expect(await describeSchema(old.sql)).toEqual(await describeSchema(fresh.sql));
  expect(await migrateStore(old.sql)).toEqual({ migrations: 0, functions: 0, sequences: 0 });
  await old.close();
  await fresh.sql.unsafe('drop database early_store');
  await fresh.close();
});

test('a store with only some of the early migrations is refused with the steps to fix it, and stays unchanged', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  store.isTampered();
  const [first] = JSON.parse(
    readFileSync(new URL('../upgrade/early-migrations.json', import.meta.url), 'utf8'),
  ) as string[];
  await store.sql`delete from keywarden.migration`;
  await store.sql`insert into keywarden.migration (hash, created_at) values (${first ?? ''}, 1)`;
  await expect(migrateStore(store.sql)).rejects.toThrow(
    /has 1 of the sixteen migrations .* run keywarden migrate with the version that has them all/,
  );
  expect(await store.sql`select hash from keywarden.migration`).toEqual([{ hash: first }]);
  await store.close();
});
