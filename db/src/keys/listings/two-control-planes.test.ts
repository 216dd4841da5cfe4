import { isOwn } from '@keywarden/core/policy';
import { unknownCreator } from '@keywarden/core/wire';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { listObservers } from '../../connections/connections.ts';
import { beginRevocation, reconcileIntents } from '../../revocations/revocations.ts';
import { readNow, type Store } from '../../store.ts';
import type { FactsRequest } from '../facts/of-scopes.ts';
import { scopeKeyOf } from './listing.ts';
import { saveKeyListing } from './save.ts';

// Two control planes in one store give the same ids to their own organizations and keys.

const scope = 'organization:acme';
let store: TestStore;
let daemon: Store;
let pairs = 0;
let hour: number;
/** The numbers of the two control planes; each test gets two of its own. */
let one: string;
let other: string;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
});
beforeEach(async () => {
  pairs += 1;
  hour = 0;
  const make = async (name: string) =>
    await makeControlPlane(daemon.sql, { name: `${name}-${pairs}`, baseUrl: `sandbox ${name} ${pairs}` });
  one = await make('one');
  other = await make('other');
});
afterAll(async () => await store.close());

const nameOf = (controlPlane: string) => `${controlPlane === one ? 'one' : 'other'}-${pairs}`;
const timeOf = (of: number) => new Date(Date.UTC(2026, 5, 1, of)).toISOString();

/** Saves the next hour's listing of a control plane. */
async function list(
  controlPlane: string,
  ids: string[],
  change: Parameters<typeof makeWireKey>[1] = {},
  of: string = scope,
) {
  hour += 1;
  return await saveKeyListing(daemon.sql, {
    controlPlane,
    scope: of,
    organizationId: of,
    connection: nameOf(controlPlane),
    run: null,
    listedAt: timeOf(hour),
    begunAt: await readNow(daemon.sql),
    keys: ids.map((id) => makeWireKey(id, change)),
  });
}

const rowsOf = async (controlPlane: string) =>
  [
    ...(await store.sql`
      select id, creator_id, missing_since is not null as is_missing, gone_at is not null as is_gone, superseded_at is not null as is_superseded
      from keywarden.key where control_plane_number = ${controlPlane} order by number`),
  ].map((row) => ({ ...row }));
const live = (id: string, creator = 'ada') => ({
  id,
  creator_id: creator,
  is_missing: false,
  is_gone: false,
  is_superseded: false,
});
const factsNow = async () => await readFactsAt(daemon, timeOf(hour));
const keyFactsOf = async (controlPlane: string, id: string) =>
  (await factsNow()).keys.find((key) => key.scope.startsWith(`${controlPlane}/`) && key.id === id);

test('A7: a listing of one control plane makes no key of another one missing', async () => {
  await list(one, ['1', '2']);
  await list(other, ['1', '2']);
  for (let listings = 0; listings < 2; listings += 1) await list(other, ['1']);
  expect(await rowsOf(one)).toEqual([live('1'), live('2')]);
  expect((await rowsOf(other)).filter((row) => row.is_gone)).toMatchObject([{ id: '2' }]);
});

test('A7: a later listing of one control plane does not make a listing of another one outdated', async () => {
  hour = 5;
  await list(other, ['1']);
  hour = 0;
  expect((await list(one, ['1'])).number).not.toBeNull();
});

test('A7: the keys of one control plane do not make a listing of another one look suddenly short', async () => {
  await list(
    one,
    Array.from({ length: 12 }, (_, index) => String(index + 1)),
  );
  expect((await list(other, ['1', '2'])).whySuspect).toBeNull();
});

test('R1: a key whose list names no creator does not get the creator of the same id at another control plane', async () => {
  await list(other, ['1'], { createdBy: { id: 'bela', name: 'Bela' } });
  await list(one, ['1'], { createdBy: { id: unknownCreator, name: null } });
  expect(await rowsOf(one)).toEqual([live('1', unknownCreator)]);
});

