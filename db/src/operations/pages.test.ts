import type { WireOperation } from '@keywarden/core/wire';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listArchivedOperations } from '../report.ts';
import type { Store } from '../store.ts';
import { type OperationPage, saveOperationPage } from './pages.ts';
import { makeOperationPartitions } from './partitions.ts';

let store: TestStore;
let daemon: Store;
let report: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  report = await store.as('keywarden_report');
  controlPlane = await makeControlPlane(daemon.sql);
  await makeOperationPartitions(daemon.sql, ['2026-04', '2026-05', '2026-06']);
});
afterAll(async () => await store.close());

const newProject = () => makeProject(daemon.sql, controlPlane);
const page = async (project: string) => {
  const asked = { project, projectId: 'p', page: { limit: 100, after: null } };
  const { records } = await listArchivedOperations(report.db, asked);
  return JSON.parse(`[${records}]`) as Record<string, never>[];
};

test('A5: writing a page twice changes nothing, not even a row version of Postgres', async () => {
  const project = await newProject();
  const operations = [makeWireOperation(1), makeWireOperation(2)];
  const versions = () =>
    store.sql`select xmin::text, ctid::text from keywarden.operation where project_number = ${project} order by id`;
  expect(await saveOperationPage(daemon.sql, { project, operations })).toEqual({ inserted: 2, changed: 0 });
  const before = [...(await versions())];
  expect(await saveOperationPage(daemon.sql, { project, operations })).toEqual({ inserted: 0, changed: 0 });
  expect([...(await versions())]).toEqual(before);
});

test('A4: every version that was seen is kept', async () => {
  const project = await newProject();
  for (const status of ['scheduling', 'running', 'finished']) {
    await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(1, { status })] });
  }
  expect((await page(project)).map((row) => row.status)).toEqual(['finished']);
  const versions =
    await store.sql`select status from keywarden.operation_version where project_number = ${project} order by replaced_at`;
  expect(versions.map((row) => row.status)).toEqual(['scheduling', 'running']);
});

test('A4: a change of any field makes a version, and the version that it replaces keeps each field and the time at which it was seen', async () => {
  const first = makeWireOperation(1, {
    status: 'failed',
    endpointId: 'ep-1',
    failuresCount: 1,
    error: 'one',
    retryAt: '2026-05-06T00:00:00Z',
    extra: { note: 'one' },
  });
  const rowsOf = async (table: string, project: string) => [
    ...(await store.sql`
      select seen_at::text, to_jsonb(o) - '{project_number,place,seen_at,replaced_at}'::text[] as fields
      from ${store.sql(`keywarden.${table}`)} o where project_number = ${project}`),
  ];
  const changes: Required<Omit<WireOperation, 'id' | 'projectId' | 'createdAt'>> = {
    branchId: 'br-2',
    endpointId: undefined,
    action: 'suspend_compute',
    status: 'running',
    failuresCount: 2,
    error: 'two',
    retryAt: '2026-05-07T00:00:00Z',
    updatedAt: '2026-05-02T00:00:00Z',
    totalDurationMs: 13,
    extra: { note: 'two' },
  };
  for (const [field, value] of Object.entries(changes)) {
    const second = { ...first, [field]: value };
    const [project, alone] = [await newProject(), await newProject()];
    await saveOperationPage(daemon.sql, { project, operations: [first] });
    const before = await rowsOf('operation', project);
    const saved = await saveOperationPage(daemon.sql, { project, operations: [second] });
    expect(saved, `the change of ${field}`).toEqual({ inserted: 0, changed: 1 });
    expect(await rowsOf('operation_version', project), `the change of ${field}`).toEqual(before);
    await saveOperationPage(daemon.sql, { project: alone, operations: [second] });
    const [now, asIfFirst] = [await rowsOf('operation', project), await rowsOf('operation', alone)];
    expect(now[0]?.fields, `the change of ${field}`).toEqual(asIfFirst[0]?.fields);
    expect(now[0]?.seen_at, `the change of ${field}`).not.toBe(before[0]?.seen_at);
  }
});

test('A5: unknown fields, actions and statuses, and times with all digits, are read back as received', async () => {
  const project = await newProject();
  const odd = makeWireOperation(1, {
    action: 'paint_it_blue',
    status: 'pondering',
    createdAt: '2026-05-02T03:04:05.123456Z',
    updatedAt: '2026-05-02T05:04:05.100+02:00',
    extra: { colour: { name: 'blue' }, weight: null },
  });
  await saveOperationPage(daemon.sql, { project, operations: [odd] });
  const [row] = await page(project);
  expect(row).toMatchObject({
    action: 'paint_it_blue',
    status: 'pondering',
    created_at: '2026-05-02T03:04:05.123456Z',
    updated_at: '2026-05-02T05:04:05.100+02:00',
    colour: { name: 'blue' },
    weight: null,
  });
});

