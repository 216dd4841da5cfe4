import { makeProject, makeWireOperation, makeWireProject } from '@keywarden/testkit/store/rows';
import { at, createSealing, day, noon, proofOf, type Sealing } from '@keywarden/testkit/store/sealing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listCoverage } from '../coverage/coverage.ts';
import { makeOperationPartitions, saveDeletedProjects, saveOperationPage, saveProjects } from '../daemon.ts';
import { checkSeals } from './check.ts';

let sealing: Sealing;
beforeAll(async () => {
  sealing = await createSealing(inject('postgresUrl'));
});
afterAll(async () => await sealing.store.close());

/** Returns the days of a project whose seals the daily comparison finds wrong. */
async function faultsOf(project: string) {
  const faults = await checkSeals(sealing.daemon.sql, { signal: new AbortController().signal });
  return faults.filter((each) => each.project === project);
}

const daysOf = async (project: string) => (await sealing.sealsOf(project)).map((seal) => seal.day);

test('pages of two days before the first seal have each day in between sealed once', async () => {
  const project = await sealing.makeWalked(12);
  const { sql } = sealing.daemon;
  await saveOperationPage(sql, { project, operations: [makeWireOperation(noon(9) + 1)], proof: proofOf(8, 12) });
  await sealing.seal();
  await saveOperationPage(sql, { project, operations: [makeWireOperation(noon(6) + 2)] });
  await saveOperationPage(sql, { project, operations: [makeWireOperation(noon(3) + 3)] });
  await sealing.waitQuiet();
  await sealing.seal();
  expect((await daysOf(project)).toSorted()).toEqual(Array.from({ length: 9 }, (_, index) => day(index + 3)));
  expect(await faultsOf(project)).toEqual([]);
});

test.each([
  ['a changed row', {}, [2]],
  ['a changed row, with a proof of what is covered', { proof: proofOf(1, 4) }, [2]],
  [
    'a changed row, with a proof up to noon of a later day',
    { proof: { ...proofOf(4, 5), below: `${day(5)}T12:00:00Z` } },
    [2, 4, 5],
  ],
])('a page with %s has each day that it changes sealed again', async (_what, proof, days) => {
  const project = await sealing.makeWalked(6);
  const { sql } = sealing.daemon;
  const running = makeWireOperation(noon(2) + 9, { status: 'running' });
  await saveOperationPage(sql, { project, operations: [running], proof: proofOf(1, 4) });
  await sealing.seal();
  const before = await daysOf(project);
  await saveOperationPage(sql, { project, operations: [{ ...running, status: 'finished' }], ...proof });
  await sealing.waitQuiet();
  await sealing.seal();
  expect((await daysOf(project)).slice(before.length)).toEqual(days.map(day));
  expect(await faultsOf(project)).toEqual([]);
});

test('a row of an earlier day, in a project that was not sealed because its first day has a gap, has the days in between sealed', async () => {
  const { store, daemon } = sealing;
  const project = await makeProject(daemon.sql, sealing.controlPlane);
  // Two hours earlier, so that the first covered day has settled at any time of the day.
  const nowMs = Math.floor(Date.now() / 1000) * 1000 - 7_200_000;
  const ago = (days: number) => new Date(nowMs - days * 86_400_000).toISOString();
  await store.sql`
    update keywarden.project set created_at = ${ago(300)}, walked_at = now(), last_seen_at = now() where number = ${project}`;
  await makeOperationPartitions(daemon.sql, [...new Set([0, 1, 10].map((days) => ago(days).slice(0, 7)))]);
  const save = async (days: number, proof = {}) => {
    const operation = makeWireOperation(days, { createdAt: ago(days), updatedAt: ago(days) });
    await saveOperationPage(daemon.sql, { project, operations: [operation], ...proof });
  };
  await save(1, { proof: { from: ago(1), isFromIncluded: true, below: ago(0) } });
  await sealing.seal();
  expect(await daysOf(project)).toEqual([]);
  await save(10);
  await sealing.waitQuiet();
  await sealing.seal();
  expect(await daysOf(project)).toHaveLength(9);
  expect(await faultsOf(project)).toEqual([]);
});

