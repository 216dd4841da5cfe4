import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Store } from '../store.ts';
import { type OperationPage, saveOperationPage } from './pages.ts';
import { makeOperationPartitions } from './partitions.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
  await makeOperationPartitions(daemon.sql, ['2026-05']);
});
afterAll(async () => await store.close());

const newProject = async () => await makeProject(daemon.sql, controlPlane);
const second = (seconds: string) => `2026-05-05T00:00:${seconds}Z`;
const operation = (id: number, seconds: string, status = 'running') =>
  makeWireOperation(id, { createdAt: second(seconds), status });
const save = async (project: string, page: Partial<OperationPage>) =>
  await saveOperationPage(daemon.sql, { project, operations: [], ...page });
const stored = async (project: string) => {
  const rows = await store.sql`
    select to_char(created_at at time zone 'UTC', 'SS.MS') as at, status from keywarden.operation where project_number = ${project} order by created_at`;
  return rows.map(({ at, status }) => `${String(at)} ${String(status)}`);
};

test('A1: rows in the seconds before and after a stored row are stored, also with its id', async () => {
  for (const ids of [
    [2, 3, 4],
    [1, 1, 1],
  ] as const) {
    const project = await newProject();
    await save(project, { operations: [operation(1, '09.500'), operation(1, '07.500')] });
    const operations = [operation(ids[0], '10'), operation(ids[1], '08'), operation(ids[2], '06')];
    expect(await save(project, { operations })).toEqual({ inserted: 3, changed: 0 });
    expect(await stored(project)).toEqual(
      ['06.000', '07.500', '08.000', '09.500', '10.000'].map((at) => `${at} running`),
    );
  }
});

test('A4: of one id at two times, only the operation that a page shows changes', async () => {
  const project = await newProject();
  await save(project, { operations: [operation(1, '09'), operation(1, '07')] });
  const operations = [operation(2, '10'), operation(1, '07', 'finished'), operation(2, '06')];
  expect(await save(project, { operations })).toEqual({ inserted: 2, changed: 1 });
  expect(await stored(project)).toEqual(['06.000 running', '07.000 finished', '09.000 running', '10.000 running']);
});

test('A2: an unreadable row takes back its time in its own project, unless a row of its id is stored in that second', async () => {
  const proof = { from: second('00'), isFromIncluded: true, below: second('30') };
  const [one, other] = [await newProject(), await newProject()];
  const [own, foreign] = ['abcdef00-0000-4000-8000-000000000001', 'abcdef00-0000-4000-8000-000000000002'];
  await save(one, { operations: [{ ...operation(1, '07.500'), id: own }], proof });
  await save(other, { operations: [{ ...operation(2, '08'), id: foreign }], proof });
  const takenBack = async (project: string) => {
    const [row] = await store.sql`
      select array(select to_char(lower(gap) at time zone 'UTC', 'SS.MS') || ' to ' || to_char(upper(gap) at time zone 'UTC', 'SS.MS')
        from unnest(tstzmultirange(tstzrange(${proof.from}, ${proof.below})) - c.known) gap) as gaps
      from keywarden.operation_coverage c where project_number = ${project}`;
    return row?.gaps as string[];
  };
  const unread = async (id: string, from: string, to = from) =>
    await save(one, { unread: [{ id, from: second(from), to: second(to) }] });
  // A single answer may show the time with other digits, and the id with other letters.
  await unread(own, '07.900');
  await unread(own.toUpperCase(), '07', '08');
  expect(await takenBack(one)).toEqual([]);
  await unread(foreign, '08');
  await unread(own, '09', '10');
  expect(await takenBack(one)).toEqual(['08.000 to 08.000', '09.000 to 10.000']);
  expect(await takenBack(other)).toEqual([]);
});

test('A4: of operations of one instant and one state, only the one that a page shows otherwise changes', async () => {
  const project = await newProject();
  const at = (id: number, status?: string) => ({ ...operation(id, '07', status), updatedAt: second('08') });
  await save(project, { operations: [at(2), at(1)] });
  expect(await save(project, { operations: [at(1, 'finished')] })).toEqual({ inserted: 0, changed: 1 });
  expect((await stored(project)).toSorted()).toEqual(['07.000 finished', '07.000 running']);
});

