import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveOperationPage, saveRejectedRows } from '../daemon.ts';
import { readPage } from '../list.ts';
import { operationList } from '../operations/list.ts';
import type { Store } from '../store.ts';
import { type GapReason, listCoverage, streamCoverage } from './coverage.ts';

let store: TestStore;
let daemon: Store;
let report: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  report = await store.as('keywarden_report');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

const day = (number: number) => `2026-05-${String(number).padStart(2, '0')}T00:00:00Z`;

/** Returns the coverage of a project that was created on 1 May and last listed on 20 May, with these proofs. */
async function coverageOf(
  proofs: [from: number, below: number][],
  { isWalked = true, goneAt = null }: { isWalked?: boolean; goneAt?: string | null } = {},
) {
  const project = await makeProject(daemon.sql, controlPlane);
  const walkedAt = isWalked ? day(19) : null;
  await store.sql`
    update keywarden.project set created_at = ${day(1)}, last_seen_at = ${day(20)}, walked_at = ${walkedAt}, gone_at = ${goneAt},
      missing_since = ${goneAt} where number = ${project}`;
  for (const [from, below] of proofs) {
    const proof = { from: day(from), isFromIncluded: false, below: day(below) };
    await saveOperationPage(daemon.sql, { project, operations: [], proof });
  }
  const [{ coverage } = {}] = await listCoverage(report.db, { after: String(Number(project) - 1), limit: 1 });
  return coverage?.unknown.map(({ from, to, reason }): [string, string, GapReason] => [
    from,
    Date.parse(to) > Date.now() - 60_000 ? 'now' : to,
    reason,
  ]);
}

test('what is before the first proof was pruned, and what is after the last proof is recent', async () => {
  expect(await coverageOf([[5, 19]])).toEqual([
    [day(1), day(5), 'pruned'],
    [day(19), 'now', 'recent'], // it was not listed since
  ]);
});

test('an instant between two proofs, a gap and an unfinished first walk have different reasons', async () => {
  expect(
    await coverageOf([
      [1, 5],
      [5, 7],
      [9, 19],
    ]),
  ).toEqual([
    [day(1), day(1), 'instant'],
    [day(5), day(5), 'instant'],
    [day(7), day(9), 'gap'],
    [day(19), 'now', 'recent'],
  ]);
  expect(await coverageOf([[10, 19]], { isWalked: false })).toContainEqual([day(1), day(10), 'not_walked']);
  expect(await coverageOf([], { isWalked: false })).toEqual([[day(1), 'now', 'not_walked']]);
});

test('a project that was walked minutes after its creation is recent, and one with unreadable rows is reported as unreadable', async () => {
  const project = await makeProject(daemon.sql, controlPlane);
  const [row] = await store.sql`
    update keywarden.project set created_at = ${day(1)}, last_seen_at = '2026-05-01T00:03:00Z', walked_at = '2026-05-01T00:03:00Z'
    where number = ${project} returning id`;
  const reasons = async () => {
    const [{ coverage } = {}] = await listCoverage(report.db, { after: String(Number(project) - 1), limit: 1 });
    return coverage?.unknown.map(({ reason }) => reason);
  };
  expect(await reasons()).toEqual(['recent']);
  const disappear = (at: string | null) =>
    store.sql`update keywarden.project set gone_at = ${at}, missing_since = ${at} where number = ${project}`;
  await disappear('2026-05-01T00:04:00Z');
  expect(await reasons()).toEqual(['deleted']); // no sync covers it
  await disappear(null);
  await store.sql`update keywarden.project set last_seen_at = ${day(20)}, walked_at = ${day(20)} where number = ${project}`;
  expect(await reasons()).toEqual(['pruned']);
  const rejected = [{ id: null, why: 'created_at not an RFC 3339 time', record: {} }];
  await saveRejectedRows(daemon.sql, { controlPlane, list: 'operations', place: String(row?.id) }, rejected);
  expect(await reasons()).toEqual(['unreadable']);
});

test('what was not walked before a project was deleted is reported as deleted', async () => {
  expect((await coverageOf([[1, 15]], { goneAt: day(18) }))?.at(-1)).toEqual([day(15), day(18), 'deleted']);
});

test('A6: what is no longer served is marked with the last walk that found it', async () => {
  const project = await makeProject(daemon.sql, controlPlane);
  await makeOperationPartitions(daemon.sql, ['2026-05']);
  const operations = [makeWireOperation(86_400 * 5), makeWireOperation(86_400)];
  const walk = (began: number, reached: number, isEnd: boolean) => ({
    beganAt: day(began),
    floor: null,
    next: null,
    reached: day(reached),
    isEnd,
  });
  await saveOperationPage(daemon.sql, { project, operations, walk: walk(10, 2, true) });
  await saveOperationPage(daemon.sql, { project, operations: [], walk: walk(15, 4, false) });
  const page = { limit: 10, after: null };
  const { items } = await readPage(report.db, operationList({}, null), page);
  const rows = items.map((item) => JSON.parse(item) as { created_at: string; last_seen_upstream_at: string });
  expect(rows.map((row) => [row.created_at, row.last_seen_upstream_at])).toEqual([
    [day(6), day(15)],
    [day(2), day(10)],
  ]);
});

test('digits below the millisecond are preserved', async () => {
  const project = await makeProject(daemon.sql, controlPlane);
  const proof = { from: '2026-05-01T00:00:00.000001Z', isFromIncluded: true, below: '2026-05-02T00:00:00.123456Z' };
  await saveOperationPage(daemon.sql, { project, operations: [], proof });
  const [{ coverage } = {}] = await listCoverage(report.db, { after: String(Number(project) - 1), limit: 1 });
  expect(coverage?.known).toEqual([{ from: proof.from, to: proof.below, from_included: true, to_included: false }]);
});

test('a second that no proof has, between two proofs, is an instant: services may show whole seconds', async () => {
  const project = await makeProject(daemon.sql, controlPlane);
  await store.sql`
    update keywarden.project set created_at = ${day(1)}, last_seen_at = ${day(20)}, missing_since = ${day(20)}, walked_at = ${day(20)} where number = ${project}`;
  for (const [from, below] of [
    [day(1), '2026-05-05T10:00:07Z'],
    ['2026-05-05T10:00:08Z', day(20)],
  ] as const)
    await saveOperationPage(daemon.sql, { project, operations: [], proof: { from, isFromIncluded: true, below } });
  const [{ coverage } = {}] = await listCoverage(report.db, { after: String(Number(project) - 1), limit: 1 });
  expect(coverage?.unknown.map(({ from, reason }) => [from, reason])).toContainEqual([
    '2026-05-05T10:00:07Z',
    'instant',
  ]);
});

test('the coverage of all projects is read, however many there are', async () => {
  // Whole batches, after which another one is asked for, and a part of one.
  for (const more of [1000, 1]) {
    await store.sql`
      insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at)
      select ${controlPlane}::bigint, gen_random_uuid()::text, 'many', 'p', '2026-01-01', now(), now(), now() from generate_series(1, ${more}::int)`;
    const numbers = new Set<string>();
    for await (const rows of streamCoverage(report.db, { organizations: ['many'] }))
      for (const { number } of rows) numbers.add(number);
    const [row] = await store.sql`select count(*)::int as n from keywarden.project where organization_id = 'many'`;
    expect(numbers.size).toBe(row?.n);
  }
});
