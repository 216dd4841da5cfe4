import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { assignOwners, saveKeyListing } from '../daemon.ts';
import { readPage } from '../list.ts';
import type { Store } from '../store.ts';
import { readLineages, readOwners } from './facts/of-keys.ts';
import { listInventoryGaps } from './inventory/gaps.ts';
import { keyList } from './list.ts';

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

const day = (number: number, hour = 0) =>
  `2026-03-${String(number).padStart(2, '0')}T${String(hour).padStart(2, '0')}:00:00Z`;

/** Saves a listing of an organization at a time, with these keys. */
async function list(organizationId: string, at: string, keys: ReturnType<typeof makeWireKey>[]): Promise<void> {
  const scope = `organization:${organizationId}`;
  const listing = { controlPlane, scope, organizationId, connection: 'main', run: null };
  await saveKeyListing(daemon.sql, { ...listing, listedAt: at, begunAt: at, keys });
}

interface Shown {
  id: string;
  name: string;
  state: string;
  use: string;
  last_used_at: string | null;
  last_seen_at: string | null;
  owner: string;
}

/** Lists the keys of an organization at a time: id, name and state. */
async function keysAt(organizationId: string, asOf?: string): Promise<Shown[]> {
  const asked = { organizationId, ...(asOf === undefined ? {} : { asOf }) };
  const { items } = await readPage(report.db, keyList(asked, { organizations: null }), { limit: 100, after: null });
  return items.map((item) => JSON.parse(item) as Shown);
}

const statesAt = async (organizationId: string, asOf: string) =>
  (await keysAt(organizationId, asOf)).map(({ id, name, state }) => `${id} ${name} ${state}`);

test('as of a past time, the list shows the names and states of that time, and no key that came later', async () => {
  const old = (change = {}) => makeWireKey('1', { name: 'old', createdAt: day(1), ...change });
  const other = makeWireKey('2', { name: 'other', createdAt: day(1) });
  await list('past', day(3), [old(), other]);
  await list('past', day(5), [old({ name: 'renamed', lastUsedAt: day(4), lastUsedFromAddr: '192.0.2.1' }), other]);
  await list('past', day(7), [other, makeWireKey('3', { name: 'young', createdAt: day(6) })]);
  await list('past', day(9), [other, makeWireKey('3', { name: 'young', createdAt: day(6) })]);
  expect(await statesAt('past', '2026-02-28T00:00:00Z')).toEqual([]);
  expect(await statesAt('past', day(2))).toEqual(['1 old active', '2 other active']);
  expect(await statesAt('past', day(4))).toEqual(['1 old active', '2 other active']);
  expect(await statesAt('past', day(5))).toEqual(['1 renamed active', '2 other active']);
  // Shown on the 5th and absent on the 7th: the time at which it went is unknown.
  expect(await statesAt('past', day(6))).toEqual(['1 renamed unknown', '2 other active', '3 young active']);
  expect(await statesAt('past', day(8))).toEqual(['1 renamed missing', '2 other active', '3 young active']);
  expect((await keysAt('past', day(9)))[0]).toMatchObject({ last_seen_at: day(5) });
  expect(await statesAt('past', day(9))).toEqual(['1 renamed gone', '2 other active', '3 young active']);
  const [first, , , last] = [
    await keysAt('past', day(3)),
    await keysAt('past', day(4)),
    await keysAt('past', day(6)),
    await keysAt('past', day(8)),
  ].map(([key]) => key);
  expect(first).toMatchObject({ use: 'never', last_used_at: null, last_seen_at: day(3) });
  // No listing shows the key after the 5th, so a later use is possible.
  expect(last).toMatchObject({ use: 'unknown', last_used_at: day(4), last_seen_at: day(5) });
});

