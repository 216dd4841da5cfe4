import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { distributedTables, distributeOperations, referenceTables } from './citus.ts';
import { makeOperationPartitions } from './daemon.ts';
import { setOperationRetention } from './store.ts';

// Citus is not available to this test. Functions of the same names record the calls instead, and the test checks the calls.

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('without Citus, distribution is refused in one sentence', async () => {
  await expect(distributeOperations(store.sql)).rejects.toThrow(/^This database has no Citus extension; /);
});

test('operations are distributed by project, projects are copied to every node, and a second run does nothing', async () => {
  // The schema in which Citus has its own objects.
  await store.sql
    .unsafe(`
    set allow_system_table_mods = on;
    create table keywarden.told (number int generated always as identity, what text);
    create table pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
    create table pg_catalog.pg_dist_node (groupid int);
    insert into pg_dist_node values (1);
    create function pg_catalog.create_reference_table(name regclass) returns void language sql as $$
      insert into keywarden.told (what) values (format('reference %s, %s', name, current_setting('citus.multi_shard_modify_mode'))); insert into pg_dist_partition values (name, 'n', 't') $$;
    create function pg_catalog.create_distributed_table(name regclass, key text, colocate_with text) returns void language sql as $$
      insert into keywarden.told (what) values (format('%s by %s beside %s', name, key, colocate_with));
      insert into pg_dist_partition values (name, 'h', 's') $$;
    create function pg_catalog.truncate_local_data_after_distributing_table(name regclass) returns void language sql as $$
      insert into keywarden.told (what) values (format('truncate %s', name)) $$;
    create function pg_catalog.citus_total_relation_size(regclass) returns bigint language sql as 'select 123456789';
    reset allow_system_table_mods`)
    .simple();
  await expect(distributeOperations(store.sql)).rejects.toThrow(/^The coordinator is not a node of its own cluster, /);
  await store.sql`insert into pg_dist_node values (0)`;
  expect(await distributeOperations(store.sql)).toEqual([
    'project',
    'completed_walk',
    'operation',
    'operation_version',
    'operation_pruned',
  ]);
  const told = (await store.sql`select what from keywarden.told order by number`).map(({ what }) =>
    String(what).replaceAll('keywarden.', ''),
  );
  expect(told).toEqual([
    'reference project, sequential',
    'reference completed_walk, sequential',
    'operation by project_number beside none',
    'operation_version by project_number beside operation',
    'operation_pruned by project_number beside operation',
    'truncate operation',
    'truncate operation_version',
    'truncate operation_pruned',
    'truncate project',
  ]);
  expect(await distributeOperations(store.sql)).toEqual([]);
  // A later version adds a table. Objects that are already distributed are not prepared again, because a cluster would refuse that.
  await store.sql`delete from pg_dist_partition where logicalrelid = 'keywarden.operation_pruned'::regclass`;
  await store.sql`alter table keywarden.project alter column number set generated always`;
  expect(await distributeOperations(store.sql)).toEqual(['operation_pruned']);
  const [column] = await store.sql`
    select attidentity as identity from pg_attribute where attrelid = 'keywarden.project'::regclass and attname = 'number'`;
  expect(column?.identity).toBe('a');
});

test('the roles of the apps print times in UTC on every node', async () => {
  const rows = await store.sql`
    select setrole::regrole::text as role, setconfig as settings from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
    where d.datname = current_database() order by 1`;
  expect(rows.map(({ role, settings }) => [role, ...settings])).toEqual([
    ['keywarden_daemon', 'TimeZone=UTC', 'DateStyle=ISO, MDY'],
    ['keywarden_report', 'TimeZone=UTC', 'DateStyle=ISO, MDY'],
  ]);
});

test('a retention announces the total size over all nodes', async () => {
  const [row] = await store.sql`
    select keywarden.table_bytes('keywarden.key') as local, keywarden.table_bytes('keywarden.operation_pruned') as distributed`;
  expect(Number(row?.local)).toBeLessThan(1_000_000);
  expect(Number(row?.distributed)).toBe(123_456_789);
});

test('a table that is distributed in another way is refused with its fix, and nothing is changed', async () => {
  await store.sql`update pg_dist_partition set partmethod = 'h' where logicalrelid = 'keywarden.completed_walk'::regclass`;
  await expect(distributeOperations(store.sql)).rejects.toThrow(
    /undistribute_table\('keywarden.completed_walk', cascade_via_foreign_keys => true\) first/,
  );
});

test('every unique index of a distributed table includes the project, and no foreign key is one that a cluster refuses', async () => {
  const [distributed, reference] = [new Set<unknown>(distributedTables), new Set<unknown>(referenceTables)];
  const indexes = await store.sql`
    select c.relname as table, array_agg(a.attname::text) as columns from pg_index i join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indisunique and c.relnamespace = 'keywarden'::regnamespace group by c.relname, i.indexrelid`;
  const own = indexes.filter(({ table }) => distributed.has(table));
  expect(own.length).toBe(distributed.size);
  for (const { columns } of own) expect(columns).toContain('project_number');
  const keys = await store.sql`
    select c.relname as from, f.relname as to from pg_constraint k join pg_class c on c.oid = k.conrelid
      join pg_class f on f.oid = k.confrelid where k.connamespace = 'keywarden'::regnamespace`;
  const between = keys.filter(({ from, to }) =>
    [from, to].some((name) => distributed.has(name) || reference.has(name)),
  );
  expect(between.map(({ from, to }) => `${from} to ${to}`)).toEqual(['completed_walk to project']);
});

test('the daemon cannot make the owner read a table of the daemon’s own instead of a cluster’s', async () => {
  const plain = await createTestStore(inject('postgresUrl'));
  const { sql } = await plain.as('keywarden_daemon');
  await makeOperationPartitions(sql, ['2020-01']);
  await setOperationRetention(plain.sql, Date.now() - Date.UTC(2020, 2, 1));
  await sql.begin(async (tx) => {
    await tx`create temp table pg_dist_partition as select 'keywarden.operation_2020_01'::regclass as logicalrelid`;
    await tx`create function pg_temp.citus_total_relation_size(regclass) returns bigint language sql as 'select 1 / 0'`;
    const [month] = await tx`select bytes from keywarden.announce_operation_drops()`;
    expect(Number(month?.bytes)).toBeGreaterThan(0);
  });
  await plain.close();
});
