import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing, saveMembers, saveOrganizations } from '../daemon.ts';
import type { Store } from '../store.ts';
import { listBlindSpots } from './list.ts';

let store: TestStore;
let daemon: Store;
let report: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  report = await store.as('keywarden_report');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

const day = (number: number) => `2026-06-${String(number).padStart(2, '0')}T00:00:00Z`;

async function listOrganizations(...ids: string[]): Promise<void> {
  const found = ids.map((id) => ({ id, name: id, createdAt: day(1), extra: null }));
  await saveOrganizations(daemon.sql, { controlPlane, seenAt: day(1) }, found);
}

async function listMembers(organizationId: string, at: string, userIds: string[]): Promise<void> {
  const members = userIds.map((userId) => ({
    id: `m-${userId}`,
    userId,
    role: 'member',
    joinedAt: day(1),
    email: `${userId}@company.example`,
  }));
  await saveMembers(daemon.sql, { controlPlane, seenAt: at, organizationId }, members);
}

async function listKeys(organizationId: string, at: string, change: { stale?: string } = {}): Promise<void> {
  const scope = `organization:${organizationId}`;
  const place = { controlPlane, scope, organizationId, connection: 'main', run: null };
  await saveKeyListing(daemon.sql, { ...place, listedAt: at, begunAt: at, keys: [makeWireKey('1')], ...change });
}

/** Lists the kinds of an organization's blind spots, each with its number of members. */
async function blindSpotsOf(organizationId: string): Promise<string[]> {
  const spots = (await listBlindSpots(report.db, [organizationId])) as { kind: string; members: number | null }[];
  return spots.map(({ kind, members }) => (members === null ? kind : `${kind} ${members}`));
}

test('an organization without a listing of its keys or members is a blind spot, also if all its listings are suspect', async () => {
  await listOrganizations('unseen');
  expect(await blindSpotsOf('unseen')).toEqual(['members_unknown', 'never_listed']);
  await listKeys('unseen', day(2), { stale: 'a cache kept it' });
  expect(await blindSpotsOf('unseen')).toEqual(['members_unknown', 'never_listed']);
  await listKeys('unseen', day(2));
  await listMembers('unseen', day(2), ['ada']);
  expect(await blindSpotsOf('unseen')).toEqual([]);
});

test('the personal keys of each member without a connection are a blind spot until the member has left', async () => {
  await listOrganizations('joined');
  await listKeys('joined', day(2));
  await listMembers('joined', day(2), ['ada', 'bob', 'eve']);
  expect(await blindSpotsOf('joined')).toEqual(['personal_keys 2']);
  await listMembers('joined', day(3), ['ada', 'bob']);
  expect(await blindSpotsOf('joined')).toEqual(['personal_keys 2']);
  await listMembers('joined', day(4), ['ada', 'bob']);
  expect(await blindSpotsOf('joined')).toEqual(['personal_keys 1']);
});

test('a connection that was removed from the configuration sees nothing any more', async () => {
  await listOrganizations('former');
  await listKeys('former', day(4));
  await listMembers('former', day(4), ['carol']);
  await makeControlPlane(daemon.sql, { name: 'second' });
  await store.sql`update keywarden.connection set account_id = 'carol', own_key_id = null where name = 'second'`;
  const unknownKeys = async () =>
    (await listBlindSpots(report.db, null)).filter((spot) => 'kind' in spot && spot.kind === 'own_key_unknown');
  expect(await blindSpotsOf('former')).toEqual([]);
  expect(await unknownKeys()).toMatchObject([{ connection: 'second', since: day(1) }]);
  await store.sql`update keywarden.connection set removed_at = now() where name = 'second'`;
  expect(await blindSpotsOf('former')).toEqual(['personal_keys 1']);
  expect(await unknownKeys()).toEqual([]);
});

test('a scope is a blind spot once its last trusted listing is older than a day by the control plane’s clock', async () => {
  await listOrganizations('old', 'fresh');
  await listKeys('old', day(5));
  await listMembers('old', day(5), ['ada']);
  await listKeys('fresh', '2026-06-05T23:59:00Z');
  expect(await blindSpotsOf('old')).toEqual([]);
  // A suspect listing shows the time, and nothing of the keys.
  await listKeys('old', '2026-06-06T00:01:00Z', { stale: 'a cache kept it' });
  expect(await blindSpotsOf('old')).toEqual(['listing_old']);
  await listKeys('old', '2026-06-06T00:02:00Z');
  expect(await blindSpotsOf('old')).toEqual([]);
});

test('the listings of organizations and users are judged by their own clock, and those of other credentials are not', async () => {
  await store.sql`
    insert into keywarden.key_listing (control_plane_number, scope, connection, listed_at, begun_at, key_count)
    select ${controlPlane}, scope, 'main', ${day(1)}, ${day(1)}, 0 from unnest('{user:bob,role:old/p}'::text[]) scope`;
  await listKeys('fresh', '2026-06-06T00:03:00Z');
  const old = (await listBlindSpots(report.db, null)).filter((spot) => 'kind' in spot && spot.kind === 'listing_old');
  expect(old.filter((spot) => 'scope' in spot && !String(spot.scope).startsWith('organization:'))).toMatchObject([
    { scope: 'user:bob', since: day(1) },
  ]);
});

test('what another control plane or another organization shows is no sight of an organization of the same name', async () => {
  await listOrganizations('shared');
  const spots = async () =>
    (await listBlindSpots(report.db, ['shared'])).filter(
      (spot) => 'control_plane' in spot && spot.control_plane === 'sandbox 1a2b3c4d',
    );
  const other = await makeControlPlane(daemon.sql, { name: 'other', baseUrl: 'https://other.example' });
  await store.sql`update keywarden.connection set account_id = 'eve' where name = 'other'`;
  const scope = 'organization:shared';
  const at = day(20);
  const place = { controlPlane: other, scope, organizationId: 'shared', connection: 'other', run: null };
  await saveKeyListing(daemon.sql, { ...place, listedAt: at, begunAt: at, keys: [makeWireKey('1')] });
  const found = { id: 'shared', name: 'shared', createdAt: day(1), extra: null };
  await saveOrganizations(daemon.sql, { controlPlane: other, seenAt: day(1) }, [found]);
  const zoe = { id: 'm-zoe', userId: 'zoe', role: 'member', joinedAt: day(1), email: 'zoe@company.example' };
  await saveMembers(daemon.sql, { controlPlane: other, seenAt: at, organizationId: 'shared' }, [zoe]);
  expect(await spots()).toMatchObject([{ kind: 'members_unknown' }, { kind: 'never_listed', since: day(1) }]);
  await listMembers('shared', day(6), ['eve']);
  await listKeys('shared', '2026-06-06T00:04:00Z');
  expect(await spots()).toMatchObject([{ kind: 'personal_keys', members: 1 }]);
});
