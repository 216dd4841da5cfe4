import { unknownCreator, type WireKey } from '@keywarden/core/wire';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readNow, type Store } from '../../store.ts';
import { saveKeyListing } from './save.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
let listings = 0;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

const save = async (place: { scope: string; organizationId: string | null }, keys: WireKey[], hour = 0) =>
  await saveKeyListing(daemon.sql, {
    ...place,
    controlPlane,
    connection: 'main',
    run: null,
    listedAt: `2026-06-01T0${hour}:00:00Z`,
    begunAt: await readNow(daemon.sql),
    keys,
  });

/** Saves a listing of a scope of its own that shows key 1, and then key 1 with these changes. Returns why it is suspect. */
async function listTwice(...changes: Partial<WireKey>[]): Promise<string | null> {
  listings += 1;
  const organizationId = `org-${listings}`;
  const keys = [{}, ...changes].map((change) => makeWireKey('1', change));
  return (await save({ scope: `organization:${organizationId}`, organizationId }, keys)).whySuspect;
}

const bob = { id: 'bob', name: 'Bob' };
const unnamed = { createdBy: { id: unknownCreator, name: null } };

test.each([
  ['another creation time', { createdAt: '2026-04-01T00:00:00Z' }],
  ['another creator', { createdBy: bob }],
  ['another kind', { projectId: 'quiet-river' }],
])(
  'R1: a listing that shows an id a second time with %s is suspect: only one of the records is of that key',
  async (_name, other) => {
    expect(await listTwice(other)).toBe('it shows key 1 twice, as different keys');
    expect(await listTwice({}, unnamed, other)).not.toBeNull();
  },
);

test('a listing that shows one key twice, with other names, uses and digits, is trusted', async () => {
  const offset = { createdAt: '2026-01-01T02:00:00.25+02:00' };
  expect(await listTwice({ name: 'renamed' }, unnamed, offset, { lastUsedAt: '2026-05-01T00:00:00Z' })).toBeNull();
});

test.each([
  { scope: 'user:ada', organizationId: null },
  { scope: 'organization:lone', organizationId: 'lone' },
])(
  'R1: in $scope, an id with another creator opens an incident, and is present only since it is back',
  async (place) => {
    const shown = [makeWireKey('1'), makeWireKey('1', { createdBy: bob }), makeWireKey('1')];
    for (const [hour, key] of shown.entries()) await save(place, [key], hour);
    const [back] = await store.sql`
    select (select min(kind) from keywarden.incident where scope = ${`${controlPlane}/${place.scope}`}) as incident,
      present_since from keywarden.key where scope = ${place.scope} and superseded_at is null`;
    expect(back).toEqual({ incident: 'key_changed', present_since: '2026-06-01 02:00:00+00' });
  },
);

test('R1: an id is an earlier key again only with the same kind, creator and creation time, and each key ends once', async () => {
  const place = { scope: 'organization:again', organizationId: 'again' };
  const ofBob = { createdBy: bob };
  const ofProject = { ...ofBob, projectId: 'quiet-river' };
  const later = { ...ofBob, createdAt: '2026-03-01T00:00:00Z' };
  for (const [hour, change] of [{}, ofBob, {}, ofProject, later, ofBob].entries())
    await save(place, [makeWireKey('1', change)], hour);
  const ended = await store.sql`
    select extract(hour from superseded_at at time zone 'UTC')::int as hour from keywarden.key where scope = ${place.scope} order by number`;
  expect(ended.map(({ hour }) => hour as number | null)).toEqual([3, null, 4, 5]);
});

test('R1: an id that two scopes show is another key in each', async () => {
  for (const organizationId of ['one', 'two'])
    await save({ scope: `organization:${organizationId}`, organizationId }, [
      makeWireKey('1', { createdBy: { id: organizationId, name: null } }),
    ]);
  const live = await store.sql`
    select creator_id from keywarden.key where scope in ('organization:one', 'organization:two') and superseded_at is null order by number`;
  expect(live.map((row) => String(row.creator_id))).toEqual(['one', 'two']);
});
