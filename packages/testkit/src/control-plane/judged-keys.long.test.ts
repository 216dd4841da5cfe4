import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { armMachine, rotate, syncKeys } from '@keywarden/daemon';
import { listIncidents, listLiveKeys, listRotations } from '@keywarden/db/daemon';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { parseSinks } from '../daemon/rotate-fixture.ts';
import { changingWeather, numbersFrom } from './control-plane.ts';
import { addKeys, type Company, findFaults, makeCompany } from './fixture.ts';
import type { ApiKey } from './truth.ts';

let store: TestStore;
let company: Company;
let folder: string;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  folder = mkdtempSync(join(tmpdir(), 'keywarden-sinks-'));
});
afterEach(async () => {
  await company.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const policy = policySchema.parse({
  rules: [{ name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } }],
});

/** Returns the live key whose secret the sink of a key has. */
function deliveredFor({ id }: ApiKey): ApiKey | undefined {
  const file = join(folder, `key-${id}`);
  const secret = existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
  return company.plane.truth.keys.find((each) => each.secret === secret && each.revokedAt === null);
}

test('T1, T2: every kind of key is rotated in storms, although an answer to a mint is lost; no other key ends or stays', async () => {
  const sinks = parseSinks([{ name: 'files', kind: 'file', path: join(folder, 'key-{lineage}') }]);
  company = await makeCompany(store, { policy, sinks });
  const { plane, context, acme, ada } = company;
  const { truth } = plane;
  truth.addProject(acme, { id: 'some-project' });
  const { bot, scoped, mine, other } = addKeys(company, {
    bot: [200, 0.5],
    scoped: [200, 0.5, { projectId: 'some-project' }],
    mine: [300, 0.1, { scope: `user:${ada.id}` }],
    other: [10, 0.1],
  });
  const rotated = [bot, scoped, mine];
  const connection = await company.connect();
  await syncKeys(context, connection);
  await armMachine(context, 'ada');
  let mints = 0;
  plane.weather = (method) => (method === 'POST' && (mints += 1) === 1 ? 'lost' : 'calm');
  const keys = (await listLiveKeys(store.db)).filter(({ id }) => rotated.some((each) => each.id === id));
  await rotate(context, [connection], { keys, sink: undefined, by: 'ada' });
  plane.weather = changingWeather(numbersFrom(5), 0.05);
  for (let days = 0; days < 25; days += 1) {
    for (const key of rotated) {
      const successor = deliveredFor(key);
      if (successor !== undefined) truth.use(successor, '192.0.2.1');
    }
    await company.pass(86_400_000);
    const again = await company.connect();
    await syncKeys(context, again);
    await rotate(context, [again]);
  }
  const states = (await listRotations(store.db, 100)).map(({ state, key }) => `${key.name}: ${state}`);
  expect(states.toSorted()).toEqual(['bot: retired', 'mine: retired', 'scoped: retired']);
  const live = new Set(truth.keys.filter(({ revokedAt }) => revokedAt === null));
  expect(live).toEqual(new Set([company.ownKey, other, ...rotated.map(deliveredFor)]));
  // The successor whose secret was lost is gone, too.
  expect(truth.keys.length).toBe(5 + 4);
  expect(await findFaults(company, store)).toEqual([]);
  expect(await listIncidents(store.db, { isOpen: true, limit: 10 })).toEqual([]);
});