test('the use of a key before its first listing is unknown, and never where the first listing shows none', async () => {
  const made = { createdAt: day(1) };
  await list('before', day(20), [
    makeWireKey('50', { ...made, lastUsedAt: day(19), lastUsedFromAddr: '192.0.2.1' }),
    makeWireKey('51', made),
    makeWireKey('52', { ...made, lastUsedAt: day(3), lastUsedFromAddr: '192.0.2.1' }),
  ]);
  const usesAt = async (at: string) =>
    (await keysAt('before', at)).map(({ id, use, last_used_at: last }) => [id, use, last]);
  expect(await usesAt(day(10))).toEqual([
    ['50', 'unknown', null],
    ['51', 'never', null],
    ['52', 'used', day(3)],
  ]);
  expect(await usesAt(day(20))).toEqual([
    ['50', 'used', day(19)],
    ['51', 'never', null],
    ['52', 'used', day(3)],
  ]);
  // Two days after the last listing, any of them may have been used.
  expect((await usesAt(day(22))).map(([, use]) => use)).toEqual(['unknown', 'unknown', 'unknown']);
});

test('a later use in the same hour does not hide a use before the requested time', async () => {
  const used = (at: string) => makeWireKey('40', { createdAt: day(1), lastUsedAt: at, lastUsedFromAddr: '192.0.2.1' });
  await list('hour', '2026-03-03T00:30:00Z', [used('2026-03-03T00:10:00Z')]);
  await list('hour', '2026-03-03T01:30:00Z', [used('2026-03-03T00:50:00Z')]);
  const lastUse = async (at: string) => (await keysAt('hour', at))[0]?.last_used_at;
  expect(await lastUse('2026-03-03T00:05:00Z')).toBeNull();
  expect(await lastUse('2026-03-03T00:20:00Z')).toBe('2026-03-03T00:10:00Z');
  expect(await lastUse('2026-03-03T00:55:00Z')).toBe('2026-03-03T00:50:00Z');
});

test('a key that one listing lacks and the next one shows was missing in between, and exists again', async () => {
  const key = makeWireKey('10', { createdAt: day(1) });
  const stays = makeWireKey('11', { createdAt: day(1) });
  for (const [at, keys] of [
    [day(3), [key, stays]],
    [day(4), [stays]],
    [day(5), [key, stays]],
  ] as const)
    await list('blink', at, [...keys]);
  const stateOf = async (at: string) => (await keysAt('blink', at)).find(({ id }) => id === '10')?.state;
  expect([
    await stateOf(day(3)),
    await stateOf(day(4)),
    await stateOf(day(4, 12)),
    await stateOf(day(5)),
    await stateOf(day(5, 23)),
    // No listing shows what happened after a day.
    await stateOf(day(9)),
  ]).toEqual(['active', 'missing', 'missing', 'active', 'active', 'unknown']);
});

test('where no listing was within a day, the inventory has a gap at that time', async () => {
  await list('holes', day(3), [makeWireKey('20')]);
  await list('holes', day(3, 12), [makeWireKey('20')]);
  await list('holes', day(8), [makeWireKey('20')]);
  const gapsAt = async (at: string) =>
    (await listInventoryGaps(report.db, { from: at, to: at, organizations: ['holes'] })).map(({ from, to }) => [
      from,
      to,
    ]);
  expect(await gapsAt(day(1))).toEqual([[null, day(3)]]);
  expect(await gapsAt(day(3, 6))).toEqual([]);
  expect(await gapsAt(day(5))).toEqual([[day(3, 12), day(8)]]);
  expect(await gapsAt(day(8, 12))).toEqual([]);
  expect(await gapsAt(day(20))).toEqual([[day(8), null]]);
});

