import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { distributeOperations } from './citus.ts';
import {
  countOperationsSince,
  listOpenOperations,
  makeOperationPartitions,
  markOperationPruned,
  saveOperationPage,
} from './daemon/index.ts';
import { makeControlPlane, makeProject, makeWireOperation } from './daemon/testing.ts';
import { operationList, readPage } from './read/index.ts';
import { createTestStore, type TestStore } from './testing.ts';

// No Citus is at hand where this was written. What it is told is checked on functions of the same names that only remember it, and what the apps ask
// is checked by the plans of Postgres: a statement goes to one node if each of its scans is bound to one project.

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('without Citus it is refused in one sentence', async () => {
  await expect(distributeOperations(store.sql)).rejects.toThrow(/^This database has no Citus; /);
});

test('operations are distributed by project, the projects stand on every node, and again nothing is done', async () => {
  await store.sql.unsafe(`
    create table told (number int generated always as identity, what text);
    create table citus_tables (table_name regclass);
    create function create_reference_table(name regclass) returns void language sql as $$
      insert into told (what) values (format('reference %s', name)); insert into citus_tables values (name) $$;
    create function create_distributed_table(name regclass, key text, colocate_with text) returns void language sql as $$
      insert into told (what) values (format('%s by %s beside %s', name, key, colocate_with)); insert into citus_tables values (name) $$`);
  expect(await distributeOperations(store.sql)).toEqual([
    'project',
    'operation',
    'operation_version',
    'operation_pruned',
    'completed_walk',
  ]);
  const told = (await store.sql`select what from told order by number`).map(({ what }) =>
    String(what).replaceAll('keywarden.', ''),
  );
  expect(told).toEqual([
    'reference project',
    'operation by project_number beside none',
    'operation_version by project_number beside operation',
    'operation_pruned by project_number beside operation',
    'completed_walk by project_number beside operation',
  ]);
  expect(await distributeOperations(store.sql)).toEqual([]);
});

const distributed = ['operation', 'operation_version', 'operation_pruned', 'completed_walk'];

test('every unique index of what is distributed has the project, and no foreign key leads between nodes and the rest', async () => {
  const indexes = await store.sql`
    select c.relname, array_agg(a.attname::text) as columns from pg_index i join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
    where i.indisunique and c.relname = any(${distributed}) and c.relnamespace = 'keywarden'::regnamespace group by c.relname, i.indexrelid`;
  expect(indexes.length).toBeGreaterThanOrEqual(4);
  for (const { columns } of indexes) expect(columns).toContain('project_number');
  const keys = await store.sql`
    select conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
    where contype = 'f' and (confrelid = 'keywarden.project'::regclass or conrelid = 'keywarden.project'::regclass
      or confrelid::regclass::text = any(${distributed.map((name) => `keywarden.${name}`)}))
      and conrelid::regclass::text <> all(${distributed.map((name) => `keywarden.${name}`)})`;
  expect(keys).toEqual([]);
});

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  'Recheck Cond'?: string;
  Filter?: string;
  Plans?: Plan[];
}

/** Each scan of what is distributed, with the conditions that bind it. */
function scansOf(plan: Plan): { table: string; bounds: string }[] {
  const table = plan['Relation Name']?.replace(/_\d{4}_\d\d$/, '');
  const conditions = [plan['Index Cond'], plan.Filter, plan['Recheck Cond']].join(' ');
  const own =
    table !== undefined && distributed.includes(table) && plan['Node Type'].endsWith(' Scan')
      ? [{ table, bounds: conditions }]
      : [];
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)];
}

test('what is asked and written of a project is bound to that project in every scan', async () => {
  const controlPlane = await makeControlPlane(store.sql);
  const numbers: string[] = [];
  for (let index = 0; index < 3; index += 1) numbers.push(await makeProject(store.sql, controlPlane));
  await makeOperationPartitions(store.sql, ['2026-05']);
  const plans: { query: string; plan: Plan }[] = [];
  const sql = postgres(store.url, {
    max: 1,
    onnotice({ message = '' }) {
      const json = /plan:\s*(\{[\s\S]*\})/.exec(message)?.[1];
      if (json === undefined) return;
      const { 'Query Text': query, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: Plan };
      plans.push({ query, plan });
    },
  });
  const db = drizzle(sql);
  await sql
    .unsafe(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set auto_explain.log_format = json; set auto_explain.log_verbose = on; set client_min_messages = log; set plan_cache_mode = force_custom_plan;
    set enable_partition_pruning = off`)
    .simple();
  for (const project of numbers) {
    const operations = [makeWireOperation(1), makeWireOperation(2)];
    await saveOperationPage(sql, { project, operations });
    const later = { ...makeWireOperation(1), status: 'failed', updatedAt: '2026-05-20T00:00:00Z' };
    await saveOperationPage(sql, {
      project,
      operations: [later, makeWireOperation(3)],
      proof: { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-02T00:00:00Z' },
      walk: { beganAt: '2026-05-21T00:00:00Z', floor: null, next: null, reached: '2026-05-01T00:00:00Z', isEnd: true },
    });
    await countOperationsSince(sql, { project, since: '2026-05-01T00:00:00Z', max: 1000 });
    const asked = {
      project,
      before: '2026-06-01T00:00:00Z',
      stillSince: '2026-05-01T00:00:00Z',
      limit: 10,
      maxDepth: 100,
    };
    await listOpenOperations(db, asked);
    await markOperationPruned(sql, { project, createdAt: operations[0]?.createdAt ?? '', id: operations[0]?.id ?? '' });
    await readPage(db, operationList({}, [project]), { limit: 1, after: null });
  }
  await sql.end();
  const scans = plans.flatMap(({ query, plan }) => scansOf(plan).map((scan) => ({ ...scan, query })));
  // Versions are only added to, by rows that name the project.
  const scanned = distributed.filter((table) => table !== 'operation_version');
  expect([...new Set(scans.map(({ table }) => table))].toSorted()).toEqual(scanned.toSorted());
  const unbound = scans.filter(({ bounds }) => !/project_number = '?\d+/.test(bounds));
  expect(unbound.map(({ table, query }) => `${table}: ${query.slice(0, 200)}`)).toEqual([]);
});

test('the twin: what is asked over all projects is seen to be bound to none', async () => {
  const [row] =
    await store.sql`explain (format json) select id from keywarden.operation where created_at > '2026-05-01'`;
  const [{ Plan: plan }] = (row?.['QUERY PLAN'] ?? []) as [{ Plan: Plan }];
  const scans = scansOf(plan);
  expect(scans.length).toBeGreaterThan(0);
  for (const { bounds } of scans) expect(bounds).not.toMatch(/project_number = /);
});
