import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readNow, type Store } from '../../store.ts';
import { saveKeyListing } from '../listings/save.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

/** Returns the listings that count as evidence after these, one an hour, of a scope of its own. */
async function evidenceAfter(name: string, listings: ('trusted' | 'suspect')[]) {
  const scope = `organization:${name}`;
  const at = (hour: number) => `2026-06-01T0${hour}:00:00Z`;
  for (const [index, state] of listings.entries())
    await saveKeyListing(daemon.sql, {
      controlPlane,
      scope,
      organizationId: name,
      connection: 'main',
      run: null,
      listedAt: at(index + 1),
      begunAt: await readNow(daemon.sql),
      unreadable: state === 'suspect' ? 1 : 0,
      keys: [makeWireKey('1')],
    });
  const { scopes } = await readFactsAt(daemon, at(listings.length));
  const { listedAt, priorListedAt, hourPriorListedAt } =
    scopes.find((each) => each.scope === `${controlPlane}/${scope}`) ?? {};
  return { listedAt, priorListedAt, hourPriorListedAt };
}

test('R1: a trusted listing before a suspect one is not in a row with the last one', async () => {
  expect(await evidenceAfter('in-a-row', ['trusted', 'trusted'])).toEqual({
    listedAt: '2026-06-01T02:00:00Z',
    priorListedAt: '2026-06-01T01:00:00Z',
    hourPriorListedAt: '2026-06-01T01:00:00Z',
  });
  expect(await evidenceAfter('interrupted', ['trusted', 'suspect', 'trusted'])).toEqual({
    listedAt: '2026-06-01T03:00:00Z',
    priorListedAt: null,
    hourPriorListedAt: null,
  });
});
