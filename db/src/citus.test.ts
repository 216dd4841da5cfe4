import { addClusterFunctions } from '@keywarden/testkit/store/cluster-functions';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { distributedTables, distributeOperations, listMisplacedTables, referenceTables } from './citus.ts';
import { makeOperationPartitions } from './daemon.ts';
import { setOperationRetention } from './store.ts';

// Citus is not available to this test. Functions of the same names record the calls, and refuse what a real cluster was seen to refuse.

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('without Citus, distribution is refused in one sentence', async () => {
  await expect(distributeOperations(store.sql)).rejects.toThrow(/^This database has no Citus extension; /);
});

test('operations are distributed by project, projects are copied to every node, and a second run does nothing', async () => {
  await addClusterFunctions(store.sql);
  await store.sql`insert into pg_dist_node values (1, 'worker-1'), (2, 'worker-2'), (3, 'worker-3')`;
  await expect(distributeOperations(store.sql)).rejects.toThrow(/^The coordinator is not a node of its own cluster, /);
  await store.sql`insert into pg_dist_node (groupid, nodename, shouldhaveshards) values (0, 'coordinator', false)`;
  expect(await distributeOperations(store.sql)).toEqual([
    'project',
    'completed_walk',
    'operation',
    'operation_version',
    'operation_pruned',
    'operation_coverage',
    'open_walk',
    'operation_sealing',
  ]);
  const called = (await store.sql`select what from keywarden.called order by number`).map(({ what }) =>
    String(what).replaceAll('keywarden.', ''),
  );
  expect(called).toEqual([
    'reference project',
    'reference completed_walk',
    'operation by project_number beside none in 12 shards',
    'operation_version by project_number beside operation',
    'operation_pruned by project_number beside operation',
    'operation_coverage by project_number beside operation',
    'open_walk by project_number beside operation',
    'operation_sealing by project_number beside operation',
    'truncate operation',
    'truncate operation_version',
    'truncate operation_pruned',
    'truncate operation_coverage',
    'truncate open_walk',
    'truncate operation_sealing',
    'truncate project',
  ]);
  expect(await distributeOperations(store.sql)).toEqual([]);
  // A later version adds a table. Objects that are already distributed are not prepared again, because a cluster would refuse that.
  expect(await listMisplacedTables(store.sql)).toEqual([]);
  await store.sql`delete from pg_dist_partition where logicalrelid = 'keywarden.operation_pruned'::regclass`;
  expect(await listMisplacedTables(store.sql)).toEqual([
    expect.stringMatching(/^the cluster has operation_pruned on its coordinator only, /),
  ]);
  await store.sql`alter table keywarden.project alter column number set generated always`;
  expect(await distributeOperations(store.sql)).toEqual(['operation_pruned']);
  const [column] = await store.sql`
    select attidentity as identity from pg_attribute where attrelid = 'keywarden.project'::regclass and attname = 'number'`;
  expect(column?.identity).toBe('a');
});

test('a session that does not change tables in sequence is refused, and nothing is distributed', async () => {
  const plain = await createTestStore(inject('postgresUrl'));
  await addClusterFunctions(plain.sql);
  const sql = postgres(plain.url, { max: 1, onnotice: () => undefined });
  await expect(distributeOperations(sql)).rejects.toMatchObject({ code: 'XX000' });
  expect(await sql`select 1 from pg_dist_partition`).toEqual([]);
  await sql.end();
  expect(await distributeOperations(plain.sql)).toHaveLength(8);
  await plain.close();
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
