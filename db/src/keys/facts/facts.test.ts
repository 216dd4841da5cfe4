import { unknownCreator, type WireMember } from '@keywarden/core/wire';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveMembers, saveOrganizations } from '../../organizations/organizations.ts';
import type { Store } from '../../store.ts';
import { saveKeyListing } from '../listings/save.ts';
import { readHistory } from './history.ts';
import { readFacts } from './read.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
  const acme = { id: 'acme', name: 'Acme', createdAt: '2026-01-01T00:00:00Z', extra: null };
  await saveOrganizations(daemon.sql, { controlPlane, seenAt: hour(0) }, [acme]);
  const keys = ['ada', 'bela', 'carl'].map((id, index) =>
    makeWireKey(String(index + 1), { createdBy: { id, name: id } }),
  );
  await saveKeyListing(daemon.sql, {
    controlPlane,
    scope: 'organization:acme',
    organizationId: 'acme',
    connection: 'main',
    run: null,
    listedAt: hour(0),
    begunAt: hour(0),
    keys,
  });
});
afterAll(async () => await store.close());

const hour = (number: number) => `2026-06-01T0${number}:00:00Z`;
const memberOf = (userId: string): WireMember => ({
  id: userId,
  userId,
  role: 'member',
  joinedAt: null,
  email: `${userId}@acme.example`,
});

/** Returns the states of the creators of keys 1 to 3 after a listing of these members. */
async function creatorsAfter(at: string, members: string[]) {
  await saveMembers(daemon.sql, { controlPlane, seenAt: at, organizationId: 'acme' }, members.map(memberOf));
  const { keys } = await readFacts(daemon, {
    ourNowMs: Date.now(),
    nowMs: () => Date.parse(at),
    maxEvidenceAgeMs: Number.POSITIVE_INFINITY,
    policySha256: '',
    channels: [],
    addressesSinceMs: null,
    needsProjects: false,
    otherKinds: [],
    configured: [],
  });
  return keys.map(({ creator }) => creator);
}

test('a creator who was never listed is unknown for a key that is younger than the listings', async () => {
  await creatorsAfter(hour(1), ['ada', 'bela']);
  await creatorsAfter(hour(2), ['ada', 'bela']);
  await store.sql`update keywarden.key set created_at = '2026-06-01T01:30:00Z' where creator_id = 'carl'`;
  expect((await readFactsAt(daemon, hour(2))).keys.map(({ creator }) => creator)).toEqual([
    'member',
    'member',
    'unknown',
  ]);
  await store.sql`update keywarden.key set created_at = ${hour(3)} where creator_id = 'carl'`;
  expect((await creatorsAfter(hour(2), ['ada', 'bela']))[2]).toBe('unknown');
  await store.sql`update keywarden.key set created_at = '2026-01-01' where creator_id = 'carl'`;
  expect((await creatorsAfter(hour(2), ['ada', 'bela']))[2]).toBe('left');
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
});

test('A7: when most members are suddenly absent, none counts as having left until a day has passed', async () => {
  const many = ['ada', 'bela', 'carl', 'dora', 'emil', 'fay'];
  await creatorsAfter(hour(1), many);
  await creatorsAfter(hour(2), ['fay']);
  expect(await creatorsAfter(hour(3), ['fay'])).toEqual(['unknown', 'unknown', 'unknown']);
  expect(await creatorsAfter('2026-06-02T03:00:00Z', ['fay'])).toEqual(['left', 'left', 'left']);
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
});

test('A7: lists that show others in the place of the members do not prove for a day that they have left', async () => {
  const others = Array.from({ length: 6 }, (_, index) => `other-${index}`);
  await creatorsAfter(hour(1), ['ada', 'bela', 'carl', 'dora', 'emil', 'fay']);
  for (const at of [2, 3, 4, 5])
    expect(await creatorsAfter(hour(at), others)).toEqual(['unknown', 'unknown', 'unknown']);
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
});

test('a creator has left when two complete listings of the members in a row lack them, and not before', async () => {
  // Carl had left before the first listing. One listing does not prove that, but two do.
  expect(await creatorsAfter(hour(1), ['ada', 'bela'])).toEqual(['member', 'member', 'unknown']);
  expect(await creatorsAfter(hour(2), ['ada'])).toEqual(['member', 'unknown', 'left']);
  expect(await creatorsAfter(hour(3), [])).toEqual(['member', 'unknown', 'left']);
  expect(await creatorsAfter(hour(4), ['ada'])).toEqual(['member', 'left', 'left']);
  expect(await creatorsAfter(hour(5), ['ada', 'bela'])).toEqual(['member', 'member', 'left']);
});