test('R1: another key of the same id at another control plane supersedes nothing', async () => {
  await list(one, ['1']);
  await list(other, ['1'], { createdAt: '2026-02-02T00:00:00Z', createdBy: { id: 'bela', name: 'Bela' } });
  expect(await rowsOf(one)).toEqual([live('1')]);
  expect(await rowsOf(other)).toEqual([live('1', 'bela')]);
});

test('R1: a key that comes back at one control plane is not current again at another one', async () => {
  const bela = { createdBy: { id: 'bela', name: 'Bela' } };
  await list(other, ['1'], bela);
  await list(other, ['1']);
  await list(one, ['1']);
  await list(one, ['1'], bela);
  expect(await rowsOf(other)).toMatchObject([{ creator_id: 'bela', is_superseded: true }, live('1')]);
});

test('R1: a key of the same id in a scope of another control plane is not the same key in a second scope', async () => {
  await list(one, ['1']);
  await list(other, ['1'], {}, 'organization:globex');
  expect((await keyFactsOf(one, '1'))?.otherScope).toBeUndefined();
  expect((await keyFactsOf(other, '1'))?.otherScope).toBeUndefined();
});

/** Grants an exemption of the keys that a control plane has listed. */
const exempt = async (controlPlane: string) => {
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.control_plane_number = ${controlPlane}`;
};

test('R1: an exemption does not cover another key that has the id later', async () => {
  await list(one, ['1']);
  await exempt(one);
  await list(one, ['1'], { createdAt: '2026-01-02T00:00:00Z' });
  expect((await keyFactsOf(one, '1'))?.exemptions).toEqual([]);
});

test('R1: an exemption does not cover the key of the same id at another control plane', async () => {
  await list(one, ['1']);
  await list(other, ['1']);
  await exempt(one);
  expect((await keyFactsOf(one, '1'))?.exemptions).toHaveLength(1);
  expect((await keyFactsOf(other, '1'))?.exemptions).toEqual([]);
});

test('R2: an own key that only another control plane lists is unknown', async () => {
  // The own key of both connections is 1.
  await list(one, ['1']);
  await list(other, ['5']);
  const { scopes } = await factsNow();
  const unknownAt = (controlPlane: string) =>
    scopes.find((each) => each.scope === scopeKeyOf(controlPlane, scope))?.unknownOwnKey;
  expect(unknownAt(one)).toEqual([]);
  expect(unknownAt(other)).toEqual([nameOf(other)]);
});

test('R2: an own key is held at another address of its control plane, and another key of its id is not', async () => {
  await list(one, ['1']);
  await list(other, ['1']);
  const isOwnAt = async (controlPlane: string) => {
    const { ownKeys, keys } = await factsNow();
    const key = keys.find((each) => each.scope === scopeKeyOf(controlPlane, scope));
    const own = ownKeys.filter(({ connection }) => connection === nameOf(one));
    return key !== undefined && own.some((each) => isOwn(each, key));
  };
  // One service may have two addresses: a record with the same creation time may be the same key.
  expect([await isOwnAt(one), await isOwnAt(other)]).toEqual([true, true]);
  const change = async (controlPlane: string, createdAt: string) =>
    await store.sql`update keywarden.key set created_at = ${createdAt} where control_plane_number = ${controlPlane}`;
  // An address may show times in another way.
  for (const near of ['2026-01-01T00:00:00.7Z', '2026-01-01T23:00:00Z', '2025-12-31T01:00:00Z']) {
    await change(other, near);
    expect(await isOwnAt(other)).toBe(true);
  }
  await change(other, '2026-02-02T00:00:00Z');
  expect([await isOwnAt(one), await isOwnAt(other)]).toEqual([true, false]);
  // An impossible time identifies no key.
  for (const impossible of ['1970-01-01T00:00:00Z', '2036-01-01T00:00:00Z']) {
    await change(other, impossible);
    expect(await isOwnAt(other)).toBe(true);
    await change(other, '2026-02-02T00:00:00Z');
    await change(one, impossible);
    expect(await isOwnAt(other)).toBe(true);
    await change(one, '2026-01-01T00:00:00Z');
  }
  // Where no list shows the own key, its creation time is unknown.
  await store.sql`update keywarden.connection set own_key_id = '7' where name = ${nameOf(one)}`;
  await store.sql`update keywarden.key set id = '7' where control_plane_number = ${other}`;
  expect(await isOwnAt(other)).toBe(true);
});

test('R2: a former own key is held everywhere for a week', async () => {
  await list(one, ['1', '2']);
  await list(other, ['1'], { createdAt: '2026-02-02T00:00:00Z' });
  await store.sql`update keywarden.connection set own_key_id = '2' where name = ${nameOf(one)}`;
  const { ownKeys } = await factsNow();
  expect(ownKeys.filter(({ connection }) => connection === nameOf(one))).toEqual(
    ['2', '1'].map((keyId) => ({ connection: nameOf(one), keyId })),
  );
});

test('R2: a connection whose address has changed and that has not listed its new scopes holds them until its own key is known', async () => {
  await list(one, ['1', '5']);
  const elsewhere = 'organization:globex';
  await list(other, ['1'], {}, elsewhere);
  const name = nameOf(other);
  const baseUrl = `sandbox one ${pairs}`;
  const unknownAt = async (controlPlane: string, configured: FactsRequest['configured'], of = scope) => {
    const { scopes } = await readFactsAt(daemon, timeOf(hour), { configured });
    return scopes.find((each) => each.scope === scopeKeyOf(controlPlane, of))?.unknownOwnKey;
  };
  const moved = (ownKeyId: string | null) => [{ name, baseUrl, ownKeyId }];
  // It cannot authenticate at the new address.
  expect(await unknownAt(one, moved(null))).toEqual([name]);
  expect(await unknownAt(one, moved('404'))).toEqual([name]);
  expect(await unknownAt(one, moved('5'))).toEqual([]);
  for (const ownKeyId of [null, '404']) expect(await unknownAt(other, moved(ownKeyId), elsewhere)).toEqual([]);
  // It has authenticated, and what it has listed is elsewhere.
  await makeControlPlane(daemon.sql, { name, baseUrl });
  await store.sql`update keywarden.connection set own_key_id = null, account_id = 'bela' where name = ${name}`;
  expect(await unknownAt(one, moved(null))).toEqual([name]);
});

test('R4: listings of one control plane end no intent of another one, and its own two do', async () => {
  const { number: listing } = await list(one, ['1']);
  await list(other, ['1']);
  const [{ number: key } = {}] = await store.sql`select number from keywarden.key where control_plane_number = ${one}`;
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count) values ('p-1', '', '{}', 1, 0, 0)`;
  const [{ number: approval } = {}] = await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via) values ('p-1', 'ada', 'command line') returning number`;
  await beginRevocation(daemon.sql, {
    cause: { planId: 'p-1', approval: String(approval) },
    key: String(key),
    connection: nameOf(one),
    listing: listing ?? '',
    judgedAt: timeOf(1),
    policySha256: 'x',
    lease: undefined,
  });
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '1 hour'`;
  const settledBy = async (controlPlane: string) => {
    await reconcileIntents(daemon.sql, { controlPlane, scope });
    return (await store.sql`select from keywarden.revocation_outcome`).length;
  };
  for (let listings = 0; listings < 2; listings += 1) await list(other, ['1']);
  expect(await settledBy(one)).toBe(0);
  for (let listings = 0; listings < 2; listings += 1) await list(one, ['1']);
  expect(await settledBy(other)).toBe(0);
  expect(await settledBy(one)).toBe(1);
});

test('R1: a connection that lists a scope at one control plane is no observer of the same scope at another one', async () => {
  for (const controlPlane of [one, other]) await list(controlPlane, ['1']);
  for (const controlPlane of [one, other])
    expect(await listObservers(daemon.db, { controlPlane, scope })).toEqual([nameOf(controlPlane)]);
});
