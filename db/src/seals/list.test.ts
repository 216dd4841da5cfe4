import { addDays } from '@keywarden/core/values';
import { createTestLedger, type TestLedger } from '@keywarden/testkit/store/ledger';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { createSealing, day, noon, proofOf, type Sealing } from '@keywarden/testkit/store/sealing';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveOperationPage } from '../daemon.ts';
import type { PlacedEvent } from '../ledger/receipts.ts';
import { listSealedProjects, readDropEvents, readGapSealEvents, readSealEvents } from './list.ts';

let sealing: Sealing;
let ledger: TestLedger;
beforeEach(async () => {
  sealing = await createSealing(inject('postgresUrl'));
  ledger = createTestLedger(sealing.daemon);
});
afterEach(async () => await sealing.store.close());

const size = 1_000_000;

/** Saves the pages of a project that prove these days: each range without its end. */
async function prove(project: string, ...ranges: [number, number][]): Promise<void> {
  for (const [from, below] of ranges)
    await saveOperationPage(sealing.daemon.sql, { project, operations: [], proof: proofOf(from, below) });
}

const addOperation = async (project: string, number: number) =>
  await saveOperationPage(sealing.daemon.sql, { project, operations: [makeWireOperation(noon(number))] });

/** Seals the days that changed, and signs the ledger. */
async function sealAgain(): Promise<void> {
  await sealing.waitQuiet();
  await ledger.sign();
}

/** Returns the projects and days of the events of seals, with their operations. */
async function listDays(events: AsyncGenerator<PlacedEvent[]>): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of events)
    for (const { content } of batch) {
      const { project, day: of, operations } = JSON.parse(content) as Record<string, string>;
      found.push(`${project?.split(' ').at(-1)} ${of} ${operations}`);
    }
  return found;
}

/** Creates two walked projects with ids of their own. */
async function makeTwo(): Promise<[string, string]> {
  const [one, other] = [await sealing.makeWalked(6), await sealing.makeWalked(6)];
  await sealing.store.sql`update keywarden.project set id = 'a' where number = ${one}`;
  await sealing.store.sql`update keywarden.project set id = 'b' where number = ${other}`;
  return [one, other];
}

test('gaps are those of the newest seals of the days of a period; a day that waits to be sealed again is left out', async () => {
  const [one, other] = await makeTwo();
  await prove(one, [1, 3], [4, 6]);
  await prove(other, [1, 2], [3, 4], [5, 6]);
  await ledger.sign();
  const gaps = async (from: number, to: number) =>
    (await listDays(readGapSealEvents(sealing.daemon.db, { from: day(from), to: day(to), size }))).toSorted();
  expect(await gaps(1, 7)).toEqual([`a ${day(3)} 0`, `b ${day(2)} 0`, `b ${day(4)} 0`]);
  expect(await gaps(2, 3)).toEqual([`b ${day(2)} 0`]);
  expect(await gaps(3, 4)).toEqual([`a ${day(3)} 0`]);
  await prove(one, [3, 4]);
  await prove(other, [2, 3]);
  expect(await gaps(1, 7)).toEqual([`b ${day(4)} 0`]);
  await sealAgain();
  expect(await gaps(1, 7)).toEqual([`b ${day(4)} 0`]);
  await addOperation(other, 4);
  await sealAgain();
  expect(await gaps(1, 7)).toEqual([`b ${day(4)} 1`]);
});

test('all seals of a day of a period are listed in their order; a day that waits to be sealed again is left out', async () => {
  const [one, other] = await makeTwo();
  for (const project of [one, other]) await prove(project, [1, 6]);
  await ledger.sign();
  await addOperation(one, 3);
  await sealAgain();
  const seals = async (from: number, to: number) =>
    await listDays(readSealEvents(sealing.daemon.db, { project: one, from: day(from), to: day(to), size }));
  expect(await seals(3, 4)).toEqual([`a ${day(3)} 0`, `a ${day(3)} 1`]);
  await addOperation(one, 2);
  await addOperation(other, 4);
  const others = [1, 4, 5].map((number) => `a ${day(number)} 0`);
  expect((await seals(1, 6)).toSorted()).toEqual([...others, `a ${day(3)} 0`, `a ${day(3)} 1`].toSorted());
});

test('the seals of a day that are in two answers are in their order, and none is left out', async () => {
  const project = await sealing.makeWalked(6);
  const from = '2024-12-01';
  await sealing.store.sql`update keywarden.project set created_at = ${from} where number = ${project}`;
  const proof = { ...proofOf(1, 6), from: `${from}T00:00:00Z` };
  await saveOperationPage(sealing.daemon.sql, { project, operations: [], proof });
  await ledger.sign();
  // The first answer has 500 seals: the last of them is that of the 500th day.
  const last = addDays(from, 499);
  expect(last).toBe('2026-04-14');
  await makeOperationPartitions(sealing.daemon.sql, ['2026-04']);
  const operations = [makeWireOperation(0, { createdAt: `${last}T12:00:00Z`, updatedAt: `${last}T12:00:00Z` })];
  await saveOperationPage(sealing.daemon.sql, { project, operations });
  await sealAgain();
  const found = await listDays(readSealEvents(sealing.daemon.db, { project, from, to: day(6), size }));
  expect(found).toHaveLength(522);
  expect(found.filter((each) => each.includes(last)).map((each) => each.at(-1))).toEqual(['0', '1']);
});

test('sealed projects are those that existed on a day of the period, also on the day of its end', async () => {
  const { store, daemon } = sealing;
  const [one, ended] = await makeTwo();
  for (const project of [one, ended]) await prove(project, [1, 6]);
  await ledger.sign();
  // Its days are not sealed yet.
  await sealing.makeWalked(6);
  await store.sql`
    update keywarden.project set organization_id = 'ended', deleted_at = ${`${day(3)}T00:00:00Z`}, missing_since = ${`${day(3)}T00:00:00Z`}
    where number = ${ended}`;
  const list = async (from: string, to: string, filter: { projectId?: string; organizations?: string[] } = {}) => {
    const projects = await listSealedProjects(daemon.db, { organizations: null, ...filter, from, to });
    return projects.map(({ number }) => number);
  };
  expect(await list('2026-04-29', day(1))).toEqual([]);
  expect(await list('2026-04-29', day(2))).toEqual([one, ended]);
  expect(await list(day(3), day(5))).toEqual([one, ended]);
  expect(await list(day(4), day(5))).toEqual([one]);
  expect(await list(day(1), day(5), { projectId: 'a' })).toEqual([one]);
  expect(await list(day(1), day(5), { organizations: ['ended'] })).toEqual([ended]);
  expect(await list(day(1), day(5), { organizations: [] })).toEqual([]);
});

test('a month that is only announced is no drop', async () => {
  await sealing.makeSealedMonth('03');
  const period = { from: '2025-03-01', to: '2025-04-01', size };
  const drop = await sealing.announceDrop('2025-03');
  await ledger.sign();
  expect(await readDropEvents(sealing.daemon.db, period)).toEqual([]);
  await drop(sealing.daemon.sql);
  expect(await readDropEvents(sealing.daemon.db, { ...period, size: 0 })).toEqual([]);
  await ledger.sign();
  expect(await readDropEvents(sealing.daemon.db, period)).toHaveLength(1);
  // Operations came back, and their month is announced again.
  await sealing.store.sql`update keywarden.operation_drop set dropped_at = null, dropped_by = null`;
  await ledger.sign();
  expect(await readDropEvents(sealing.daemon.db, period)).toHaveLength(1);
});
