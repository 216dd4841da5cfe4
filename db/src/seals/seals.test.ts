import { rootOfLeaves } from '@keywarden/core/ledger';
import { makeWireOperation, makeWireProject } from '@keywarden/testkit/store/rows';
import { at, createSealing, day, noon, proofOf, type Sealing } from '@keywarden/testkit/store/sealing';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveDeletedProjects, saveOperationPage, saveProjects } from '../daemon.ts';
import type { Store } from '../store.ts';
import { checkSeals } from './check.ts';
import { hashDays } from './read.ts';

let sealing: Sealing;
let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  sealing = await createSealing(inject('postgresUrl'));
  ({ store, daemon } = sealing);
});
afterAll(async () => await store.close());

test('each settled and covered day is sealed once, with the root of its operations as an export shows them', async () => {
  const project = await sealing.makeWalked(6);
  const odd = {
    error: 'a"b\\c\b\f\n\r\t\u001f\u007f\u2028é😀, {"extra": "}"}',
    retryAt: '2026-05-03T05:04:05.100+02:00',
    createdAt: '2026-05-03T03:04:05.123456Z',
    failuresCount: 3,
    totalDurationMs: undefined,
    extra: { b: [1, 2.5, 1e21, '}'], a: { 'x"}': null, é: true }, 'key ,': '"' },
  };
  const operations = [makeWireOperation(noon(2)), makeWireOperation(noon(3), odd), makeWireOperation(noon(3) + 1)];
  await saveOperationPage(daemon.sql, { project, operations, proof: proofOf(2, 5) });
  expect(await sealing.seal()).toEqual({ projects: 1, days: 4, failures: [] });
  expect(await sealing.seal()).toEqual({ projects: 0, days: 0, failures: [] });
  const seals = await sealing.sealsOf(project);
  expect(seals.map((each) => [each.day, each.operations, each.replaces])).toEqual([
    [day(2), 1, null],
    [day(3), 2, null],
    [day(4), 0, null],
    [day(5), 0, null],
  ]);
  expect(seals[0]?.root).toBe(await sealing.rootOfDay(project, 2));
  expect(seals[1]?.root).toBe(await sealing.rootOfDay(project, 3));
  expect(seals[3]?.root).toBe(Buffer.from(rootOfLeaves([])).toString('hex'));
  // The fifth is sealed with its gap, because it ended long ago.
  expect(seals.map(({ gaps }) => JSON.parse(gaps) as object[])).toEqual([
    [],
    [],
    [],
    [{ from: at(5), from_included: true, to: at(6), to_included: false, reason: 'recent' }],
  ]);
  const events = await store.sql`
    select content::jsonb as content from keywarden.ledger_event where type = 'archive.sealed' and subject = ${`operation_seal/${seals[1]?.number}`}`;
  expect(events.map(({ content }) => content as object)).toEqual([
    expect.objectContaining({ day: day(3), operations: '2', root: seals[1]?.root, gaps: '[]', replaces: null }),
  ]);
});

test('an operation that changed, a late row and coverage that came later seal their days again, and no other day', async () => {
  const project = await sealing.makeWalked(6);
  const running = makeWireOperation(noon(2), { status: 'running' });
  await saveOperationPage(daemon.sql, { project, operations: [running], proof: proofOf(1, 4) });
  await sealing.seal();
  const [, second, third] = await sealing.sealsOf(project);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [
      { ...running, status: 'finished', updatedAt: '2026-05-02T13:00:00Z' },
      makeWireOperation(noon(3), { createdAt: '2026-05-03T00:00:00Z' }),
    ],
  });
  await sealing.seal();
  expect(await sealing.sealsOf(project)).toHaveLength(5);
  await sealing.waitQuiet();
  expect(await sealing.seal()).toEqual({ projects: 1, days: 2, failures: [] });
  expect((await sealing.sealsOf(project)).slice(5).map((each) => [each.day, each.operations, each.replaces])).toEqual([
    [day(2), 1, second?.number],
    [day(3), 1, third?.number],
  ]);
  await saveOperationPage(daemon.sql, { project, operations: [], proof: proofOf(4, 5) });
  await sealing.waitQuiet();
  // The time since the first change counts: a project that changes all the time is sealed, too.
  await saveOperationPage(daemon.sql, { project, operations: [], proof: proofOf(5, 6) });
  expect(await sealing.seal()).toEqual({ projects: 1, days: 2, failures: [] });
  expect((await sealing.sealsOf(project)).slice(7).map((each) => [each.day, each.gaps])).toEqual([
    [day(4), '[]'],
    [day(5), '[]'],
  ]);
  // Writing a page twice changes nothing.
  await saveOperationPage(daemon.sql, { project, operations: [], proof: proofOf(4, 6) });
  await sealing.waitQuiet();
  expect(await sealing.seal()).toEqual({ projects: 0, days: 0, failures: [] });
});