test.each([
  ['running', 'scheduling'],
  ['finished', 'cancelled'],
])('A4: %s stays although a page shows %s of an earlier time', async (newer, older) => {
  const project = await newProject();
  const at = (status: string, updated: string) => ({ ...operation(1, '07', status), updatedAt: second(updated) });
  await save(project, { operations: [at(newer, '09')] });
  expect(await save(project, { operations: [at(older, '08')] })).toEqual({ inserted: 0, changed: 0 });
  expect(await stored(project)).toEqual([`07.000 ${newer}`]);
});

test('a page marks each sealed day that it changes: by its rows, and by rows that take back coverage', async () => {
  const project = await newProject();
  await store.sql`insert into keywarden.operation_sealing (project_number, sealed_to) values (${project}, '2026-05-20')`;
  const marked = async (page: Partial<OperationPage>) => {
    await store.sql`update keywarden.operation_sealing set changed = '{}', changed_at = null where project_number = ${project}`;
    await save(project, page);
    const [row] = await store.sql`
      select array(select lower(day)::text from unnest(changed) day) as days from keywarden.operation_sealing where project_number = ${project}`;
    return row?.days as string[];
  };
  const on = (id: number) => [makeWireOperation(id, { createdAt: '2026-05-07T00:00:00Z' })];
  const unread = (at: string) => [{ id: 'odd', from: at, to: at }];
  const proof = { from: second('00'), isFromIncluded: true, below: second('30') };
  expect(await marked({ proof })).toEqual(['2026-05-05']);
  expect(await marked({ proof })).toEqual([]);
  expect(await marked({ operations: on(1), unread: unread(second('10')) })).toEqual(['2026-05-05', '2026-05-07']);
  // What is claimed of another project at that time is not taken back.
  const ofOther = { from: '2026-05-08T00:00:00Z', isFromIncluded: true, below: '2026-05-10T00:00:00Z' };
  await save(await newProject(), { proof: ofOther });
  expect(await marked({ operations: on(2), unread: unread('2026-05-09T00:00:00Z') })).toEqual(['2026-05-07']);
});

test('rows of one instant keep their order in one project when another one shows more of them', async () => {
  const [one, other] = [await newProject(), await newProject()];
  const places = async (project: string) =>
    (await store.sql`select place from keywarden.operation where project_number = ${project} order by id`).map(
      ({ place }) => Number(place),
    );
  await save(one, { operations: [operation(2, '07'), operation(1, '07')] });
  await save(other, { operations: [operation(2, '07'), operation(1, '07')] });
  await save(other, { operations: [operation(1, '07'), operation(3, '07'), operation(2, '07')] });
  expect(await places(one)).toEqual([0, 1]);
});

test('rows that Postgres stores with one time keep the order of their page, however their times are written', async () => {
  const project = await newProject();
  const [first, second] = ['2026-05-01T00:00:07', '2026-05-01T00:00:08'];
  // Oldest first. Postgres rounds to microseconds, and a half to the even number.
  const groups = [
    [`${first}Z`, `${first}.0000001Z`, '2026-05-01T02:00:07.0000005+02:00'],
    [`${first}.0000015Z`, `${first}.000002Z`, `${first}.0000025Z`],
    [`${first}.1234565Z`, `${first}.1234561Z`, `${first}.123456Z`],
    [`${first}.123457Z`],
    [`${first}.9999999Z`, `${second}Z`],
  ];
  const operations = groups.flat().map((createdAt, n) => makeWireOperation(n + 1, { createdAt }));
  await save(project, { operations: operations.toReversed() });
  const rows = await store.sql`
    select id, place, row_number() over (partition by created_at order by id)::int - 1 as expected
    from keywarden.operation where project_number = ${project} order by id`;
  expect(rows.map(({ place }) => Number(place))).toEqual(rows.map(({ expected }) => Number(expected)));
  expect(rows.map(({ place }) => Number(place))).toEqual(groups.flatMap((group) => group.map((_at, place) => place)));
});

test('of one id at two times, only the row of the time that shows more rows gets a higher place', async () => {
  const project = await newProject();
  await save(project, { operations: [operation(1, '09'), operation(1, '07')] });
  await save(project, { operations: [operation(1, '09'), operation(1, '07'), operation(2, '07')] });
  const rows = await store.sql`
    select place from keywarden.operation where project_number = ${project} order by created_at, place`;
  expect(rows.map(({ place }) => Number(place))).toEqual([0, 1, 0]);
});

test('a page of a project that the store does not have is refused', async () => {
  await expect(save('999999', {})).rejects.toThrow(/project \d+ does not exist/);
});
