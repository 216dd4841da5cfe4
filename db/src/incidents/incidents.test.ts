import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../keys/listings/save.ts';
import {
  closeIncidents,
  hasOpenIncident,
  openIncident,
  openIncidentOfKey,
  openLedgerIncident,
  readIncidentOfKey,
} from './incidents.ts';

let store: TestStore;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterEach(async () => await store.close());

const incidents = async () => [
  ...(await store.sql`select scope, detail, closed_by, note from keywarden.incident order by number`),
];
const breaker = (scope: string, flagged: number) => ({ kind: 'breaker', scope, detail: { flagged } }) as const;

test('an incident of a scope is open once, and opens again after it was closed', async () => {
  for (const flagged of [1, 2]) await openIncident(store.db, breaker('1/a', flagged));
  await openIncident(store.db, breaker('1/b', 3));
  expect((await incidents()).map(({ detail }) => detail as object)).toEqual([{ flagged: 1 }, { flagged: 3 }]);
  expect(await closeIncidents(store.db, { kind: 'breaker', scopes: ['1/a', '1/c'] }, { note: 'shut' })).toBe(true);
  expect(await hasOpenIncident(store.db, 'breaker')).toBe(true);
  await openIncident(store.db, breaker('1/a', 4));
  // The next pass closes the others, and changes nothing about those that are closed.
  expect(await closeIncidents(store.db, { kind: 'breaker' }, { by: 'ada' })).toBe(true);
  expect((await incidents()).map(({ closed_by: by, note }) => [by, note])).toEqual([
    ['keywarden', 'shut'],
    ['ada', null],
    ['ada', null],
  ]);
  expect(await closeIncidents(store.db, { number: '1' }, { by: 'grace' })).toBe(false);
  expect(await hasOpenIncident(store.db, 'breaker')).toBe(false);
});

test('the incident of the ledger has each reason once, the newest first, and as much as it holds', async () => {
  for (const why of ['a root differs', 'a tile is missing', 'a root differs', 'a tile'])
    await openLedgerIncident(store.db, why);
  const whys = async () => (await incidents()).map(({ detail }) => (detail as { why: string }).why);
  expect(await whys()).toEqual(['a tile is missing; a root differs']);
  await openLedgerIncident(store.db, 'x'.repeat(1990));
  expect(await whys()).toEqual([`${'x'.repeat(1990)}; a tile i`]);
});

test('an incident of a key has its newest detail, and one that Keywarden closed itself is no decision of a person', async () => {
  const controlPlane = await makeControlPlane(store.sql);
  const at = '2026-06-01T00:00:00Z';
  const place = { controlPlane, scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  await saveKeyListing(store.sql, { ...place, listedAt: at, begunAt: at, keys: [makeWireKey('1'), makeWireKey('2')] });
  const rows = await store.sql`select number from keywarden.key order by id`;
  const [key = '', other = ''] = rows.map(({ number }) => String(number));
  const open = async (why: string) =>
    await openIncidentOfKey(store.db, { kind: 'orphan', key, scope: '1/a', detail: { rotation: 'abcdefgh', why } });
  const read = async (of = key) => await readIncidentOfKey(store.db, { kind: 'orphan', key: of });
  for (const why of ['it was used', 'its sink has it']) await open(why);
  expect(await read()).toEqual({ isOpen: true, why: 'its sink has it' });
  expect(await read(other)).toBeUndefined();
  expect(await closeIncidents(store.db, { kind: 'orphan', key: other })).toBe(false);
  await closeIncidents(store.db, { kind: 'orphan', key });
  expect(await read()).toBeUndefined();
  await open('it was used again');
  await closeIncidents(store.db, { kind: 'orphan', key }, { by: 'ada' });
  expect(await read()).toEqual({ isOpen: false, why: 'it was used again' });
  await open('another account created it');
  expect(await read()).toEqual({ isOpen: true, why: 'another account created it' });
});