test('a claim that is taken back has its day sealed again with the gap, and no other day', async () => {
  const project = await sealing.makeWalked(6);
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(1, 6) });
  await sealing.seal();
  const before = await sealing.sealsOf(project);
  // A list shows a row of these times that cannot be read.
  const lacking = { from: `${day(3)}T10:00:00Z`, to: `${day(3)}T11:00:00Z` };
  await saveOperationPage(daemon.sql, { project, operations: [], unread: [{ id: null, ...lacking }] });
  await sealing.waitQuiet();
  expect(await sealing.seal()).toEqual({ projects: 1, days: 1, failures: [] });
  const [again] = (await sealing.sealsOf(project)).slice(before.length);
  expect([again?.day, JSON.parse(String(again?.gaps))]).toEqual([day(3), [expect.objectContaining(lacking)]]);
});

test('a row that a page is writing is in the seal: the seal waits for the page', async () => {
  const project = await sealing.makeWalked(4);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [makeWireOperation(noon(2) + 7)],
    proof: proofOf(2, 4),
  });
  let sealed: Promise<unknown> = Promise.resolve();
  await store.sql.begin(async (tx) => {
    await saveOperationPage(Object.assign(tx, { options: store.sql.options }) as never, {
      project,
      operations: [makeWireOperation(noon(2) + 8)],
    });
    sealed = sealing.seal();
    await store.untilBlocked(sealed);
    expect(await sealing.sealsOf(project)).toEqual([]);
  });
  await sealed;
  expect((await sealing.sealsOf(project)).map(({ operations }) => operations)).toEqual([2, 0]);
});

test('a project without a whole walk is not sealed, and one that is gone is sealed to its last day', async () => {
  const unwalked = await sealing.makeWalked(6);
  const gone = await sealing.makeWalked(20);
  await store.sql`update keywarden.project set walked_at = null where number = ${unwalked}`;
  await store.sql`update keywarden.project set missing_since = '2026-05-03T10:00:00Z', gone_at = '2026-05-03T10:00:00Z' where number = ${gone}`;
  for (const project of [unwalked, gone])
    await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(2, 3) });
  await sealing.seal();
  expect(await sealing.sealsOf(unwalked)).toEqual([]);
  expect((await sealing.sealsOf(gone)).map((each) => [each.day, each.gaps.includes('deleted')])).toEqual([
    [day(2), false],
    [day(3), true],
  ]);
});

test('a project that cannot be sealed keeps no other from it, and is sealed once it can be', async () => {
  const projects: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const project = await sealing.makeWalked(4);
    await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(1, 4) });
    projects.push(project);
  }
  const [poison = '', ...others] = projects;
  await store.sql.unsafe(
    `alter table keywarden.operation_seal add constraint refuses check (project_number <> ${poison}) not valid`,
  );
  const { failures } = await sealing.seal();
  expect(failures.map(({ project }) => project)).toEqual([poison]);
  for (const project of others)
    expect((await sealing.sealsOf(project)).map((each) => each.day)).toEqual([1, 2, 3].map(day));
  expect(await sealing.sealsOf(poison)).toEqual([]);
  await store.sql`alter table keywarden.operation_seal drop constraint refuses`;
  expect((await sealing.seal()).failures).toEqual([]);
  expect((await sealing.sealsOf(poison)).map((each) => each.day)).toEqual([1, 2, 3].map(day));
});

test('a project that is back after a day of absence has that day sealed again', async () => {
  const project = await sealing.makeWalked(20);
  const [{ id } = {}] = await store.sql`
    update keywarden.project set missing_since = '2026-05-03T10:00:00Z' where number = ${project} returning id`;
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(2, 4) });
  await sealing.seal();
  expect((await sealing.sealsOf(project)).at(-1)).toMatchObject({ day: day(3), gaps: '[]' });
  await store.sql`update keywarden.operation_coverage set known = '{[2026-05-02,2026-05-03T10:00:00Z)}' where project_number = ${project}`;
  const place = {
    controlPlane: sealing.controlPlane,
    seenAt: at(21),
    organizationId: 'o',
    unavailableIds: [],
    isWhole: false,
  };
  await saveProjects(daemon.sql, place, [makeWireProject(String(id))]);
  await sealing.waitQuiet();
  await sealing.seal();
  const [last] = (await sealing.sealsOf(project)).filter((each) => each.day === day(3) && each.replaces !== null);
  expect(JSON.parse(last?.gaps ?? '')).toEqual([expect.objectContaining({ from: '2026-05-03T10:00:00Z', to: at(4) })]);
});

