import { unknownCreator } from '@keywarden/core/wire';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { readNow, type Store } from '../../store.ts';
import type { KeyListing } from './listing.ts';
import { saveKeyListing } from './save.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
let scope: string;
let hour = 0;
let scopes = 0;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
beforeEach(() => {
  scopes += 1;
  scope = `organization:org-${scopes}`;
  hour = 0;
});
afterAll(async () => await store.close());

/** Saves the next hour's listing. */
async function list(
  ids: string[],
  change: Parameters<typeof makeWireKey>[1] = {},
  hours = 1,
  how: Partial<KeyListing> = {},
) {
  hour += hours;
  const begunAt = await readNow(daemon.sql);
  const listedAt = new Date(Date.UTC(2026, 5, 1, hour)).toISOString();
  return await saveKeyListing(daemon.sql, {
    controlPlane,
    scope,
    organizationId: scope,
    connection: 'main',
    run: null,
    listedAt,
    begunAt,
    keys: ids.map((id) => makeWireKey(id, change)),
    ...how,
  });
}

/** Returns the observations of the scope's keys, oldest first. */
async function events(): Promise<string[]> {
  const rows = await store.sql`
    select k.id, o.event from keywarden.key_observation o join keywarden.key k on k.number = o.key_number
    where k.scope = ${scope} order by o.number`;
  return rows.map((row) => `${row.id} ${row.event}`);
}

async function gone(): Promise<string[]> {
  const rows = await store.sql`select id from keywarden.key where scope = ${scope} and gone_at is not null order by id`;
  return rows.map((row) => String(row.id));
}

test('A7: a key is gone after two listings in a row without it, not after one', async () => {
  await list(['1', '2']);
  await list(['1']);
  expect(await gone()).toEqual([]);
  for (let listings = 0; listings < 2; listings += 1) await list(['1']);
  expect(await gone()).toEqual(['2']);
  expect(await events()).toEqual(['1 first_seen', '2 first_seen', '2 missing', '2 gone']);
});

test('A7: a key that is missing from one listing and shown by the next was never gone', async () => {
  await list(['1', '2']);
  await list(['1']);
  await list(['1', '2']);
  await list(['1']);
  expect(await gone()).toEqual([]);
});

test('a key that comes back after it was gone is back', async () => {
  await list(['1', '2']);
  await list(['1']);
  await list(['1']);
  await list(['1', '2']);
  expect(await gone()).toEqual([]);
  expect((await events()).at(-1)).toBe('2 back');
});

test('A7: a listing that is suddenly empty or much shorter proves no absence until it has stayed so for a day', async () => {
  const all = Array.from({ length: 12 }, (_, index) => String(index + 1));
  await list(all);
  expect((await list([])).whySuspect).toBe('12 of 12 known keys are suddenly absent');
  expect((await list(['1', '2'])).whySuspect).toBe('10 of 12 known keys are suddenly absent');
  expect((await list(['1', '2'])).whySuspect).not.toBeNull();
  expect(await gone()).toEqual([]);
  expect((await list(['1', '2'], {}, 30)).whySuspect).toBeNull();
  await list(['1', '2']);
  expect(await gone()).toHaveLength(10);
});

test.for<[string, Partial<KeyListing>]>([
  ['stale', { stale: 'a cache between answered' }],
  ['incomplete', { partial: 'a project cannot be read' }],
  ['partly unreadable', { unreadable: 1 }],
])('A7: listings that were %s for a day are no evidence of a sudden drop', async ([, how]) => {
  await list(Array.from({ length: 12 }, (_, index) => String(index + 1)));
  expect((await list(['1', '2'], {}, 1, how)).whySuspect).not.toBeNull();
  expect((await list(['1', '2'], {}, 30)).whySuspect).toBe('10 of 12 known keys are suddenly absent');
  await list(['1', '2']);
  expect(await gone()).toEqual([]);
});

test('A7: a listing that shows other keys in the place of the known ones, as that of another scope would, is suspect', async () => {
  const known = Array.from({ length: 8 }, (_, index) => String(index + 1));
  const others = known.map((id) => `9${id}`);
  await list(known);
  expect((await list(others)).whySuspect).toBe('8 of 8 known keys are suddenly absent');
  expect((await list(others)).whySuspect).toBe('8 of 8 known keys are suddenly absent');
  await list(others);
  await list(others);
  expect(await gone()).toEqual([]);
  expect((await list(known)).whySuspect).toBeNull();
});

test('A7: a listing whose keys were created since the last one, because keys live for a day there, is not suspect', async () => {
  const keysOf = (day: number) => Array.from({ length: 10 }, (_, index) => `${day}-${index}`);
  for (const day of [0, 1, 2]) {
    const createdAt = new Date(Date.UTC(2026, 5, 1, day * 24 + 12)).toISOString();
    expect((await list(keysOf(day), { createdAt }, 24)).whySuspect).toBeNull();
  }
  expect(await gone()).toEqual(keysOf(0));
});

