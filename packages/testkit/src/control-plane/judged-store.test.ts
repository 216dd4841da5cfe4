import { syncCredentials, syncKeys, syncOperations } from '@keywarden/daemon';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { addProjects, type Company, findFaults, makeCompany } from './fixture.ts';
import { usualStyle } from './truth.ts';

// The store, compared with what a control plane truly has that shares nothing with the sandbox.

let store: TestStore;
let company: Company;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  company = await makeCompany(store);
});
afterEach(async () => {
  await company.close();
  await store.close();
});

const day = 86_400_000;

const sync = async () => await syncOperations(company.context, await company.connect());

test('A1, A2, A5: the archive has what the control plane has, in every style of times, cursors and lists', async () => {
  addProjects(company);
  expect(await sync()).toMatchObject({ projects: 8, inserted: 420 });
  await company.pass(day / 24);
  expect(await sync()).toMatchObject({ projects: 8, inserted: 0, changed: 0 });
  await syncKeys(company.context, await company.connect());
  expect(await findFaults(company, store)).toEqual([]);
  const covered = await store.sql`
    select p.id from keywarden.operation_coverage c join keywarden.project p on p.number = c.project_number
    where c.known @> tstzrange(p.created_at, p.walked_at - interval '16 minutes')`;
  // Of one project the last row's time has no fraction, and no answer shows whether others share its second.
  expect(covered.length).toBeGreaterThanOrEqual(7);
});

test('A2: a list that ends without a cursor, with as many rows as were requested, is complete in every pass', async () => {
  const { truth } = company.plane;
  const project = truth.addProject(company.acme, { id: 'hundred', style: { ...usualStyle, end: 'no pagination' } });
  for (let index = 1; index <= 100; index += 1)
    truth.addOperation(project, { createdAt: truth.now() - BigInt(index + 5) * 60_000_000_000_000n });
  for (let pass = 0; pass < 3; pass += 1) {
    await sync();
    await company.pass(day);
  }
  await syncKeys(company.context, await company.connect());
  expect(await findFaults(company, store)).toEqual([]);
});

test('a service without the route of one kind of credential hides that list, and makes no listing suspect', async () => {
  company.plane.truth.addProject(company.acme, { id: 'one' });
  for (let pass = 0; pass < 2; pass += 1) {
    const counts = await syncCredentials(company.context, await company.connect());
    expect(counts).toMatchObject({ projects: 1, hidden_lists: 2 });
    await company.pass(2 * day);
  }
  expect(await store.sql`select from keywarden.key_listing where why_suspect is not null`).toEqual([]);
  expect(await store.sql`select from keywarden.incident`).toEqual([]);
});