test.each(['deleted', 'back'])(
  'a project that turns out to be %s while its days are sealed has them sealed again',
  async (what) => {
    const { store, daemon } = sealing;
    const project = await sealing.makeWalked(3);
    const [row] = await store.sql`
    update keywarden.project set missing_since = '2026-05-07T12:00:00Z', gone_at = '2026-05-07T12:00:00Z' where number = ${project} returning id`;
    const operation = makeWireOperation(noon(2) + (what === 'back' ? 5 : 6));
    await saveOperationPage(daemon.sql, { project, operations: [operation], proof: proofOf(1, 3) });
    const id = String(row?.id);
    const listing = { controlPlane: sealing.controlPlane, seenAt: at(9), organizationId: 'o' };
    let work: Promise<unknown>[] = [];
    await store.sql.begin(async (tx) => {
      // The sealing has read the coverage, and is about to write its seals.
      await tx`lock table keywarden.operation_seal in share mode`;
      work = [sealing.seal()];
      await store.untilBlocked(...work);
      work.push(
        what === 'deleted'
          ? saveDeletedProjects(daemon.sql, listing, [makeWireProject(id, { deletedAt: '2026-05-04T10:00:00Z' })])
          : saveProjects(daemon.sql, { ...listing, unavailableIds: [], isWhole: false }, [makeWireProject(id)]),
      );
      await store.untilBlocked(...work);
    });
    await Promise.all(work);
    await sealing.waitQuiet();
    await sealing.seal();
    expect(await faultsOf(project)).toEqual([]);
  },
);

test('the last day of a project that no connection lists any more is sealed with its gap, which stays when it is listed again', async () => {
  const { store, daemon } = sealing;
  await makeOperationPartitions(daemon.sql, ['2025-05']);
  const project = await makeProject(daemon.sql, sealing.controlPlane);
  const listedAt = '2025-05-05T18:00:00Z';
  const [row] = await store.sql`
    update keywarden.project set created_at = '2025-05-04', walked_at = ${listedAt}, last_seen_at = ${listedAt} where number = ${project} returning id`;
  const createdAt = '2025-05-05T12:00:00Z';
  const proof = { from: '2025-05-04T00:00:00Z', isFromIncluded: true, below: '2025-05-05T17:45:00Z' };
  await saveOperationPage(daemon.sql, {
    project,
    operations: [makeWireOperation(7, { createdAt, updatedAt: createdAt })],
    proof,
  });
  await sealing.seal();
  expect(await daysOf(project)).toEqual(['2025-05-04', '2025-05-05']);
  expect(await faultsOf(project)).toEqual([]);
  const listing = {
    controlPlane: sealing.controlPlane,
    seenAt: '2025-05-07T00:00:00Z',
    organizationId: 'o',
    unavailableIds: [],
  };
  await saveProjects(daemon.sql, { ...listing, isWhole: false }, [makeWireProject(String(row?.id))]);
  await sealing.waitQuiet();
  await sealing.seal();
  expect(await daysOf(project)).toEqual(['2025-05-04', '2025-05-05', '2025-05-06']);
  expect(await faultsOf(project)).toEqual([]);
});

test('A9: of two creation times the earlier counts: the time to the later one is a gap, also in the seal of its day', async () => {
  const { store, daemon, controlPlane } = sealing;
  const project = await sealing.makeWalked(6);
  const [later, earlier] = [`${day(3)}T09:00:00Z`, `${day(1)}T09:00:00Z`];
  const [{ id } = {}] =
    await store.sql`update keywarden.project set created_at = ${later} where number = ${project} returning id`;
  const proof = { from: later, isFromIncluded: true, below: at(6) };
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(4) + 7)], proof });
  await sealing.seal();
  expect(await daysOf(project)).toEqual([3, 4, 5].map(day));
  const list = async (createdAt: string) => {
    const place = { controlPlane, seenAt: at(6), organizationId: 'o', unavailableIds: [], isWhole: false };
    await saveProjects(daemon.sql, place, [makeWireProject(String(id), { createdAt })]);
    await sealing.waitQuiet();
    await sealing.seal();
  };
  await list(`${day(5)}T09:00:00Z`);
  expect(await daysOf(project)).toHaveLength(3);
  await list(earlier);
  expect((await daysOf(project)).slice(3)).toEqual([day(3)]);
  const [seal] = await store.sql`
    select covered, gaps from keywarden.operation_seal where project_number = ${project} order by number desc limit 1`;
  expect(JSON.parse(String(seal?.covered))).toEqual([expect.objectContaining({ from: later, to: at(4) })]);
  expect(JSON.parse(String(seal?.gaps))).toEqual([expect.objectContaining({ from: at(3), to: later })]);
  const [listed] = await listCoverage(daemon.db, { numbers: [project], limit: 1 });
  expect(listed?.coverage.unknown[0]).toMatchObject({ from: earlier, to: later });
  expect(await faultsOf(project)).toEqual([]);
});
