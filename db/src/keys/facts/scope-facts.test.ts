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

test('R1: of any listings, a scope has the last trusted one and those in a row before it that had ended when it began', async () => {
  const other = await makeControlPlane(daemon.sql, { name: 'other', baseUrl: 'sandbox other' });
  const at = (minute: number) => new Date(Date.UTC(2026, 6, 1, 0, minute)).toISOString().replace('.000', '');
  // Listings without a pattern: a few of each scope are suspect, and some end after a later one has begun.
  const listings = Array.from({ length: 240 }, (_, index) => ({
    plane: index % 5 < 3 ? controlPlane : other,
    scope: `organization:any-${(index * index * 31 + index) % 7}`,
    minute: index * 11,
    ended: index * 11 + ((index * 17) % 90),
    isSuspect: (index * 13) % 9 === 0,
  }));
  for (const { plane, scope, minute, ended, isSuspect } of listings) {
    const connection = plane === other ? 'other' : 'main';
    await store.sql`
      insert into keywarden.key_listing (control_plane_number, scope, connection, listed_at, begun_at, received_at, key_count, why_suspect)
      values (${plane}, ${scope}, ${connection}, ${at(minute)}, ${at(minute)}, ${at(ended)}, 0, ${isSuspect ? 'short' : null})`;
    await store.sql`
      insert into keywarden.connection_scope values (${connection}, ${plane}, ${scope}, ${at(minute)}) on conflict do nothing`;
  }
  const ofScopes = Map.groupBy(listings, ({ plane, scope }) => `${plane}/${scope}`);
  const expected = [...ofScopes].flatMap(([scope, all]) => {
    const end = all.findLastIndex(({ isSuspect }) => !isSuspect);
    const last = all[end];
    if (last === undefined) return [];
    const inARow = all.slice(all.slice(0, end).findLastIndex(({ isSuspect }) => isSuspect) + 1, end);
    const had = inARow.filter(({ ended }) => ended <= last.minute);
    const hourBefore = had.findLast(({ minute }) => minute <= last.minute - 60);
    return [[scope, ...[last, had.at(-1), hourBefore].map((each) => each && at(each.minute))].join(' ')];
  });
  expect(expected.length).toBeGreaterThan(7);
  const { scopes } = await readFactsAt(daemon, at(0));
  const found = scopes.filter(({ scope }) => scope.includes('/organization:any-'));
  const times = found.map((of) => [of.scope, of.listedAt, of.priorListedAt, of.hourPriorListedAt].join(' '));
  expect(times.toSorted()).toEqual(expected.toSorted());
});

test('the keys that a scope lacks, and those that were gone in the last day before its listing, are counted', async () => {
  const save = async (name: string) =>
    await saveKeyListing(daemon.sql, {
      controlPlane,
      scope: `organization:${name}`,
      organizationId: name,
      connection: 'main',
      run: null,
      listedAt: '2026-06-10T00:00:00Z',
      begunAt: await readNow(daemon.sql),
      keys: ['1', '2', '3', '4'].map((id) => makeWireKey(`${name}-${id}`)),
    });
  for (const name of ['full', 'lacking']) await save(name);
  await store.sql`
    update keywarden.credential set missing_since = '2026-06-01', gone_at = case id
      when 'lacking-2' then '2026-06-09T01:00:00Z'::timestamptz when 'lacking-3' then '2026-06-08T23:00:00Z' end
    where id in ('lacking-1', 'lacking-2', 'lacking-3')`;
  const { scopes } = await readFactsAt(daemon, '2026-06-10T00:00:00Z');
  const counts = (name: string) => {
    const { missing, goneLately } = scopes.find(({ scope }) => scope === `${controlPlane}/organization:${name}`) ?? {};
    return { missing, goneLately };
  };
  expect(counts('full')).toEqual({ missing: 0, goneLately: 0 });
  expect(counts('lacking')).toEqual({ missing: 1, goneLately: 1 });
});