test('A7: a drop is suspect again for a day if a listing was trusted since an earlier drop', async () => {
  const all = Array.from({ length: 12 }, (_, index) => String(index + 1));
  await list(all);
  expect((await list(['1', '2'])).whySuspect).not.toBeNull();
  expect((await list(all)).whySuspect).toBeNull();
  expect((await list(['1', '2'], {}, 48)).whySuspect).toBe('10 of 12 known keys are suddenly absent');
});

test('A7: a stale listing brings no key back', async () => {
  await list(['1', '2']);
  for (let listings = 0; listings < 2; listings += 1) await list(['1']);
  await list(['1', '2'], {}, 1, { stale: 'a cache between answered' });
  expect(await gone()).toEqual(['2']);
});

test('R1: a key that one listing lacked is present since the listing that shows it again', async () => {
  for (const ids of [['1', '2'], ['1'], ['1', '2']]) await list(ids);
  const rows = await store.sql`select id, present_since from keywarden.key where scope = ${scope} order by id`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { id: '1', present_since: '2026-06-01 01:00:00+00' },
    { id: '2', present_since: '2026-06-01 03:00:00+00' },
  ]);
});

test('R1: a last use that a later listing no longer shows has moved backwards', async () => {
  await list(['1'], { lastUsedAt: '2026-06-01T00:10:00Z' });
  await list(['1'], { lastUsedAt: null });
  const [key] = await store.sql`select use_went_back, last_used_at from keywarden.key where scope = ${scope}`;
  expect(key).toEqual({ use_went_back: true, last_used_at: '2026-06-01 00:10:00+00' });
});

test('A5: saving the same listing again writes no observation, and a new name writes one', async () => {
  await list(['1']);
  await list(['1']);
  expect(await events()).toEqual(['1 first_seen']);
  await list(['1'], { name: 'renamed' });
  expect(await events()).toEqual(['1 first_seen', '1 changed']);
});

test('ids beyond 2^53 stay distinct', async () => {
  await list(['9007199254740992', '9007199254740993']);
  expect(await events()).toEqual(['9007199254740992 first_seen', '9007199254740993 first_seen']);
});

test('uses are kept by hour and address, and a use that moves backwards is marked and loses no recorded use', async () => {
  await list(['1']);
  await list(['1'], { lastUsedAt: '2026-06-01T01:10:00Z', lastUsedFromAddr: '203.0.113.7' });
  await list(['1'], { lastUsedAt: '2026-06-01T01:50:00.123456Z', lastUsedFromAddr: '203.0.113.7' });
  await list(['1'], { lastUsedAt: '2026-06-01T02:10:00Z', lastUsedFromAddr: '198.51.100.4' });
  const uses = await store.sql`
    select u.address, u.last_used_at from keywarden.key_use u join keywarden.key k on k.number = u.key_number
    where k.scope = ${scope} order by u.hour`;
  expect(uses.map((use) => ({ ...use }))).toEqual([
    { address: '203.0.113.7', last_used_at: '2026-06-01 01:50:00.123456+00' },
    { address: '198.51.100.4', last_used_at: '2026-06-01 02:10:00+00' },
  ]);
  const state = async () =>
    (await store.sql`select use_went_back, last_used_at from keywarden.key where scope = ${scope}`)[0];
  await list(['1'], { lastUsedAt: '2026-06-01T01:00:00Z', lastUsedFromAddr: '203.0.113.7' });
  expect(await state()).toEqual({ use_went_back: true, last_used_at: '2026-06-01 02:10:00+00' });
  await list(['1'], { lastUsedAt: '2026-06-01T05:00:00Z', lastUsedFromAddr: '203.0.113.7' });
  expect(await state()).toMatchObject({ use_went_back: false });
});

test('a last use with fewer digits than before is the same use', async () => {
  await list(['1'], { lastUsedAt: '2026-06-01T01:50:00.123456Z' });
  await list(['1'], { lastUsedAt: '2026-06-01T01:50:00Z' });
  const [key] = await store.sql`select use_went_back, last_used_at from keywarden.key where scope = ${scope}`;
  expect(key).toEqual({ use_went_back: false, last_used_at: '2026-06-01 01:50:00.123456+00' });
});

test('a listing is ignored if it is more than two seconds older than the last one: the clocks of servers differ by less', async () => {
  const { listedAt: last } = await list(['1', '2']);
  const behind = (ms: number) => new Date(Date.parse(last) - ms).toISOString();
  expect((await list(['1'], {}, 0, { listedAt: behind(3000) })).number).toBeNull();
  expect(await events()).toEqual(['1 first_seen', '2 first_seen']);
  const { number, listedAt } = await list(['1'], {}, 0, { listedAt: behind(2000) });
  expect([number === null, Date.parse(listedAt)]).toEqual([false, Date.parse(last)]);
});

