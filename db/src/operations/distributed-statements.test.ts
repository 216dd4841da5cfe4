import { readdirSync, readFileSync } from 'node:fs';
import { addClusterFunctions } from '@keywarden/testkit/store/cluster-functions';
import {
  findChangesElsewhere,
  findParallelChanges,
  findRefusals,
} from '@keywarden/testkit/store/distributed-statements';
import { makeControlPlane, makeProject, makeWireOperation, makeWireProject } from '@keywarden/testkit/store/rows';
import { changesNodes, isBound, refusalsOf, watchStatements } from '@keywarden/testkit/store/statement-plans';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { distributedTables, referenceTables } from '../citus.ts';
import { findShards } from '../cluster.ts';
import { listCoverage } from '../coverage/coverage.ts';
import {
  announceExpiredMonths,
  countOperationsSince,
  dropExpiredMonth,
  forgetOpenWalk,
  hasOthersBetween,
  isAllToTheEnd,
  listOpenOperations,
  listProjectsToWalk,
  makeOperationPartitions,
  markOperationPruned,
  readGauges,
  saveDeletedProjects,
  saveOperationPage,
  saveProjects,
  sealDays,
} from '../daemon.ts';
import { readOver } from '../reader.ts';
import { readRepeatable } from '../repeatables.ts';
import {
  type List,
  listArchivedOperations,
  openSnapshot,
  operationBucketList,
  operationList,
  operationVersionList,
  readPage,
  readTotals,
} from '../report.ts';
import type { Db, Sql } from '../sql.ts';
import { setOperationRetention } from '../store.ts';

// Each statement that the apps run on operations is executed, and checked by its Postgres plan. Either all of it is bound to one
// project, and a cluster gives it whole to that project's node. Or it must use only constructs that a cluster accepts.

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

const watch = async (work: (sql: Sql, db: Db) => Promise<void>) => await watchStatements(store.url, work);

async function makeProjects(count: number): Promise<string[]> {
  const controlPlane = await makeControlPlane(store.sql);
  const projects: string[] = [];
  for (let index = 0; index < count; index += 1) projects.push(await makeProject(store.sql, controlPlane));
  return projects;
}

const since = '2026-05-01T00:00:00Z';

test('every daemon statement about one project is bound to that project', async () => {
  const projects = await makeProjects(2);
  await makeOperationPartitions(store.sql, ['2026-05']);
  const seen = await watch(async (sql, db) => {
    for (const project of projects) {
      const operations = [makeWireOperation(1), makeWireOperation(2)];
      await saveOperationPage(sql, { project, operations });
      const later = { ...makeWireOperation(1), status: 'failed', updatedAt: '2026-05-20T00:00:00Z' };
      await saveOperationPage(sql, {
        project,
        operations: [later, makeWireOperation(3)],
        proof: { from: since, isFromIncluded: true, below: '2026-05-02T00:00:00Z' },
        walk: { beganAt: '2026-05-21T00:00:00Z', floor: null, next: null, reached: since, isEnd: true },
      });
      await countOperationsSince(sql, { project, since, max: 1000 });
      const asked = { project, before: '2026-06-01T00:00:00Z', stillSince: since, limit: 10, maxDepth: 100 };
      await listOpenOperations(db, asked);
      const [{ createdAt, id } = makeWireOperation(1)] = operations;
      await markOperationPruned(sql, { project, createdAt, id });
      const page = { limit: 10, after: null };
      await listArchivedOperations(db, { project, projectId: 'p', id, below: '2026-06-01T00:00:00Z', page });
      await readPage(db, operationList({}, [project]), { limit: 1, after: null });
      await isAllToTheEnd(sql, { project, since, ids: [id] });
      await hasOthersBetween(sql, { project, since, below: '2026-06-01T00:00:00Z', ids: [id] });
      await forgetOpenWalk(sql, project);
    }
  });
  // A claim of coverage must be where its operations are.
  expect(findChangesElsewhere(seen.flatMap(({ changes }) => changes))).toEqual([]);
  const tables = seen.flatMap(({ scans, changes }) => [...scans.map(({ table }) => table), ...changes]);
  expect(new Set(tables.map((table) => table.replace(/_\d{4}_\d\d$/, '')))).toEqual(
    new Set([...distributedTables, ...referenceTables]),
  );
  expect(refusalsOf(seen)).toEqual([]);
  expect(seen.filter((each) => !isBound(each)).map(({ query }) => query)).toEqual([]);
});

