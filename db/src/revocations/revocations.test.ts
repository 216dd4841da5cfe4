import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { closeIncidents } from '../incidents/incidents.ts';
import type { KeyListing } from '../keys/listings/listing.ts';
import { saveKeyListing } from '../keys/listings/save.ts';
import { readNow, type Store } from '../store.ts';
import { beginRevocation, listGoneKeys, reconcileIntents, recordOutcome } from './revocations.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
let approval: string;
let tests = 0;
let scope: string;
let key: string;
let listing: string;
let hour = 0;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
  await store.sql`insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count) values ('p-1', '', '{}', 1, 0, 0)`;
  const [row] =
    await store.sql`insert into keywarden.plan_approval (plan_id, approved_by, via) values ('p-1', 'ada', 'command line') returning number`;
  approval = String(row?.number);
});
beforeEach(async () => {
  tests += 1;
  scope = `organization:org-${tests}`;
  listing = (await list([`${tests}`])) ?? '';
  const [row] = await store.sql`select number from keywarden.key where scope = ${scope}`;
  key = String(row?.number);
});
afterAll(async () => await store.close());

async function list(ids: string[], how: Partial<KeyListing> = {}): Promise<string | null> {
  hour += 1;
  const begunAt = await readNow(daemon.sql);
  const listedAt = new Date(Date.UTC(2026, 5, 1, hour)).toISOString();
  // Enough keys that the absence of one is no sudden drop.
  const others = [1001, 1002, 1003].map((id) => makeWireKey(String(id)));
  const keys = [...ids.map((id) => makeWireKey(id)), ...others];
  return (
    await saveKeyListing(daemon.sql, {
      controlPlane,
      scope,
      organizationId: scope,
      connection: 'main',
      run: null,
      listedAt,
      begunAt,
      keys,
      ...how,
    })
  ).number;
}

const begin = ({ judgedAt = '2026-06-01T00:00:00Z' } = {}) =>
  beginRevocation(daemon.sql, {
    cause: { planId: 'p-1', approval },
    key,
    connection: 'main',
    listing,
    judgedAt,
    policySha256: 'x',
    lease: undefined,
  });
/** Returns the outcome of the last attempt; null while it is open. */
const outcome = async () => {
  const [row] = await store.sql`
    select o.outcome from keywarden.revocation_intent i left join keywarden.revocation_outcome o on o.intent_number = i.number
    where i.key_number = ${key} order by i.attempt desc limit 1`;
  return row?.outcome;
};
/** Makes the intent so old that the process which wrote it counts as gone. */
const age = () =>
  store.sql`update keywarden.revocation_intent set created_at = created_at - interval '1 hour' where key_number = ${key}`;

beforeEach(async () => {
  const [row] = await store.sql`select number from keywarden.key where scope = ${scope} and id = ${tests}`;
  key = String(row?.number);
});

test('R4: of several processes that begin to revoke a key at once, one gets the intent', async () => {
  const begun = await Promise.all(Array.from({ length: 8 }, () => begin()));
  expect(begun.filter((intent) => intent !== undefined)).toHaveLength(1);
  expect(await begin()).toBeUndefined();
});

test('a revocation is never begun again for a revoked key, but is for one whose attempt failed', async () => {
  const first = (await begin()) ?? '';
  await recordOutcome(daemon.sql, first, { outcome: 'failed', at: null });
  const second = (await begin()) ?? '';
  expect(second).not.toBe('');
  await recordOutcome(daemon.sql, second, { outcome: 'revoked', at: '2026-06-02T00:00:00Z' });
  expect(await begin()).toBeUndefined();
  expect(await outcome()).toBe('revoked');
});

test('R4: an intent has one outcome, and a second one changes nothing', async () => {
  const intent = (await begin()) ?? '';
  await recordOutcome(daemon.sql, intent, { outcome: 'failed', at: null });
  await recordOutcome(daemon.sql, intent, { outcome: 'revoked', at: null });
  expect(await outcome()).toBe('failed');
  expect(await listGoneKeys(daemon.db, [key])).toEqual(new Set());
});

