import { MonthNotAdded } from '@keywarden/db/daemon';
import { until } from '@keywarden/testkit';
import { connectionOf, type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { syncOperations } from './operations.ts';
import { guardedSteps, type Steps } from './project-operations.ts';

let store: TestStore;
let fixture: Fixture;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store);
  await fixture.controls.generate({ organizations: 1, projects: 12, keys: 0, operations: 600, months: 1 });
});
afterEach(async () => {
  await fixture.close();
  await store.close();
});

const sync = async (steps: Partial<Steps> = {}) =>
  await syncOperations(fixture.context, connectionOf(fixture), { ...guardedSteps, ...steps });
const sealedProjects = async () =>
  (await store.sql`select distinct project_number from keywarden.operation_seal`).length;

test('the days of projects are sealed while another is being read', async () => {
  let walks = 0;
  const { inserted } = await sync({
    async *walkOperations(client, walk) {
      walks += 1;
      if (walks === 12) await until(async () => (await sealedProjects()) >= 8);
      yield* guardedSteps.walkOperations(client, walk);
    },
  });
  expect(inserted).toBe(600);
  expect(await sealedProjects()).toBe(12);
});

test('what could not be sealed while projects were read is sealed at the end, and the pass goes on', async () => {
  const asked: (string[] | undefined)[] = [];
  const { inserted } = await sync({
    sealDays: async (sql, options) => {
      asked.push(options.projects);
      if (options.projects !== undefined) throw new Error('no connection');
      return await guardedSteps.sealDays(sql, options);
    },
  });
  expect(inserted).toBe(600);
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.at(-1)).toBeUndefined();
  expect(await sealedProjects()).toBe(12);
});

test('a project that cannot be read does not keep the days of others from being sealed', async () => {
  const route = { path: '/projects/{project_id}/operations', kind: 'status', status: 403 };
  await fixture.controls.setFaults([{ ...route, after: 1, times: 1 }]);
  await expect(sync()).rejects.toThrow(/1 of 12 projects/);
  expect(await sealedProjects()).toBe(11);
  await sync();
  expect(await sealedProjects()).toBe(12);
});

test('a project with operations of a month that cannot be added now does not keep the others from being read', async () => {
  let refused: string | undefined;
  const saveOperationPage: Steps['saveOperationPage'] = async (sql, page) => {
    refused ??= page.project;
    if (page.project === refused) throw new MonthNotAdded(['2026-01']);
    return await guardedSteps.saveOperationPage(sql, page);
  };
  await expect(sync({ saveOperationPage })).rejects.toThrow(
    /1 of 12 projects could not be read completely: [\w-]+ \(The database cannot add a month of operations \(2026-01\) .* when it has ended\)\. The others/,
  );
  expect(await sealedProjects()).toBe(11);
  await sync();
  expect(await sealedProjects()).toBe(12);
});
