import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listArchivedOperations } from '../read/index.ts';
import { createTestStore, type TestStore } from '../testing.ts';
import { ensureOperationPartitions, saveOperationPage } from './operation-pages.ts';
import { makeWireOperation } from './testing.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  await ensureOperationPartitions(store.sql, { first: '2026-04-30T23:59:59Z', last: '2026-06-01T00:00:00Z' });
});
afterAll(async () => await store.close());

let projects = 1000;
const newProject = () => String((projects += 1));
const page = (project: string) => listArchivedOperations(store.db, { project, after: null, below: null, limit: 100 });

test('A5: writing a page twice changes nothing, not even a row version of Postgres', async () => {
  const project = newProject();
  const operations = [makeWireOperation(1), makeWireOperation(2)];
  const versions = () =>
    store.sql`select xmin::text, ctid::text from keywarden.operation where project_number = ${project} order by id`;
  expect(await saveOperationPage(store.sql, { project, operations })).toEqual({ inserted: 2, changed: 0 });
  const before = [...(await versions())];
  expect(await saveOperationPage(store.sql, { project, operations })).toEqual({ inserted: 0, changed: 0 });
  expect([...(await versions())]).toEqual(before);
});

test('A4: every version that was seen is kept', async () => {
  const project = newProject();
  for (const status of ['scheduling', 'running', 'finished']) {
    await saveOperationPage(store.sql, { project, operations: [makeWireOperation(1, { status })] });
  }
  expect((await page(project)).map((row) => row.status)).toEqual(['finished']);
  const versions =
    await store.sql`select status from keywarden.operation_version where project_number = ${project} order by replaced_at`;
  expect(versions.map((row) => row.status)).toEqual(['scheduling', 'running']);
});

test('A5: unknown fields, actions and statuses, and times with every digit, come back as they came', async () => {
  const project = newProject();
  const odd = makeWireOperation(1, {
    action: 'paint_it_blue',
    status: 'pondering',
    createdAt: '2026-05-02T03:04:05.123456Z',
    updatedAt: '2026-05-02T05:04:05.100+02:00',
    extra: { colour: { name: 'blue' }, weight: null },
  });
  await saveOperationPage(store.sql, { project, operations: [odd] });
  const [row] = await page(project);
  expect(row).toMatchObject({ action: 'paint_it_blue', status: 'pondering', createdAt: '2026-05-02T03:04:05.123456Z' });
  expect(row?.extra).toEqual({ colour: { name: 'blue' }, weight: null, updated_at: '2026-05-02T05:04:05.100+02:00' });
});

test('rows of one instant are all kept, in any number', async () => {
  const project = newProject();
  const operations = Array.from({ length: 50 }, (_, index) =>
    makeWireOperation(index, { createdAt: '2026-05-03T00:00:00.5Z' }),
  );
  expect((await saveOperationPage(store.sql, { project, operations })).inserted).toBe(50);
  expect(new Set((await page(project)).map((row) => row.id)).size).toBe(50);
});

test('a page that cannot be written whole is not written at all, and the walk is not marked', async () => {
  const [row] = await store.sql`
    with plane as (insert into keywarden.control_plane (base_url) values ('https://other.example/api/v2') returning number)
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at)
    select number, 'p', 'o', 'p', now(), now(), now(), now() from plane returning number`;
  const project = String(row?.number);
  const operations = [makeWireOperation(1), makeWireOperation(2, { createdAt: '1999-01-01T00:00:00Z' })];
  await expect(saveOperationPage(store.sql, { project, operations, walkedAt: '2026-05-04T00:00:00Z' })).rejects.toThrow(
    /no partition/,
  );
  expect(await page(project)).toEqual([]);
  const walked = async () =>
    (await store.sql`select walked_at from keywarden.project where number = ${project}`)[0]?.walked_at;
  expect(await walked()).toBeNull();
  await saveOperationPage(store.sql, { project, operations: [makeWireOperation(1)], walkedAt: '2026-05-04T00:00:00Z' });
  expect(await walked()).toBe('2026-05-04 00:00:00+00');
});

test('partitions can be made by several at once', async () => {
  const months = { first: '2025-01-15T00:00:00Z', last: '2025-06-15T00:00:00Z' };
  await Promise.all(Array.from({ length: 4 }, () => ensureOperationPartitions(store.sql, months)));
  const [row] =
    await store.sql`select count(*)::int as made from pg_inherits where inhparent = 'keywarden.operation'::regclass
    and inhrelid::regclass::text like '%_2025_%'`;
  expect(row?.made).toBe(6);
});

test('A4: of two that write one operation at once the older version never stands over the newer', async () => {
  const [row] = await store.sql`select control_plane_number as plane from keywarden.project limit 1`;
  const [made] = await store.sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at)
    values (${String(row?.plane)}, 'race', 'o', 'p', now(), now(), now(), now()) returning number`;
  const project = String(made?.number);
  const at = (second: number) => `2026-05-05T00:00:0${second}Z`;
  for (let round = 0; round < 10; round += 1) {
    const version = (status: string, second: number) => [
      makeWireOperation(round, { status, createdAt: at(0), updatedAt: at(second) }),
    ];
    await saveOperationPage(store.sql, { project, operations: version('scheduling', 1) });
    await Promise.all([
      saveOperationPage(store.sql, { project, operations: version('finished', 3) }),
      saveOperationPage(store.sql, { project, operations: version('running', 2) }),
    ]);
  }
  expect(new Set((await page(project)).map((each) => each.status))).toEqual(new Set(['finished']));
});

test('what no column of ours foresaw does not keep a page out: long durations, NUL in a text', async () => {
  const project = newProject();
  const odd = makeWireOperation(1, { totalDurationMs: 2_200_000_000, error: 'a\0b' });
  expect(await saveOperationPage(store.sql, { project, operations: [odd] })).toEqual({ inserted: 1, changed: 0 });
  expect((await page(project))[0]).toMatchObject({ totalDurationMs: 2_200_000_000, error: 'a\uFFFDb' });
});