test('statements over several projects use only constructs that a cluster accepts', async () => {
  const projects = await makeProjects(6);
  const filter = { branchId: 'b', endpointId: 'e', action: 'a', status: 's', from: since, to: '2026-06-01T00:00:00Z' };
  const id = makeWireOperation(1).id;
  const lists: List[] = [null, projects].flatMap((some) => [
    operationList({}, some),
    operationList(filter, some),
    operationBucketList({ size: 'day', by: ['action', 'status', 'project'] }, some),
    operationBucketList({ ...filter, size: 'month', by: [] }, some),
  ]);
  lists.push(operationVersionList(projects, id));
  // Only a cluster has shards. Everything else is the same on one server.
  await addClusterFunctions(store.sql);
  await store.sql`insert into pg_dist_partition values ('keywarden.operation', 'h', 's')`;
  const shards = await findShards(readOver(store.sql), projects);
  expect(shards.map((own) => own.length)).toEqual([2, 2, 2]);
  const streamed = [operationList({}, projects, shards), operationList(filter, projects, shards)];
  const seen = await watch(async (sql, db) => {
    await makeOperationPartitions(sql, ['2020-01', '2026-05']);
    for (const project of projects) await saveOperationPage(sql, { project, operations: [makeWireOperation(1)] });
    for (const list of [...lists, ...streamed]) {
      const first = await readPage(db, list, { limit: 1, after: null });
      await readPage(db, list, { limit: 1, after: first.next });
    }
    const snapshot = await openSnapshot(sql);
    for (const list of streamed)
      for await (const items of snapshot.stream(list)) expect(items.length).toBeGreaterThan(-1);
    await snapshot.close();
    await readTotals(db, since);
    await listCoverage(db, { limit: 10 });
    await readGauges(sql);
    const asked = { controlPlane: '1', organizationIds: ['o'], servedSince: since, triedSince: since, overlapMs: 1000 };
    await listProjectsToWalk(db, asked);
    await setOperationRetention(sql, Date.now() - Date.UTC(2020, 2, 1));
    const announced = await announceExpiredMonths(sql);
    await store.sql`update keywarden.operation_drop set announced_at = announced_at - interval '1 day'`;
    for (const each of announced) await dropExpiredMonth(sql, { ...each, by: 'ada' });
  });
  const over = seen.filter((each) => !isBound(each));
  expect(over.length).toBeGreaterThan(lists.length);
  expect(refusalsOf(seen)).toEqual([]);
});

test('statements that change projects and walks, which all nodes copy, use only constructs that a cluster accepts', async () => {
  const controlPlane = await makeControlPlane(store.sql);
  const place = { controlPlane, seenAt: '2026-05-01T00:00:00Z', organizationId: 'o', unavailableIds: [] };
  const seen = await watch(async (sql) => {
    await saveProjects(sql, place, [makeWireProject('a'), makeWireProject('b')]);
    await saveProjects(sql, { ...place, seenAt: '2026-05-02T00:00:00Z' }, [makeWireProject('a')]);
    const deletedAt = '2026-05-01T12:00:00Z';
    const deleted = [makeWireProject('b'), makeWireProject('c')].map((each) => ({ ...each, deletedAt }));
    await saveDeletedProjects(sql, { ...place, seenAt: '2026-05-03T00:00:00Z' }, deleted);
    const [row] =
      await sql`select number from keywarden.project where id = 'a' and control_plane_number = ${controlPlane}`;
    const walk = { beganAt: since, floor: null, next: null, reached: since, isEnd: true };
    await saveOperationPage(sql, { project: String(row?.number), operations: [], walk });
  });
  expect(seen.filter(changesNodes).length).toBeGreaterThanOrEqual(6);
  expect(refusalsOf(seen)).toEqual([]);
});