test('a list whose pages shifted shows a key twice, and it is stored once', async () => {
  expect((await list(['1', '2', '1'])).keys.map(({ id }) => id)).toEqual(['1', '2']);
  expect(await events()).toEqual(['1 first_seen', '2 first_seen']);
});

test('A7: a shorter list proves no absence if its length is one at which services cut lists off, and any other length does prove it', async () => {
  const ids = Array.from({ length: 190 }, (_, index) => String(index + 1));
  await list(ids);
  for (let listings = 0; listings < 3; listings += 1) expect((await list(ids.slice(0, 100))).whySuspect).not.toBeNull();
  expect(await gone()).toEqual([]);
  await list(ids.slice(0, 151));
  await list(ids.slice(0, 151));
  expect(await gone()).toHaveLength(39);
});

test.each([
  ['as many rows as a full page, one of them repeated', 190, { distinct: 99, repeated: 1 }],
  ['as many keys as a full page, and repeats one', 190, { distinct: 100, repeated: 1 }],
  ['few keys, one of them repeated often', 12, { distinct: 2, repeated: 6 }],
])('A7: a shorter listing proves no absence if it has %s', async (_name, known, { distinct, repeated }) => {
  const ids = Array.from({ length: known }, (_, index) => String(index + 1));
  await list(ids);
  const shown = [...ids.slice(0, distinct), ...Array.from({ length: repeated }, () => '1')];
  expect((await list(shown)).whySuspect).not.toBeNull();
});

test('R1: a key whose list does not name its creator is the same key, gets no creator, and keeps a creator that is already recorded', async () => {
  const creators = async () =>
    await store.sql`select id, creator_id, superseded_at is null as is_live from keywarden.key where scope = ${scope} order by number`;
  const unnamed = { createdBy: { id: unknownCreator, name: null } };
  await list(['1'], unnamed);
  expect(await creators()).toMatchObject([{ creator_id: unknownCreator }]);
  await list(['1']);
  await list(['1'], unnamed);
  expect([...(await creators())]).toEqual([{ id: '1', creator_id: 'ada', is_live: true }]);
  // A list that still names no creator writes nothing new.
  expect(await events()).toEqual(['1 first_seen', '1 changed']);
  const incidents =
    await store.sql`select 1 from keywarden.incident where kind = 'key_changed' and scope = ${`${controlPlane}/${scope}`}`;
  expect(incidents).toHaveLength(0);
});

/** Returns the records of the scope's only id, oldest first. */
const records = async () =>
  (await store.sql`select * from keywarden.key where scope = ${scope} order by number`).map(
    (row) => `${row.kind} of ${row.creator_id}${row.superseded_at === null ? '' : ', superseded'}`,
  );

test('R1: an id with another kind or creator is another key, and only an earlier record of the same kind and creator returns', async () => {
  const by = (id: string) => ({ createdBy: { id, name: id } });
  for (const id of ['ada', 'bob', 'carl']) await list(['1'], by(id));
  await list(['1'], { ...by('carl'), projectId: 'p' });
  await list(['1'], { createdAt: '1970-01-01T00:00:00Z', ...by('carl'), projectId: 'p' });
  expect(await records()).toEqual([
    'organization of ada, superseded',
    'organization of bob, superseded',
    'organization of carl, superseded',
    'project of carl',
  ]);
  await list(['1'], by('bob'));
  expect((await records()).filter((record) => !record.endsWith('superseded'))).toEqual(['organization of bob']);
});

test('R1: of a key that a list shows twice the later use counts, in either order, and an earlier use changes no address', async () => {
  const early = { lastUsedAt: '2026-05-01T00:00:00Z', lastUsedFromAddr: '192.0.2.1' };
  const late = { lastUsedAt: '2026-05-02T00:00:00Z', lastUsedFromAddr: '192.0.2.2' };
  const last = { last_used_at: '2026-05-02 00:00:00+00', last_used_from: '192.0.2.2' };
  const twice = [makeWireKey('1', early), makeWireKey('1', late), makeWireKey('2', late), makeWireKey('2', early)];
  for (const keys of [twice, [makeWireKey('1', early), makeWireKey('2', early)]]) {
    await list([], {}, 1, { keys });
    const used = await store.sql`select last_used_at, last_used_from from keywarden.key where scope = ${scope}`;
    expect(used).toEqual([last, last]);
  }
});

test('a listing stands alone if it is the first, or the first after a suspect one, and a suspect one never does', async () => {
  const how = { partial: 'a project cannot be read' };
  const expected = [true, false, false, false, true, false];
  for (const [index, isAlone] of expected.entries())
    expect(await list(['1'], {}, 1, index === 2 || index === 3 ? how : {})).toMatchObject({ isAlone });
});

test('a process that has lost its lock saves no listing', async () => {
  const lease = { name: 'x', fence: '7', signal: new AbortController().signal };
  await expect(list(['1'], {}, 1, { lease })).rejects.toMatchObject({ code: 'KW005' });
});