test('days after a deletion that is known only later are sealed again, without the gaps that they had', async () => {
  const project = await sealing.makeWalked(3);
  const [{ id } = {}] = await store.sql`
    update keywarden.project set missing_since = '2026-05-07T12:00:00Z', gone_at = '2026-05-07T12:00:00Z' where number = ${project} returning id`;
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2) + 5)], proof: proofOf(1, 3) });
  await sealing.seal();
  const gapsOf = async (number: number) =>
    (await sealing.sealsOf(project)).findLast((each) => each.day === day(number))?.gaps;
  expect([await gapsOf(5), await gapsOf(7)]).not.toContain('[]');
  const place = { controlPlane: sealing.controlPlane, seenAt: at(9), organizationId: 'o', unavailableIds: [] };
  const deletedAt = '2026-05-04T10:00:00Z';
  await saveDeletedProjects(daemon.sql, place, [makeWireProject(String(id), { deletedAt })]);
  await sealing.waitQuiet();
  expect((await sealing.seal()).failures).toEqual([]);
  expect([await gapsOf(5), await gapsOf(7)]).toEqual(['[]', '[]']);
  expect(JSON.parse((await gapsOf(4)) ?? '')).toEqual([expect.objectContaining({ to: '2026-05-04T10:00:00Z' })]);
});

test('the seals of the days on which a project was created and deleted cover the rest of those days', async () => {
  const project = await sealing.makeWalked(6);
  const [created, deleted] = ['2026-05-02T09:00:00Z', '2026-05-05T17:00:00Z'];
  await store.sql`update keywarden.project set created_at = ${created}, missing_since = ${deleted} where number = ${project}`;
  const proof = { from: created, isFromIncluded: true, below: deleted };
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2) + 95)], proof });
  await sealing.seal();
  const coveredOf = async (number: number) => {
    const rows = await store.sql`
      select covered from keywarden.operation_seal where project_number = ${project} and day = ${day(number)} order by number`;
    return rows.map(({ covered }) => JSON.parse(String(covered)) as object[]);
  };
  const lived = { from: created, from_included: true, to: at(3), to_included: false };
  const before = { from: at(2), from_included: true, to: created, to_included: false, reason: 'not_created' };
  expect(await coveredOf(2)).toEqual([[before, lived]]);
  // A project that is only absent from lists may be hidden.
  const last = { from: at(5), from_included: true, to: deleted, to_included: false };
  expect(await coveredOf(5)).toEqual([[last]]);
  await store.sql`update keywarden.project set deleted_at = ${deleted} where number = ${project}`;
  await store.sql`update keywarden.operation_sealing set changed = '{[2026-05-05,2026-05-06)}', changed_at = now() where project_number = ${project}`;
  await sealing.waitQuiet();
  await sealing.seal();
  const after = { from: deleted, from_included: false, to: at(6), to_included: false, reason: 'deleted' };
  expect(await coveredOf(5)).toEqual([[last], [last, after]]);
  expect(await checkSeals(daemon.sql, { signal: new AbortController().signal })).toEqual([]);
});

test('the roots of days do not depend on how many rows an answer has', async () => {
  const project = await sealing.makeWalked(10);
  // Eight on the second day, none on the third, one, and three.
  const times = [
    ...Array.from({ length: 8 }, (_, index) => noon(2) + index),
    noon(4),
    noon(5),
    noon(5) + 1,
    noon(5) + 2,
  ];
  const operations = times.map((time) => makeWireOperation(time + 40));
  await saveOperationPage(daemon.sql, { project, operations, proof: proofOf(2, 6) });
  const hash = async (rowsAtOnce?: number) =>
    await daemon.sql.begin(async (tx) => await hashDays(tx, project, { from: day(1), to: day(8) }, rowsAtOnce));
  const whole = await hash();
  expect([...whole].map(([each, { operations: count }]) => [each, count])).toEqual([
    [day(2), 8],
    [day(4), 1],
    [day(5), 3],
  ]);
  for (const number of [2, 4, 5]) expect(whole.get(day(number))?.root).toBe(await sealing.rootOfDay(project, number));
  for (const rowsAtOnce of [1, 2, 3, 8, 9, 12]) expect(await hash(rowsAtOnce), `${rowsAtOnce} rows`).toEqual(whole);
});

test('an operation of a day before the first seal has all days in between sealed', async () => {
  const project = await sealing.makeWalked(12);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [makeWireOperation(noon(9) + 90)],
    proof: proofOf(8, 12),
  });
  await sealing.seal();
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(3) + 90)] });
  await sealing.waitQuiet();
  await sealing.seal();
  const days = (await sealing.sealsOf(project)).map((each) => each.day);
  expect([...new Set(days)].toSorted()).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11].map(day));
  const faults = await checkSeals(daemon.sql, { signal: new AbortController().signal });
  expect(faults.filter((each) => each.project === project)).toEqual([]);
});

test('a project of a clock that was ahead has no seal of a day that has not ended', async () => {
  const project = await sealing.makeWalked(4);
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(9) + 95)] });
  await sealing.seal();
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(4) + 95)] });
  await sealing.waitQuiet();
  await sealing.seal();
  expect(await sealing.sealsOf(project)).toEqual([]);
});