test('the owner shown in a list is the one that the policy judges', async () => {
  await list('owned', day(3), [
    makeWireKey('30'),
    makeWireKey('31'),
    makeWireKey('32', { createdBy: { id: 'bob', name: 'Bob' } }),
  ]);
  await store.sql`
    insert into keywarden.organization (control_plane_number, id, name, created_at, first_seen_at, last_seen_at)
    values (${controlPlane}, 'owned', 'owned', now(), now(), now())`;
  await store.sql`
    insert into keywarden.member (control_plane_number, organization_id, user_id, member_id, email, role, first_seen_at, last_seen_at)
    values (${controlPlane}, 'owned', 'bob', 'm', 'bob@company.example', 'member', now(), now())`;
  const numberOf = new Map(
    (await store.sql`select id, number from keywarden.key`).map((row) => [String(row.id), String(row.number)]),
  );
  const assign = async (id: string, owner: string | null) =>
    await assignOwners(daemon.sql, {
      assignments: [{ key: numberOf.get(id) ?? '', owner }],
      source: 'assignment',
      by: 'ada',
    });
  await assign('30', 'grace');
  await assign('31', 'grace');
  await assign('31', null);
  // A successor of key 30 belongs to its lineage, and so does its owner.
  await store.sql`
    insert into keywarden.rotation (id, key_number, lineage_number, sink, quiet_for, adopt_within, via, requested_by, policy_sha256)
    select 'abcd2345', number, number, 's', '7 days', '7 days', 'command line', 'ada', 'x' from keywarden.key where id = '30'`;
  await list('owned', day(4), [
    makeWireKey('30'),
    makeWireKey('31'),
    makeWireKey('32', { createdBy: { id: 'bob', name: 'Bob' } }),
    makeWireKey('33', { createdBy: { id: 'eve', name: 'Eve' } }),
    makeWireKey('34', { createdBy: { id: 'eve', name: 'Eve' } }),
    makeWireKey('35', { createdBy: { id: 'eve', name: 'Eve' } }),
  ]);
  await store.sql`
    insert into keywarden.rotation_mint (rotation_number, attempt, name, connection, creator_id, last_listing_number, key_id, outcome)
    select (select max(number) from keywarden.rotation), 1, 'n', 'main', 'eve', (select max(number) from keywarden.key_listing), '33', 'delivered'`;
  // A key that was rotated stays in its lineage, also if no mint matches its record any more.
  await store.sql`
    insert into keywarden.rotation (id, key_number, lineage_number, sink, quiet_for, adopt_within, via, requested_by, policy_sha256, ended_at)
    select 'efgh' || k.id || '45', k.number, f.number, 's', '7 days', '7 days', 'command line', 'ada', 'x', now()
    from (values ('34', '30'), ('35', '32')) v(id, first) join keywarden.key k on k.id = v.id join keywarden.key f on f.id = v.first`;
  await store.sql`
    insert into keywarden.key_owner (key_number, owner, assigned_by, source) select number, 'heidi', 'ada', 'assignment' from keywarden.key where id = '35'`;
  const ownerOf = await readOwners(daemon.db, await readLineages(daemon.sql, undefined));
  const rows = await store.sql`select id, number, control_plane_number, creator_id from keywarden.key`;
  const judged = new Map(
    rows.map((row) => [
      String(row.id),
      ownerOf({
        number: String(row.number),
        controlPlaneNumber: String(row.control_plane_number),
        creatorId: String(row.creator_id),
      }),
    ]),
  );
  const shown = await keysAt('owned');
  expect(shown.map(({ id, owner }) => [id, owner])).toEqual([
    ['30', 'grace'],
    ['31', 'ada'],
    ['32', 'heidi'],
    ['33', 'grace'],
    ['34', 'grace'],
    ['35', 'heidi'],
  ]);
  for (const { id, owner } of shown) expect(owner).toBe(judged.get(id));
});

test('the owner of a key has the address of the organization that the creator is still in', async () => {
  const elsewhere = await makeControlPlane(daemon.sql, { name: 'elsewhere', baseUrl: 'sandbox elsewhere' });
  for (const [organization, email, seen, left, of = controlPlane] of [
    ['left', 'dan@former.example', day(15), day(20)],
    ['stayed', 'dan@company.example', day(10), null],
    ['older', 'dan@a.example', day(9), null],
    ['foreign', 'dan@elsewhere.example', day(15), null, elsewhere],
  ] as const) {
    await store.sql`
      insert into keywarden.organization (control_plane_number, id, name, created_at, first_seen_at, last_seen_at)
      values (${of}, ${organization}, ${organization}, now(), now(), now())`;
    await store.sql`
      insert into keywarden.member (control_plane_number, organization_id, user_id, member_id, email, role, first_seen_at, last_seen_at, left_at)
      values (${of}, ${organization}, 'dan', 'm', ${email}, 'member', ${day(1)}, ${seen}, ${left})`;
  }
  const listed = [makeWireKey('60', { createdBy: { id: 'dan', name: 'Dan' } })];
  await list('stayed', day(21), listed);
  await list('stayed', day(22), listed);
  expect((await keysAt('stayed')).map(({ owner }) => owner)).toEqual(['dan@company.example']);
});
