import { policySchema } from '@keywarden/core/policy';
import { applyPlan, planKeys, syncKeys } from '@keywarden/daemon';
import { listIncidents } from '@keywarden/db/daemon';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { changingWeather, numbersFrom, type Weather } from './control-plane.ts';
import { addKeys, type Company, findFaults, type KeySketch, makeCompany } from './fixture.ts';

let store: TestStore;
let company: Company;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterEach(async () => {
  await company.close();
  await store.close();
});

const policy = policySchema.parse({
  rules: [
    { name: 'never-used', never_used_for: '90d', action: 'revoke' },
    { name: 'idle', unused_for: '90d', action: 'revoke' },
  ],
});

test('R1, R2: a plan has exactly the keys that its rules flag, and its apply revokes exactly these', async () => {
  company = await makeCompany(store, { policy });
  const { plane, context, acme } = company;
  plane.truth.addProject(acme, { id: 'some-project' });
  addKeys(company, {
    'never one': [200, null],
    'never two': [91, null],
    'left never': [100, null, { id: '9223372036854775807' }],
    'too young': [89, null],
    idle: [200, 91],
    'left idle': [200, 150],
    'nearly idle': [200, 89],
    'in use': [400, 0.01],
    '\u{1F511} "q", <b>\u202e': [120, null],
    scoped: [120, null, { projectId: 'some-project' }],
  });
  plane.weather = changingWeather(numbersFrom(3), 0);
  const connection = await company.connect();
  await syncKeys(context, connection);
  const plan = await planKeys(context, [connection]);
  const flagged = ['never one', 'never two', 'left never', 'idle', 'left idle', '\u{1F511} "q", <b>\u202e', 'scoped'];
  expect(plan.document.items.map(({ key }) => key.name).toSorted()).toEqual(flagged.toSorted());
  expect(plan.document.held).toEqual([]);
  const applied = await applyPlan(context, {
    planId: plan.id,
    items: plan.document.items,
    approver: { via: 'command line', approvedBy: 'ada' },
    connections: [connection],
  });
  expect(applied.stopped).toBeNull();
  const revoked = plane.truth.keys.filter(({ revokedAt }) => revokedAt !== null).map(({ name }) => name);
  expect(revoked.toSorted()).toEqual(flagged.toSorted());
  for (let passes = 0; passes < 2; passes += 1) {
    await company.pass(3_600_000);
    await syncKeys(context, await company.connect());
  }
  expect(await findFaults(company, store)).toEqual([]);
  expect(await listIncidents(store.db, { isOpen: true, limit: 10 })).toEqual([]);
});

test('R4: for any answer to a revocation, the store says of each key what the control plane did, after two more listings', async () => {
  company = await makeCompany(store, { policy });
  const { plane, context } = company;
  const answers: Weather[] = [
    'calm',
    'pieces',
    'dead',
    'empty',
    'error',
    'cut',
    'lost',
    'redirect',
    'html 520',
    'limited',
    'locked',
  ];
  addKeys(company, { 'in use': [200, 1] });
  addKeys(company, Object.fromEntries(answers.map((answer): [string, KeySketch] => [answer, [200, null]])));
  const nameOf = (path: string) => plane.truth.keys.find(({ id }) => path.endsWith(`/${id}`))?.name;
  plane.weather = (method, path) => answers.find((each) => method === 'DELETE' && each === nameOf(path)) ?? 'calm';
  const connection = await company.connect();
  await syncKeys(context, connection);
  const plan = await planKeys(context, [connection]);
  expect(plan.document.items.length).toBe(answers.length);
  await applyPlan(context, {
    planId: plan.id,
    items: plan.document.items,
    approver: { via: 'command line', approvedBy: 'ada' },
    connections: [connection],
  });
  for (let passes = 0; passes < 3; passes += 1) {
    await company.pass(3_600_000);
    await syncKeys(context, await company.connect());
  }
  expect(await findFaults(company, store)).toEqual([]);
  const outcomes = await store.sql<{ name: string; outcome: string | null }[]>`
    select distinct on (k.number) k.name, o.outcome from keywarden.revocation_intent i join keywarden.key k on k.number = i.key_number
      left join keywarden.revocation_outcome o on o.intent_number = i.number order by k.number, i.number desc`;
  const isRevoked = (name: string) => plane.truth.keys.some((key) => key.name === name && key.revokedAt !== null);
  const told = outcomes.map(({ name, outcome }) => [name, ['revoked', 'gone'].includes(String(outcome))]);
  expect(told).toEqual(outcomes.map(({ name }) => [name, isRevoked(name)]));
  // An unclear call may still arrive: its key counts as not revoked five minutes later, by the clock of the database.
  const open = outcomes.filter(({ outcome }) => outcome === null).map(({ name }) => name);
  expect(new Set(open)).toEqual(new Set(['redirect', 'html 520']));
  expect(outcomes.length).toBe(answers.length);
});

test('a service whose servers have clocks that differ by a second gets the same revocations from one apply', async () => {
  company = await makeCompany(store, { policy });
  const { plane, context } = company;
  const random = numbersFrom(11);
  plane.offMs = () => (random() < 0.5 ? 0 : -1000);
  const names = Array.from({ length: 12 }, (_, index) => `key ${index}`);
  addKeys(company, { 'in use': [200, 1] });
  addKeys(company, Object.fromEntries(names.map((name): [string, KeySketch] => [name, [200, null]])));
  const connection = await company.connect();
  await syncKeys(context, connection);
  const plan = await planKeys(context, [connection]);
  const applied = await applyPlan(context, {
    planId: plan.id,
    items: plan.document.items,
    approver: { via: 'command line', approvedBy: 'ada' },
    connections: [connection],
  });
  expect(applied.items.map(({ why }) => why)).toEqual(names.map(() => null));
});
