import { until } from '@keywarden/testkit';
import { addClusterFunctions } from '@keywarden/testkit/store/cluster-functions';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import {
  createTestStore,
  startTestPostgres,
  type TestPostgres,
  type TestStore,
} from '@keywarden/testkit/store/test-store';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { distributeOperations } from './citus.ts';
import { findShards, whyNodesMissing } from './cluster.ts';
import { listCoverage } from './coverage/coverage.ts';
import { makeOperationPartitions, readGauges, saveOperationPage } from './daemon.ts';
import type { Position, Query } from './list.ts';
import { openSnapshot, operationList, readOver, readPage } from './report.ts';
import type { Sql } from './sql.ts';

// A cluster as far as one server can show it: the functions of a cluster are stand-ins, and a prepared transaction is the part of a commit that has not
// reached its node yet.

let server: TestPostgres;
let store: TestStore;
beforeAll(async () => {
  server = await startTestPostgres();
  const owner = postgres(server.url, { max: 1 });
  await owner`alter system set max_prepared_transactions = 5`;
  await owner.end();
  await server.interrupt();
  store = await until(async () => await createTestStore(server.url).catch(() => undefined));
  await addClusterFunctions(store.sql);
  await store.sql`
    insert into pg_dist_node (groupid, nodename, shouldhaveshards) values (0, 'coordinator', false), (1, 'worker-1', true), (2, 'worker-2', true)`;
  await distributeOperations(store.sql);
  await makeOperationPartitions(store.sql, ['2026-05']);
});
afterAll(async () => {
  await store.close();
  await server.close();
});

const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-02T00:00:00Z' };

/** Returns the covered intervals of a project and its stored operations, as the report reads them: coverage first. */
async function read(project: string) {
  const reader = readOver(store.sql);
  const coverage = await listCoverage(reader, { after: String(Number(project) - 1), limit: 1 });
  const { items } = await readPage(reader, operationList({}, [project]), { limit: 10, after: null });
  return { known: coverage[0]?.coverage.known.length, operations: items.length };
}

/** Does work in a transaction whose commit has not arrived, and returns a function that lets it arrive. */
async function prepare(name: string, work: (node: Sql) => Promise<unknown>): Promise<() => Promise<void>> {
  const node = store.connect({ max: 1 });
  await node.unsafe('begin');
  await work(node);
  await node.unsafe(`prepare transaction '${name}'`);
  return async () => void (await store.sql.unsafe(`commit prepared '${name}'`));
}

const operations = [makeWireOperation(1), makeWireOperation(2), makeWireOperation(3)];

test('A3: while the commit of a node has not arrived, its page is neither stored nor claimed', async () => {
  const project = await makeProject(store.sql, await makeControlPlane(store.sql));
  const arrive = await prepare('page', async (node) => await saveOperationPage(node, { project, operations, proof }));
  expect(await read(project)).toEqual({ known: 0, operations: 0 });
  await arrive();
  expect(await read(project)).toEqual({ known: 1, operations: 3 });
});

test('counter-test: a claim on another node than its operations is false for that time', async () => {
  const project = await makeProject(store.sql, await makeControlPlane(store.sql));
  const arrive = await prepare('rows', async (node) => await saveOperationPage(node, { project, operations }));
  await store.sql`
    insert into keywarden.operation_coverage values (${project}, ${`{[${proof.from},${proof.below})}`}::tstzmultirange)`;
  expect(await read(project)).toEqual({ known: 1, operations: 0 });
  await arrive();
});

test('a page that meets the rows of a late commit is written again', async () => {
  const project = await makeProject(store.sql, await makeControlPlane(store.sql));
  // Only the rows: the lock of a cluster's coordinator ends with its own commit.
  const arrive = await prepare('late', async (node) => {
    for (const { id, createdAt } of operations)
      await node`
        insert into keywarden.operation (project_number, created_at, id, branch_id, action, status, failures_count, updated_at)
        values (${project}, ${createdAt}, ${id}, 'br-1', 'start_compute', 'running', 0, ${createdAt})`;
  });
  const saved = saveOperationPage(store.sql, { project, operations, proof });
  await store.untilBlocked(saved);
  await arrive();
  expect(await saved).toEqual({ inserted: 0, changed: 3 });
  expect(await read(project)).toEqual({ known: 1, operations: 3 });
});

test('a page that meets the late change of a row is compared with it, and no version is lost or repeated', async () => {
  const project = await makeProject(store.sql, await makeControlPlane(store.sql));
  const versionOf = (status: string, at: string) =>
    makeWireOperation(1, { status, updatedAt: `2026-05-01T0${at}:00:00Z` });
  await saveOperationPage(store.sql, { project, operations: [versionOf('scheduling', '1')] });
  // Only the rows: the lock of a cluster's coordinator ends with its own commit.
  const arrive = await prepare('changed', async (node) => {
    await node`
      insert into keywarden.operation_version (project_number, created_at, id, branch_id, action, status, failures_count, updated_at, seen_at)
      select project_number, created_at, id, branch_id, action, status, failures_count, updated_at, seen_at from keywarden.operation
      where project_number = ${project}`;
    await node`
      update keywarden.operation set status = 'finished', updated_at = '2026-05-01T03:00:00Z', seen_at = now() where project_number = ${project}`;
  });
  // Another connection shows an older state.
  const saved = saveOperationPage(store.sql, { project, operations: [versionOf('running', '2')] });
  await store.untilBlocked(saved);
  await arrive();
  expect(await saved).toEqual({ inserted: 0, changed: 0 });
  expect(await store.sql`select status from keywarden.operation where project_number = ${project}`).toEqual([
    { status: 'finished' },
  ]);
  expect(await store.sql`select status from keywarden.operation_version where project_number = ${project}`).toEqual([
    { status: 'scheduling' },
  ]);
});