test('rows of one instant are all kept in their order, in any number', async () => {
  const project = await newProject();
  // Their ids are in another order than the list.
  const operations = Array.from({ length: 50 }, (_, index) =>
    makeWireOperation((index * 7) % 50, { createdAt: '2026-05-03T00:00:00.5Z' }),
  );
  const ids = operations.map(({ id }) => id);
  expect((await saveOperationPage(daemon.sql, { project, operations })).inserted).toBe(50);
  expect((await page(project)).map((row) => row.id)).toEqual(ids);
  // A page with a part of them does not know what is below.
  await saveOperationPage(daemon.sql, { project, operations: operations.slice(10, 20) });
  expect((await page(project)).map((row) => row.id)).toEqual(ids);
});

test('A5: pages that overlap in any way store what one page stores, and count each row once', async () => {
  // Newest first, as lists are; several rows share a second, some an instant.
  const rows = Array.from({ length: 60 }, (_, index) => {
    const at = Date.UTC(2026, 4, 20) - Math.floor(index / 3) * 700;
    return makeWireOperation(1000 + index, { createdAt: new Date(at).toISOString(), status: 'running' });
  });
  const ended = (from: number, to: number) => rows.slice(from, to).map((row) => ({ ...row, status: 'finished' }));
  const stored = async (project: string) => (await page(project)).map(({ id, status }) => ({ id, status }));
  const whole = await newProject();
  await saveOperationPage(daemon.sql, { project: whole, operations: rows });
  await saveOperationPage(daemon.sql, { project: whole, operations: ended(10, 50) });
  const slices = [
    [30, 40], // alone
    [35, 50], // partly below what is stored
    [10, 33], // partly above
    [0, 12],
    [20, 60], // above, within and below
  ] as const;
  const project = await newProject();
  const counts = [];
  for (const [from, to] of slices)
    counts.push(await saveOperationPage(daemon.sql, { project, operations: rows.slice(from, to) }));
  expect(counts.map(({ inserted }) => inserted)).toEqual([10, 10, 20, 10, 10]);
  // A page of changed rows with new ones on both sides of them.
  expect(await saveOperationPage(daemon.sql, { project, operations: ended(10, 50) })).toEqual({
    inserted: 0,
    changed: 40,
  });
  expect(await stored(project)).toEqual(await stored(whole));
  const places = async (of: string) =>
    await store.sql`select id, place from keywarden.operation where project_number = ${of} order by created_at, id`;
  expect([...(await places(project))]).toEqual([...(await places(whole))]);
});

test('A5: an id that a page shows at two times is two operations, and with one time the last row counts', async () => {
  const project = await newProject();
  const at = (createdAt: string, status: string) => makeWireOperation(1, { createdAt, status });
  const operations = [
    at('2026-05-03T00:00:07Z', 'running'),
    at('2026-05-03T00:00:07.5Z', 'finished'),
    at('2026-05-02T00:00:00Z', 'failed'),
  ];
  expect((await saveOperationPage(daemon.sql, { project, operations })).inserted).toBe(2);
  expect((await page(project)).map((row) => row.status)).toEqual(['finished', 'failed']);
});

const walk = { beganAt: '2026-05-04T00:00:00Z', floor: null, next: null, reached: '2026-05-01T00:00:00Z', isEnd: true };
const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-03T00:00:00Z' };

async function stateOf(project: string) {
  const [row] = await store.sql`
    select p.walked_at, c.known::text, w.cursor from keywarden.project p
      left join keywarden.operation_coverage c on c.project_number = p.number
      left join keywarden.open_walk w on w.project_number = p.number
    where p.number = ${project}`;
  return { walkedAt: row?.walked_at, known: row?.known, cursor: row?.cursor };
}

test('A3: a page that cannot be written whole leaves no row, coverage or mark, and a valid page leaves all of them', async () => {
  const project = await newProject();
  const operations = [makeWireOperation(1), makeWireOperation(2, { action: null as never })]; // a value that the wire schema refuses
  await expect(saveOperationPage(daemon.sql, { project, operations, proof, walk })).rejects.toThrow(
    /null value in column "action"/,
  );
  expect(await page(project)).toEqual([]);
  expect(await stateOf(project)).toEqual({ walkedAt: null, known: null, cursor: null });
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(1)], proof, walk });
  expect(await stateOf(project)).toEqual({
    walkedAt: '2026-05-04 00:00:00+00',
    known: '{["2026-05-01 00:00:00+00","2026-05-03 00:00:00+00")}',
    cursor: null,
  });
});