test('statements that seal days are bound to one project, but for those that read many at once, and use only constructs that a cluster accepts', async () => {
  const [project = ''] = await makeProjects(1);
  await makeOperationPartitions(store.sql, ['2026-05']);
  await saveOperationPage(store.sql, { project, operations: [makeWireOperation(1)] });
  await store.sql`update keywarden.project set walked_at = now() where number = ${project}`;
  const signal = new AbortController().signal;
  const seen = await watch(async (sql) => {
    await sealDays(sql, { signal });
    await saveOperationPage(sql, { project, operations: [makeWireOperation(2)] });
    await sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour' where project_number = ${project}`;
    await sealDays(sql, { signal });
  });
  const tables = seen.flatMap(({ scans, changes }) => [...scans.map(({ table }) => table), ...changes]);
  expect(tables).toContain('operation_sealing');
  expect(refusalsOf(seen)).toEqual([]);
  const over = seen.filter((each) => !isBound(each)).flatMap(({ scans }) => scans.map(({ table }) => table));
  expect(new Set(over)).toEqual(new Set(['operation_coverage', 'operation_sealing']));
});

test('no other file of ours queries operations', () => {
  const asking = ['db/src', 'apps/daemon/src', 'apps/report/src'].flatMap((folder) => {
    const root = new URL(`../../../${folder}/`, import.meta.url);
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /(?<!test)\.ts$/.test(file),
    );
    const asks =
      /keywarden\.(operation(_version|_pruned|_coverage|_sealing)?(_\d{4}_\d\d)?|open_walk)\b|\boperation(Version|Pruned)?\b[^;]*from '[^']*schema\/tables/s;
    return files
      .filter((file) => asks.test(readFileSync(new URL(file, root), 'utf8')))
      .map((file) => `${folder}/${file}`);
  });
  const ours = (file: string) =>
    /^db\/src\/(operations\/|coverage\/coverage\.ts|figures\/gauges\.ts|cluster\.ts|seals\/)/.test(file);
  expect(asking.filter(ours).length).toBeGreaterThan(3);
  // The file that distributes the tables names them, and a migration locks them.
  expect(asking.filter((file) => !ours(file))).toEqual(['db/src/citus.ts', 'db/src/migration-locks.ts']);
});

test('no function of language sql names a distributed table: before Postgres 18, a cluster refuses its parameters', async () => {
  const rows = await store.sql`
    select proname from pg_proc where pronamespace = 'keywarden'::regnamespace and prolang = (select oid from pg_language where lanname = 'sql')
      and prosrc ~ ${String.raw`\m(${distributedTables.join('|')})\M`}`;
  expect(rows.map(({ proname }) => String(proname))).toEqual([]);
});

test('counter-test: a statement over all projects is recognized as bound to no project', async () => {
  const seen = await watch(async (sql) => {
    await sql`select id from keywarden.operation where created_at > '2026-05-01'`;
  });
  expect(seen.map(isBound)).toEqual([false]);
});

test('functions that change distributed tables twice do it in sequence', () => {
  const folder = new URL('../../functions/', import.meta.url);
  const bodies = readdirSync(folder).map((file) => readRepeatable(file));
  const changing = bodies.filter((body) => findParallelChanges(body.replaceAll('set_config', '')).length > 0);
  expect(changing).toHaveLength(1);
  expect(bodies.flatMap(findParallelChanges)).toEqual([]);
});

// What a real cluster refused, or got wrong, and how the checks of this file find it.
test.each([
  [
    'an export of several projects in one result',
    'declare x cursor for select id from keywarden.operation order by created_at',
    'rows of several projects are gathered without a limit',
  ],
  [
    'an export whose rows are cut by nothing',
    'select o.id from (select * from keywarden.operation order by created_at) o join keywarden.project p on true',
    'rows of several projects are gathered without a limit',
  ],
  [
    'coverage that is joined before it is cut',
    'select p.id from keywarden.project p left join keywarden.operation_coverage c on c.project_number = p.number',
    'distributed rows are optional in an outer join',
  ],
])('counter-test: %s is refused', (_what, statement, why) => {
  expect(findRefusals(statement).join()).toContain(why);
});

test('counter-test: a claim of coverage on another node than its operations is found', () => {
  expect(findChangesElsewhere(['operation_2026_05', 'completed_walk', 'run_state'])).toEqual(['run_state']);
});

test('counter-test: a second change in parallel mode is found', () => {
  const body = readRepeatable('32-drop_operation_month.sql').replace(/^.*set_config.*$/m, '');
  expect(findParallelChanges(body)).toHaveLength(4);
});