test('a node with another datestyle and time zone prints times as the apps do', async () => {
  const [{ name } = { name: '' }] = await store.sql`select current_database() as name`;
  await store.sql.unsafe(`alter database ${String(name)} set datestyle to 'SQL, DMY'`);
  await store.sql.unsafe(`alter database ${String(name)} set timezone to 'Asia/Tokyo'`);
  await store.sql.unsafe(`alter role keywarden_report password 'only-here'`);
  const print = async (user: { username?: string; password?: string }) => {
    // As the coordinator connects to a node: with no setting of its own.
    const node = postgres(Object.assign(new URL(store.url), user).href, { max: 1 });
    const [row] = await node`select '2026-11-22 11:56:47.587016Z'::timestamptz::text as at`;
    await node.end();
    return row?.at;
  };
  expect(await print({ username: 'keywarden_report', password: 'only-here' })).toBe('2026-11-22 11:56:47.587016+00');
  // Counter-test: what a role without the settings prints.
  expect(await print({})).toBe('22/11/2026 20:56:47.587016 JST');
});

test('pages and exports of shards have the order of one statement', async () => {
  const controlPlane = await makeControlPlane(store.sql);
  const projects: string[] = [];
  for (let index = 0; index < 7; index += 1) projects.push(await makeProject(store.sql, controlPlane));
  // Many operations of different projects share a time, and some have fractions of a second.
  await store.sql`
    insert into keywarden.operation (project_number, created_at, id, action, status, failures_count, updated_at)
    select (${projects}::text[])[1 + (n * 7919) % 7]::bigint, '2026-05-03'::timestamptz + (n / 5) * interval '0.05 seconds', gen_random_uuid(), 'a', 'finished', 0,
      '2026-05-03' from generate_series(1, 6000) n`;
  const reader = readOver(store.sql);
  expect(operationList({}, null, [projects]).parts).toHaveLength(1);
  const [whole, merged] = [
    operationList({}, projects),
    operationList({}, projects, await findShards(reader, projects)),
  ];
  expect(merged.parts).toHaveLength(3);
  const snapshot = await openSnapshot(store.sql);
  const [all, streamed] = [await toArray(snapshot.stream(whole)), await toArray(snapshot.stream(merged))];
  await snapshot.close();
  expect(all).toHaveLength(6000);
  expect(streamed).toEqual(all);
  expect(await walk(merged, 701)).toEqual(all);
  expect(
    await walk(
      { ...merged, direction: 'asc', parts: merged.parts?.map((part) => ({ ...part, direction: 'asc' })) ?? [] },
      2000,
    ),
  ).toEqual(all.toReversed());

  async function walk(list: Query, limit: number) {
    const items: string[] = [];
    let after: Position | null = null;
    do {
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(reader, list, { limit, after });
      items.push(...page.items);
      after = page.next;
    } while (after !== null);
    return items;
  }
});

async function toArray(batches: AsyncIterable<string[]>): Promise<string[]> {
  const items: string[] = [];
  for await (const batch of batches) items.push(...batch);
  return items;
}

test('a node that does not answer is named by the check, the readiness probe and the metrics', async () => {
  expect(await whyNodesMissing(store.sql)).toBeNull();
  expect((await readGauges(store.sql)).filter(({ name }) => name === 'keywarden_store_node_up')).toEqual([
    { name: 'keywarden_store_node_up', labels: { node: 'worker-1:5432' }, value: 1 },
    { name: 'keywarden_store_node_up', labels: { node: 'worker-2:5432' }, value: 1 },
  ]);
  await store.sql`update pg_dist_node set answers = false where nodename = 'worker-2'`;
  expect(await whyNodesMissing(store.sql)).toMatch(
    /^the coordinator of the store's cluster gets no answer from worker-2:5432; /,
  );
  const gauges = await readGauges(store.sql);
  expect(
    gauges.filter(({ labels }) => labels.node !== undefined).map(({ labels, value }) => [labels.node, value]),
  ).toEqual([
    ['worker-1:5432', 1],
    ['worker-2:5432', 0],
  ]);
  // Only coverage needs the node.
  const names = new Set<string>(gauges.map(({ name }) => name));
  expect(names).toContain('keywarden_paused');
  expect(names).not.toContain('keywarden_operations_known_ratio');
  await store.sql`update pg_dist_node set answers = true`;
  expect((await readGauges(store.sql)).map(({ name }) => name)).toContain('keywarden_operations_known_ratio');
});