test('R4: an open intent whose key two listings lack ends as gone, not as revoked by us, and one listing decides nothing', async () => {
  await begin();
  await age();
  await list([]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
  await list([]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBe('gone');
});

test('R4: an open intent whose key two later listings show was not carried out, and may be begun again', async () => {
  await begin();
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
  await age();
  await list([String(tests)]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
  await list([String(tests)]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBe('not_revoked');
  expect(await begin()).toBeDefined();
});

test('R4: listings that began within five minutes after an intent do not end it: they may be of a replica that lags', async () => {
  await begin();
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '4 minutes' where key_number = ${key}`;
  for (let listings = 0; listings < 3; listings += 1) await list([String(tests)]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
});

test("R4: if the database's clock jumps ahead after an intent, listings of the next five minutes still do not end it", async () => {
  const minutesLater = (minutes: number) => new Date(Date.UTC(2026, 5, 1, hour, minutes)).toISOString();
  const times = [1, 4, 6, 7].map(minutesLater);
  await begin({ judgedAt: minutesLater(0) });
  const begunAt = new Date(Date.now() + 86_400_000).toISOString();
  const outcomes: unknown[] = [];
  for (const listedAt of times) {
    await list([String(tests)], { listedAt, begunAt });
    await reconcileIntents(daemon.sql, { controlPlane, scope });
    outcomes.push(await outcome());
  }
  expect(outcomes).toEqual([null, null, null, 'not_revoked']);
});

const suspect = { unreadable: 1 };

test('R4: suspect listings that show the key do not end an open intent', async () => {
  await begin();
  await age();
  for (const how of [suspect, suspect, {}]) await list([String(tests)], how);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
  await list([String(tests)]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBe('not_revoked');
});

test('R4: an open intent whose key is missing from the last listing does not end, even if earlier listings showed it', async () => {
  await begin();
  await age();
  for (const ids of [[String(tests)], [String(tests)], []]) await list(ids);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
});

test('R3: a refused call counts in the daily quota until two trusted listings show the key', async () => {
  const revoked = async () => (await readFactsAt(daemon, '2026-06-01T12:00:00Z')).revokedLastDay;
  const before = await revoked();
  await recordOutcome(daemon.sql, (await begin()) ?? '', { outcome: 'failed', at: null });
  // The intent is an hour old then. Listings of its first minutes may be of a replica that lags.
  await age();
  const begunAt = new Date(Date.now() - 57 * 60_000).toISOString();
  for (const how of [{ begunAt }, { begunAt }, suspect, suspect, {}]) {
    await list([String(tests)], how);
    expect(await revoked()).toBe(before + 1);
  }
  await list([String(tests)]);
  expect(await revoked()).toBe(before);
});

test('R5: a use that a list of ended credentials shows opens an incident for an open intent, and none for a settled one', async () => {
  const incidents = async () =>
    (await store.sql`select 1 from keywarden.incident where kind = 'used_in_flight' and key_number = ${key}`).length;
  const end = async (at: string) => {
    const ofBranch = {
      kind: 'branch_credential',
      projectId: 'p',
      branchId: 'b',
      holder: null,
      expiresAt: null,
    } as const;
    const ended = { ...makeWireKey(String(tests)), ...ofBranch, lastUsedAt: at, revokedAt: at };
    await list([], { ended: [ended] });
  };
  await recordOutcome(daemon.sql, (await begin()) ?? '', { outcome: 'failed', at: null });
  await end('2026-06-01T01:00:00.9Z');
  expect(await incidents()).toBe(0);
  await list([String(tests)]);
  await begin();
  // More digits of the same use.
  await end('2026-06-01T01:00:00.956Z');
  expect(await incidents()).toBe(0);
  await list([String(tests)]);
  // Also one in the future, which is not stored.
  await end('2126-06-01T02:00:00Z');
  expect(await incidents()).toBe(1);
  await end('2026-06-01T02:00:00Z');
  expect(await incidents()).toBe(1);
  const [{ used } = {}] = await store.sql`select last_used_at::text as used from keywarden.key where number = ${key}`;
  expect(used).toContain('2026-06-01 02:00:00');
});

test('a listing made while the call may still be under way decides nothing', async () => {
  await begin();
  await list([String(tests)]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await outcome()).toBeNull();
});

test('a key that was gone and is back may be begun again', async () => {
  await begin();
  await age();
  await list([]);
  await list([]);
  await reconcileIntents(daemon.sql, { controlPlane, scope });
  expect(await begin()).toBeUndefined();
  expect(await listGoneKeys(daemon.db, [key])).toEqual(new Set([key]));
  await list([String(tests)]);
  expect(await begin()).toBeDefined();
  expect(await listGoneKeys(daemon.db, [key])).toEqual(new Set());
});

test('a key that listings show long after its revocation opens one incident for each attempt', async () => {
  const incidents = async () =>
    await store.sql`select number::text, detail from keywarden.incident where kind = 'revocation_undone' and key_number = ${key}`;
  const shown = async (how: Partial<KeyListing> = {}) => {
    await list([String(tests)], how);
    await reconcileIntents(daemon.sql, { controlPlane, scope });
    return (await incidents()).length;
  };
  const revoke = async () => {
    const at = new Date(Date.UTC(2026, 5, 1, hour)).toISOString();
    await recordOutcome(daemon.sql, (await begin()) ?? '', { outcome: 'revoked', at });
  };
  /** Makes the outcomes so old that no replica can lag behind them. */
  const ageOutcomes = () => store.sql`
    update keywarden.revocation_outcome set at = at - interval '1 hour'
    where intent_number in (select number from keywarden.revocation_intent where key_number = ${key})`;
  await revoke();
  // It may be a replica that lags.
  expect([await shown(), await shown()]).toEqual([0, 0]);
  await ageOutcomes();
  // The key was not listed without interruption: only one listing is known to be new.
  await list([]);
  expect([await shown({ unreadable: 1 }), await shown()]).toEqual([0, 0]);
  expect([await shown(), await shown()]).toEqual([1, 1]);
  const [first] = await incidents();
  expect(first?.detail).toMatchObject({
    listed_at: expect.stringContaining('2026-06'),
    revoked_at: expect.any(String),
  });
  // What a person has closed stays closed, until another attempt has as little effect.
  await closeIncidents(daemon.db, { number: String(first?.number) }, { by: 'ada' });
  expect(await shown()).toBe(1);
  await revoke();
  await ageOutcomes();
  expect([await shown(), await shown(), await shown()]).toEqual([1, 2, 2]);
});

test('R1: a key whose id is, or may be, another key’s gets no intent for any requester', async () => {
  const [{ number } = {}] = await store.sql`
    insert into keywarden.incident (kind, key_number, scope, detail) values ('key_changed', ${key}, ${scope}, '{}') returning number`;
  expect(await begin()).toBeUndefined();
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada' where number = ${String(number)}`;
  await store.sql`update keywarden.key set superseded_at = now() where number = ${key}`;
  expect(await begin()).toBeUndefined();
  await store.sql`update keywarden.key set superseded_at = null where number = ${key}`;
  expect(await begin()).toBeDefined();
});

test('more keys or scopes than a statement takes parameters are one parameter', async () => {
  const many = Array.from({ length: 70_000 }, (_, index) => String(index + 1_000_000));
  expect(await listGoneKeys(daemon.db, many)).toEqual(new Set());
  await expect(closeIncidents(daemon.db, { kind: 'breaker', scopes: many })).resolves.toBe(false);
});
