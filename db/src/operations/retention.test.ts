import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listCoverage, openSnapshot, streamCoverage } from '../report.ts';
import type { Sql } from '../sql.ts';
import { setOperationRetention } from '../store.ts';
import { forgetAccesses } from '../tokens/access-log.ts';
import { createToken } from '../tokens/tokens.ts';
import { operationList } from './list.ts';
import { markOperationPruned, saveOperationPage } from './pages.ts';
import { holdMonths, makeOperationPartitions } from './partitions.ts';
import { announceExpiredMonths, dropExpiredMonth, readOperationRetention } from './retention.ts';

const dayMs = 86_400_000;
let store: TestStore;
let sql: Sql;
let project: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  sql = (await store.as('keywarden_daemon')).sql;
  project = await makeProject(sql, await makeControlPlane(sql));
  await store.sql`update keywarden.project set created_at = '2020-01-01' where number = ${project}`;
  await makeOperationPartitions(sql, ['2020-01', '2020-02', '2020-03']);
  const at = (month: number) => `2020-0${month}-15T00:00:00Z`;
  const proof = { from: '2020-01-01T00:00:00Z', isFromIncluded: true, below: '2020-04-01T00:00:00Z' };
  const operations = [1, 2, 3].map((month) => makeWireOperation(month, { createdAt: at(month) }));
  await saveOperationPage(sql, { project, operations, proof });
  for (const { id, createdAt } of operations.slice(0, 2)) await markOperationPruned(sql, { project, createdAt, id });
});
afterAll(async () => await store.close());

const drop = async (month: string, announcedAt = 'infinity') =>
  await dropExpiredMonth(sql, { month, announcedAt, by: 'ada' });
const aDayPasses = async () =>
  await store.sql`update keywarden.operation_drop set announced_at = announced_at - interval '1 day'`;
const stored = async () =>
  (await sql`select to_char(created_at, 'MM') as month from keywarden.operation order by 1`).map((row) => row.month);

test('without a retention nothing is over it, and nothing can be dropped', async () => {
  expect(await readOperationRetention(sql)).toBeNull();
  expect(await announceExpiredMonths(sql)).toEqual([]);
  await expect(drop('2020-01')).rejects.toThrow(/within their retention/);
});

test('a retention shorter than the time that the control plane serves operations is refused', async () => {
  await expect(setOperationRetention(store.sql, 30 * dayMs)).rejects.toMatchObject({ cause: { code: '23514' } });
});

test('only whole months over the retention are announced, only announced months are dropped, and coverage then reports retention', async () => {
  const sinceMs = Date.now() - Date.UTC(2020, 2, 2);
  await setOperationRetention(store.sql, sinceMs);
  await expect(drop('2020-01')).rejects.toThrow(/no dry run announced them/);
  expect(await announceExpiredMonths(sql)).toMatchObject([
    { month: '2020-01', operations: 1 },
    { month: '2020-02', operations: 1 },
  ]);
  expect(await stored()).toEqual(['01', '02', '03']);
  // Announced this minute: a person who made a mistake has a day to notice it.
  await expect(drop('2020-01')).rejects.toThrow(/no dry run announced them a day ago/);
  await aDayPasses();
  // A later dry run does not begin the day anew.
  expect(await announceExpiredMonths(sql)).toMatchObject([{ isDue: true }, { isDue: true }]);
  await drop('2020-01');
  const [versions] = await store.sql`select to_regclass('keywarden.operation_version_2020_01') as month`;
  expect(versions?.month).toBeNull();
  const pruned = await store.sql`select extract(month from created_at)::int as month from keywarden.operation_pruned`;
  expect(pruned).toEqual([{ month: 2 }]);
  await expect(drop('2020-03')).rejects.toThrow(/within their retention/);
  expect(await stored()).toEqual(['02', '03']);
  const [{ coverage } = {}] = await listCoverage((await store.as('keywarden_report')).db, { limit: 10 });
  expect(coverage?.known[0]?.from).toBe('2020-02-01T00:00:00Z');
  expect(coverage?.unknown[0]).toMatchObject({
    from: '2020-01-01T00:00:00Z',
    to: '2020-02-01T00:00:00Z',
    reason: 'retention',
  });
  expect(await announceExpiredMonths(sql)).toMatchObject([{ month: '2020-02', isDue: true }]);
});

test('an extended retention withdraws its announcements and no record of a drop, so that after shortening it again a month has its whole day', async () => {
  await setOperationRetention(store.sql, 10_000 * dayMs);
  expect(await announceExpiredMonths(sql)).toEqual([]);
  const drops = await store.sql`select month::text, dropped_by from keywarden.operation_drop`;
  expect(drops).toEqual([{ month: '2020-01-01', dropped_by: 'ada' }]);
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 2, 2));
  expect(await announceExpiredMonths(sql)).toMatchObject([{ month: '2020-02', isDue: false }]);
  await expect(drop('2020-02')).rejects.toThrow(/no dry run announced them a day ago/);
});

test('an announced month that an extended retention covers in part is not dropped', async () => {
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 3, 2));
  expect(await announceExpiredMonths(sql)).toMatchObject([{ month: '2020-02' }, { month: '2020-03' }]);
  await aDayPasses();
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 2, 15));
  await expect(drop('2020-03')).rejects.toThrow(/within their retention/);
  expect(await stored()).toContain('03');
});

