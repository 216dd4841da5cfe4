import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { at, createSealing, day, noon, proofOf, type Sealing } from '@keywarden/testkit/store/sealing';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveOperationPage } from '../daemon.ts';
import { checkSeals } from './check.ts';

// What an owner of the database writes into the seals and the projects themselves. The daemon signs it; the comparison finds it.

let sealing: Sealing;
let store: TestStore;
beforeAll(async () => {
  sealing = await createSealing(inject('postgresUrl'));
  ({ store } = sealing);
});
afterAll(async () => {
  store.isTampered();
  await store.close();
});

/** Creates a project with operations of one day, and gaps before and after it. */
async function makeSealed(): Promise<string> {
  const project = await sealing.makeWalked(6);
  const operations = [makeWireOperation(noon(2) + 90), makeWireOperation(noon(2) + 91)];
  await saveOperationPage(sealing.daemon.sql, { project, operations, proof: proofOf(2, 3) });
  await sealing.seal();
  return project;
}

async function faultsOf(...projects: string[]): Promise<[string, string][]> {
  const found = await checkSeals(sealing.daemon.sql, { signal: new AbortController().signal });
  return found.filter((each) => projects.includes(each.project)).map((each) => [each.project, each.day]);
}

test('a seal that hides the gaps of its day is found, although it follows the seal before and has the same operations', async () => {
  const project = await makeSealed();
  expect(await faultsOf(project)).toEqual([]);
  for (const gaps of ['[]', 'none']) {
    await store.sql`
      insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
      select distinct on (day) project_number, project, day, operations, root, covered, ${gaps}, number from keywarden.operation_seal
      where project_number = ${project} and day = ${day(4)} order by day, number desc`;
    expect(await faultsOf(project)).toEqual([[project, day(4)]]);
  }
});

test('a seal of fewer operations than the one before is found, although the day has exactly those', async () => {
  const project = await makeSealed();
  await store.sql`delete from keywarden.operation where project_number = ${project} and id = ${makeWireOperation(noon(2) + 91).id}`;
  await store.sql`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select project_number, project, day, 1, ${await sealing.rootOfDay(project, 2)}, covered, gaps, number
    from keywarden.operation_seal where project_number = ${project} and day = ${day(2)}`;
  expect(await faultsOf(project)).toEqual([[project, day(2)]]);
});

test('the reason of a gap may change: its times are compared', async () => {
  const project = await makeSealed();
  await store.sql`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select distinct on (day) project_number, project, day, operations, root, covered, replace(gaps, '"recent"', '"gap"'), number
    from keywarden.operation_seal where project_number = ${project} and day = ${day(4)} order by day, number desc`;
  expect(await faultsOf(project)).toEqual([]);
});

test('a project that is put in the place of another, under its name, is found: each seal names the project of its number', async () => {
  const [project, other] = [await makeSealed(), await makeSealed()];
  const [name] = await store.sql`select id from keywarden.project where number = ${project}`;
  const id = String(name?.id);
  await store.sql`update keywarden.project set id = ${`${id}-former`} where number = ${project}`;
  await store.sql`update keywarden.project set id = ${id} where number = ${other}`;
  expect(await faultsOf(project, other)).toEqual([project, other].map((number) => [number, day(2)]));
});

test('seals of a number without a project, under the name of a project, are found, and so are those of one name with two numbers', async () => {
  const project = await makeSealed();
  const stranger = String(Number(project) + 1_000_000);
  await store.sql`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select distinct on (day) ${stranger}::bigint, project, day, 0, ${await sealing.rootOfDay(project, 1)}, '[]', '[]', null::bigint
    from keywarden.operation_seal where project_number = ${project} and day = ${day(4)} order by day, number desc`;
  expect(await faultsOf(project, stranger)).toEqual([
    [project, day(2)],
    [stranger, day(4)],
  ]);
});

test('a day of an earlier version, without the creation of its project, is no fault, and keeps its seal', async () => {
  const project = await sealing.makeWalked(4);
  const created = '2026-05-02T09:00:00Z';
  await store.sql`update keywarden.project set created_at = ${created} where number = ${project}`;
  const proof = { from: created, isFromIncluded: true, below: at(4) };
  await saveOperationPage(sealing.daemon.sql, { project, operations: [], proof });
  await sealing.seal();
  const remove = async (first: number) =>
    await store.sql`
      update keywarden.operation_seal set covered = '[' || substr(covered, ${first}::int) where project_number = ${project} and day = ${day(2)}`;
  const [{ covered } = {}] = await store.sql`
    select covered from keywarden.operation_seal where project_number = ${project} and day = ${day(2)}`;
  await remove(String(covered).indexOf('},{') + 3);
  expect(await faultsOf(project)).toEqual([]);
  expect(await sealing.sealsOf(project)).toHaveLength(2);
  await remove(String(covered).length);
  expect(await faultsOf(project)).toEqual([[project, day(2)]]);
});