test('A7: a trusted listing after one that was suddenly short is the first without a member, not the second', async () => {
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
  const many = ['ada', 'bela', 'carl', ...Array.from({ length: 17 }, (_, index) => `user-${index}`)];
  for (const at of [1, 2]) await creatorsAfter(hour(at), many);
  await creatorsAfter(hour(3), many.slice(17));
  expect(await creatorsAfter(hour(4), many.slice(8))).toEqual(['unknown', 'unknown', 'unknown']);
  expect(await creatorsAfter(hour(5), many.slice(8))).toEqual(['left', 'left', 'left']);
});

test('R1: whether a creator has left is unknown if no list names a creator', async () => {
  await store.sql`update keywarden.key set creator_id = ${unknownCreator} where creator_id = 'carl'`;
  for (const at of [1, 2, 3]) expect((await creatorsAfter(hour(at), ['ada', 'bela']))[2]).toBe('unknown');
  await store.sql`update keywarden.key set creator_id = 'carl' where creator_id = ${unknownCreator}`;
});

test('A7: lists that are suddenly short do not prove that a never-listed creator has left', async () => {
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
  const many = Array.from({ length: 10 }, (_, index) => `user-${index}`);
  for (const at of [1, 2]) await creatorsAfter(hour(at), many);
  await store.sql`update keywarden.key set created_at = ${hour(3)} where creator_id = 'carl'`;
  for (const at of [4, 5]) expect((await creatorsAfter(hour(at), many.slice(0, 2 * (6 - at))))[2]).toBe('unknown');
  for (const at of [6, 7]) await creatorsAfter(hour(at), many);
  expect((await creatorsAfter(hour(8), many))[2]).toBe('left');
  await store.sql`update keywarden.key set created_at = '2026-01-01' where creator_id = 'carl'`;
});

test('A7: a list of members that is empty or suddenly much shorter is marked as proving no absence', async () => {
  const organization = { id: 'cut off', name: 'cut off', createdAt: '2026-01-01T00:00:00Z', extra: null };
  await saveOrganizations(daemon.sql, { controlPlane, seenAt: '2026-06-01T00:00:00Z' }, [organization]);
  const save = async (at: string, count: number) =>
    await saveMembers(
      daemon.sql,
      { controlPlane, seenAt: at, organizationId: 'cut off' },
      Array.from({ length: count }, (_, index) => memberOf(`user-${index}`)),
    );
  expect(await save('2026-06-01T00:00:00Z', 120)).toEqual({ isSudden: false });
  expect(await save('2026-06-01T01:00:00Z', 100)).toEqual({ isSudden: true });
  expect(await save('2026-06-01T02:00:00Z', 0)).toEqual({ isSudden: true });
  expect(await save('2026-06-01T03:00:00Z', 119)).toEqual({ isSudden: false });
});

test('R1: whether a creator has left is unknown once the last listing of the members is older than evidence may be', async () => {
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
  for (const at of [1, 2, 3]) await creatorsAfter(hour(at), ['ada']);
  const creatorsAt = async (at: string) =>
    (await readFactsAt(daemon, at, { maxEvidenceAgeMs: 3_600_000 })).keys.map(({ creator }) => creator);
  expect(await creatorsAt('2026-06-01T04:00:00Z')).toEqual(['member', 'left', 'left']);
  expect(await creatorsAt('2026-06-01T04:00:01Z')).toEqual(['unknown', 'unknown', 'unknown']);
});

test('R1: members of another organization, or at another control plane, do not show who has left', async () => {
  await store.sql`delete from keywarden.member`;
  await store.sql`delete from keywarden.member_listing`;
  const other = await makeControlPlane(daemon.sql, { name: 'other', baseUrl: 'sandbox other' });
  for (const [plane, id] of [
    [controlPlane, 'beta'],
    [other, 'acme'],
  ] as const) {
    const organization = { id, name: id, createdAt: '2026-01-01T00:00:00Z', extra: null };
    await saveOrganizations(daemon.sql, { controlPlane: plane, seenAt: hour(0) }, [organization]);
    for (const at of [1, 2])
      await saveMembers(daemon.sql, { controlPlane: plane, seenAt: hour(at), organizationId: id }, [memberOf('ada')]);
  }
  const { keys } = await readFactsAt(daemon, hour(2));
  expect(keys.map(({ creator }) => creator)).toEqual(['unknown', 'unknown', 'unknown']);
});

test('a replay does not know the use, the creation and the creator of a key better than the store does', async () => {
  await store.sql`update keywarden.key set created_at = '2025-01-01', use_went_back = true where creator_id = 'carl'`;
  const { keys } = await readHistory(daemon, hour(0));
  const known = keys.map(({ key }) => [key.isCreationUnknown !== true, key.use.state !== 'unknown', key.creator]);
  expect(known).toEqual([
    [true, true, 'unknown'],
    [true, true, 'unknown'],
    [false, false, 'unknown'],
  ]);
});
