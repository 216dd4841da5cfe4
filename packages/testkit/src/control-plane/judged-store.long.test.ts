import { syncKeys, syncOperations } from '@keywarden/daemon';
import { UserError } from '@keywarden/runtime';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { changingWeather, numbersFrom } from './control-plane.ts';
import { addProjects, type Company, findFaults, makeCompany } from './fixture.ts';
import type { Project } from './truth.ts';

let store: TestStore;
let company: Company;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterEach(async () => {
  await company.close();
  await store.close();
});

const hour = 3_600_000;

/** Makes a pass. A project whose requests fail stops no other, and the pass says so. */
async function sync(): Promise<string | null> {
  try {
    await syncOperations(company.context, await company.connect());
    return null;
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
}

/** Adds operations of the last hour to a project, and changes the status of two that were going on. */
function work(project: Project, random: () => number): void {
  const { truth } = company.plane;
  const at = truth.now() - BigInt(Math.floor(random() * hour)) * 1_000_000n;
  for (let index = 0; index < 8; index += 1) {
    const status = index === 0 ? 'running' : 'finished';
    truth.addOperation(project, { createdAt: at + BigInt(index % 3), status, action: `new_action_${index}` });
  }
  for (const operation of project.operations.filter(({ status }) => status === 'running').slice(0, 2)) {
    const status = random() < 0.5 ? 'finished' : 'a_new_status';
    Object.assign(operation, { status, failuresCount: 3, updatedAt: truth.now() });
  }
}

test('A1, A2, A4, A6, R7: the archive claims nothing false in storms while projects change, and has everything after them', async () => {
  company = await makeCompany(store, { perMinute: 300 });
  const { plane, ada } = company;
  const { truth } = plane;
  const other = truth.addOrganization('other', [{ user: ada, role: 'admin' }]);
  const projects = addProjects(company);
  const [unavailable, moved, deleted] = projects;
  const random = numbersFrom(7);
  for (let pass = 0; pass < 9; pass += 1) {
    plane.weather = pass % 3 === 2 ? () => 'calm' : changingWeather(random);
    for (const project of projects) if (project.deletedAt === null && project.id !== 'x') work(project, random);
    if (unavailable) unavailable.isUnavailable = pass === 3 || pass === 4;
    if (pass === 4 && moved) moved.organizationId = other.id;
    if (pass === 7 && deleted) {
      await sync();
      deleted.deletedAt = truth.now();
    }
    await sync();
    expect(await findFaults(company, store, { isComplete: false })).toEqual([]);
    await company.pass(6 * hour);
  }
  plane.weather = () => 'calm';
  for (let pass = 0; pass < 2; pass += 1) {
    expect(await sync()).toBeNull();
    await company.pass(24 * hour);
  }
  await syncKeys(company.context, await company.connect());
  expect(await findFaults(company, store)).toEqual([]);
});