test('A3: a page in the middle of a walk stores the position where it continues, and the last page removes it', async () => {
  const project = await newProject();
  const step = (next: { cursor: string; below: string } | null): OperationPage => ({
    project,
    operations: [],
    proof: null,
    walk: { ...walk, next },
  });
  await saveOperationPage(daemon.sql, step({ cursor: 'above', below: '2026-05-03T00:00:00Z' }));
  await saveOperationPage(daemon.sql, step({ cursor: 'as it came', below: '2026-05-02T00:00:00Z' }));
  expect(await stateOf(project)).toMatchObject({ cursor: 'as it came', walkedAt: null });
  // A position with the time of a page above would claim what lies between the two.
  const [open] = await store.sql`select below::text from keywarden.open_walk where project_number = ${project}`;
  expect(open?.below).toBe('2026-05-02 00:00:00+00');
  await saveOperationPage(daemon.sql, step(null));
  expect(await stateOf(project)).toMatchObject({ cursor: null, walkedAt: '2026-05-04 00:00:00+00' });
});

test('A2: proofs merge where they meet, an instant between two proofs stays unknown, and an empty proof is none', async () => {
  const project = await newProject();
  const day = (number: number) => `2026-05-0${number}T00:00:00.123456Z`;
  const prove = (from: string, below: string, isFromIncluded = false) =>
    saveOperationPage(daemon.sql, { project, operations: [], proof: { from, below, isFromIncluded } });
  await prove(day(3), day(5));
  await prove(day(1), day(3));
  await prove(day(6), day(6));
  await prove(day(7), day(6));
  expect((await stateOf(project)).known).toBe(
    '{("2026-05-01 00:00:00.123456+00","2026-05-03 00:00:00.123456+00"),("2026-05-03 00:00:00.123456+00","2026-05-05 00:00:00.123456+00")}',
  );
  await prove(day(2), day(4));
  expect((await stateOf(project)).known).toBe('{("2026-05-01 00:00:00.123456+00","2026-05-05 00:00:00.123456+00")}');
});

test('several processes can create partitions at once', async () => {
  const months = Array.from({ length: 6 }, (_, index) => `2025-0${index + 1}`);
  await Promise.all(Array.from({ length: 4 }, () => makeOperationPartitions(daemon.sql, months)));
  const [row] =
    await store.sql`select count(*)::int as made from pg_inherits where inhparent = 'keywarden.operation'::regclass
    and inhrelid::regclass::text like '%_2025_%'`;
  expect(row?.made).toBe(6);
});

test('A4: of two concurrent writes of one operation, the older version never replaces the newer', async () => {
  const project = await newProject();
  const at = (second: number) => `2026-05-05T00:00:0${second}Z`;
  for (let round = 0; round < 10; round += 1) {
    const version = (status: string, second: number) => [
      makeWireOperation(round, { status, createdAt: at(0), updatedAt: at(second) }),
    ];
    await saveOperationPage(daemon.sql, { project, operations: version('scheduling', 1) });
    await Promise.all([
      saveOperationPage(daemon.sql, { project, operations: version('finished', 3) }),
      saveOperationPage(daemon.sql, { project, operations: version('running', 2) }),
    ]);
  }
  expect(new Set((await page(project)).map((each) => each.status))).toEqual(new Set(['finished']));
});

test('unexpected values do not keep a page out: long durations, NUL in a text', async () => {
  const project = await newProject();
  const odd = makeWireOperation(1, { totalDurationMs: 2_200_000_000, error: 'a\0b' });
  expect(await saveOperationPage(daemon.sql, { project, operations: [odd] })).toEqual({ inserted: 1, changed: 0 });
  expect((await page(project))[0]).toMatchObject({ total_duration_ms: 2_200_000_000, error: 'a\uFFFDb' });
});

test('A4: an ended operation stays ended with any updated_at, and an older ended version ends one that is going on', async () => {
  const project = await newProject();
  const running = { status: 'running', updatedAt: '2026-05-02T10:00:00.150Z' };
  for (const [index, status] of ['finished', 'cancelled', 'skipped'].entries()) {
    const ended = { status, updatedAt: '2026-05-02T10:00:00.100Z' };
    for (const version of [running, ended, running])
      await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(index, version)] });
  }
  expect(new Set((await page(project)).map((row) => row.status))).toEqual(
    new Set(['finished', 'cancelled', 'skipped']),
  );
});

test('A1: an operation whose creation time has different digits in a list and a single answer is one row, with the first time', async () => {
  const times = [
    '2026-05-02T10:00:07.123456Z',
    '2026-05-02T10:00:07Z',
    '2026-05-02T10:00:07.123Z',
    '2026-05-02T12:00:07.123+02:00',
  ];
  for (const order of [times, times.toReversed()]) {
    const project = await newProject();
    for (const createdAt of order) {
      const operations = [1, 2].map((number) => makeWireOperation(number, { createdAt }));
      await saveOperationPage(daemon.sql, { project, operations });
    }
    const rows = await store.sql`
      select created_at = ${order[0] ?? ''}::timestamptz as is_first from keywarden.operation where project_number = ${project}`;
    expect(rows.map((row) => row.is_first)).toEqual([true, true]);
  }
});