test('a dropped month that exists again is announced again, and has its whole day', async () => {
  const seen = new Date().toISOString();
  expect(await drop('2020-02')).toBe(true);
  await makeOperationPartitions(sql, ['2020-02']);
  // Another process drops it on the ground of the same announcement, before and after the new one.
  expect(await drop('2020-02', seen)).toBe(false);
  expect(await announceExpiredMonths(sql)).toMatchObject([{ month: '2020-02', operations: 0, isDue: false }]);
  expect(await drop('2020-02', seen)).toBe(false);
  await expect(drop('2020-02')).rejects.toThrow(/no dry run announced them a day ago/);
  await store.sql`update keywarden.operation_drop set announced_at = announced_at - interval '22 hours'`;
  await expect(drop('2020-02')).rejects.toThrow(/no dry run announced them a day ago/);
});

test('a month is announced now, for the first time and again, also in a transaction that began before', async () => {
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 3, 2));
  const undone = sql.begin(async (tx) => {
    await tx`select now()`;
    const [began] = await store.sql`select clock_timestamp()::text as at`;
    await makeOperationPartitions(tx as unknown as Sql, ['2020-01']);
    await announceExpiredMonths(tx as unknown as Sql);
    const announced = await tx`
      select month::text, announced_at > ${String(began?.at)}::timestamptz as "isLater" from keywarden.operation_drop
      where month <> '2020-02-01' order by 1`;
    expect(announced).toEqual(['2020-01-01', '2020-03-01'].map((month) => ({ month, isLater: true })));
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
});

test('a month that two processes drop and a third announces at once is dropped once, and none of them fails', async () => {
  await aDayPasses();
  let second: Promise<boolean> | undefined;
  let third: ReturnType<typeof announceExpiredMonths> | undefined;
  await sql.begin(async (tx) => {
    await tx`select keywarden.drop_operation_month('2020-02-01', 'the daemon')`;
    second = drop('2020-02');
    third = announceExpiredMonths(sql);
    await store.untilBlocked(second, third);
  });
  expect(await second).toBe(false);
  expect((await third)?.map(({ month }) => month)).not.toContain('2020-02');
  expect(await drop('2020-02')).toBe(false);
  const by = await store.sql`select dropped_by from keywarden.operation_drop where month = '2020-02-01'`;
  expect(by).toEqual([{ dropped_by: 'the daemon' }]);
});

test('a month that is dropped and added again while another process waits to drop it is kept', async () => {
  await makeOperationPartitions(sql, ['2020-02']);
  await announceExpiredMonths(sql);
  await aDayPasses();
  let second: Promise<boolean> | undefined;
  await sql.begin(async (tx) => {
    await tx`select keywarden.drop_operation_month('2020-02-01', 'the daemon')`;
    await tx`select keywarden.make_operation_partitions('{2020-02-01}')`;
    second = drop('2020-02');
    await store.untilBlocked(second);
  });
  expect(await second).toBe(false);
  const [month] = await sql`select to_regclass('keywarden.operation_2020_02')::text as name`;
  expect(month?.name).toBe('keywarden.operation_2020_02');
});

test('a month whose retention is extended while its drop waits for a reader is kept', async () => {
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 3, 2));
  await makeOperationPartitions(sql, ['2020-02']);
  await announceExpiredMonths(sql);
  await aDayPasses();
  let waiting: Promise<boolean> | undefined;
  await sql.begin(async (tx) => {
    await holdMonths(tx);
    waiting = drop('2020-02');
    await store.untilBlocked(waiting);
    await setOperationRetention(store.sql, 10_000 * dayMs);
  });
  await expect(waiting).rejects.toThrow(/within their retention/);
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 3, 2));
});

test('P3: a month is not dropped while an answer is written that claims it and has not read it yet', async () => {
  await setOperationRetention(store.sql, Date.now() - Date.UTC(2020, 3, 2));
  await announceExpiredMonths(sql);
  await aDayPasses();
  await store.sql`alter function keywarden.drop_operation_month set lock_timeout = '50ms'`;
  const snapshot = await openSnapshot((await store.as('keywarden_report')).sql);
  for await (const [row] of streamCoverage(snapshot, {}))
    expect(row?.coverage.known[0]?.from).toBe('2020-03-01T00:00:00Z');
  await expect(drop('2020-03')).rejects.toThrow(/they are being read/);
  for await (const items of snapshot.stream(operationList({}, null))) expect(items).toHaveLength(1);
  await snapshot.close();
  expect(await drop('2020-03')).toBe(true);
});

test('access records are deleted after the configured time, and never within a year', async () => {
  const { number: token } = await createToken((await store.as('keywarden_admin')).db, {
    name: 'ada',
    role: 'viewer',
    organizationIds: null,
    createdBy: 'ada',
  });
  const days = [10, 364, 366, 401];
  await store.sql`
    insert into keywarden.access_log (at, request_id, token_number, address, method, path, status)
    select now() - day * interval '1 day', gen_random_uuid(), ${token}, '127.0.0.1', 'GET', '/v1/keys', 200
    from unnest(${days.map(String)}::text[]::int[]) as day`;
  const left = async () => {
    const rows = await store.sql`
      select round(extract(epoch from now() - at) / 86400)::int as days from keywarden.access_log order by at desc`;
    return rows.map((row) => row.days);
  };
  expect(await forgetAccesses(sql, 400 * dayMs)).toBe(1);
  expect(await left()).toEqual([10, 364, 366]);
  expect(await forgetAccesses(sql, dayMs)).toBe(1);
  expect(await left()).toEqual([10, 364]);
});
