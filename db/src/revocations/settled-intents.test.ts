import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { KeyListing } from '../keys/listings/listing.ts';
import { saveKeyListing } from '../keys/listings/save.ts';
import { readItems } from '../list.ts';
import { endPause } from '../pauses/pauses.ts';
import type { Store } from '../store.ts';
import { revocationList } from './list.ts';
import { beginRevocation, reconcileIntents, recordOutcome } from './revocations.ts';

// Which listings decide about an intent: those of the key's own scope.

let store: TestStore;
let daemon: Store;
let controlPlane: string;
let other: string;
let key: string;
let listing: string;
let hour: number;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
  other = await makeControlPlane(daemon.sql, { name: 'other', baseUrl: 'sandbox other' });
  await store.sql`insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count) values ('p-1', '', '{}', 1, 0, 0)`;
  await store.sql`insert into keywarden.plan_approval (plan_id, approved_by, via) values ('p-1', 'ada', 'command line')`;
  hour = 0;
  listing = String((await list()).number);
  key = String((await store.sql`select number from keywarden.key where id = '1'`)[0]?.number);
});
afterEach(async () => await store.close());

/** Saves a listing of an organization, an hour after the last one. */
async function list({
  of = 'acme',
  at = controlPlane,
  ids = ['1', '2', '3', '4'],
  ended = [] as NonNullable<KeyListing['ended']>,
} = {}) {
  hour += 1;
  const listedAt = new Date(Date.UTC(2026, 5, 1, hour)).toISOString();
  const place = { controlPlane: at, scope: `organization:${of}`, organizationId: of, connection: 'main', run: null };
  const begunAt = new Date().toISOString();
  const saved = await saveKeyListing(daemon.sql, {
    ...place,
    listedAt,
    begunAt,
    keys: ids.map((id) => makeWireKey(id)),
    ended,
  });
  await reconcileIntents(daemon.sql, place);
  return saved;
}

/** Saves listings that say nothing about the key: two of another scope, and two of the same scope at another control plane. */
async function listOthers() {
  for (const place of [{ of: 'beta' }, { at: other }]) for (let times = 0; times < 2; times += 1) await list(place);
  await reconcileIntents(daemon.sql, { controlPlane, scope: 'organization:acme' });
}

/** Begins to revoke the key, an hour ago. */
async function begin() {
  const judged = { connection: 'main', listing, judgedAt: '2026-06-01T01:00:00Z', policySha256: 'x', lease: undefined };
  const intent = await beginRevocation(daemon.sql, { cause: { planId: 'p-1', approval: '1' }, key, ...judged });
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '1 hour'`;
  return intent;
}

test('R4: listings of another scope, or of that name at another control plane, settle no intent', async () => {
  await begin();
  await listOthers();
  const outcomes = async () =>
    (await store.sql`select outcome from keywarden.revocation_outcome`).map((row) => row.outcome);
  expect(await outcomes()).toEqual([]);
  await list();
  expect(await outcomes()).toEqual([]);
  await list();
  expect(await outcomes()).toEqual(['not_revoked']);
});

test('R3: listings of another scope, or of that name at another control plane, do not end that a refused call counts', async () => {
  await recordOutcome(daemon.sql, String(await begin()), { outcome: 'failed', at: null });
  const revoked = async () => (await readFactsAt(daemon, '2026-06-01T12:00:00Z')).revokedLastDay;
  await listOthers();
  expect(await revoked()).toBe(1);
  for (let times = 0; times < 2; times += 1) await list();
  expect(await revoked()).toBe(0);
  // It may have been revoked after all.
  await list({ ids: ['2', '3', '4'] });
  expect(await revoked()).toBe(1);
});

test('a revoked key that no listing shows any more opens no incident, nor do listings of other scopes after one that shows it', async () => {
  await recordOutcome(daemon.sql, String(await begin()), { outcome: 'revoked', at: '2026-06-01T01:00:00Z' });
  await store.sql`update keywarden.revocation_outcome set at = at - interval '1 hour'`;
  const incidents = async () => (await store.sql`select kind from keywarden.incident`).map((row) => row.kind);
  for (let times = 0; times < 3; times += 1) await list({ ids: ['2', '3', '4'] });
  expect(await incidents()).toEqual([]);
  await list();
  await listOthers();
  expect(await incidents()).toEqual([]);
  await list();
  expect(await incidents()).toEqual(['revocation_undone']);
});

test('two processes that settle the same listings at once open one incident for an attempt', async () => {
  await recordOutcome(daemon.sql, String(await begin()), { outcome: 'revoked', at: '2026-06-01T01:00:00Z' });
  for (let times = 0; times < 2; times += 1) await list();
  await store.sql`update keywarden.revocation_outcome set at = at - interval '1 hour'`;
  const replica = await store.as('keywarden_daemon');
  const work: Promise<void>[] = [];
  await store.sql.begin(async (tx) => {
    // An incident waits for the row of its key.
    await tx`select from keywarden.credential order by number for update`;
    work.push(
      ...[daemon, replica].map(({ sql }) => reconcileIntents(sql, { controlPlane, scope: 'organization:acme' })),
    );
    await store.untilBlocked(...work);
  });
  await Promise.all(work);
  const kinds = await store.sql`select kind from keywarden.incident`;
  expect(kinds.map(({ kind }) => kind)).toEqual(['revocation_undone']);
});

test('R5: a use in flight opens its incident, also if listings have ended the intent during the call', async () => {
  const intent = String(await begin());
  for (let times = 0; times < 2; times += 1) await list({ ids: ['2', '3', '4'] });
  await recordOutcome(daemon.sql, intent, { outcome: 'revoked', usedInFlight: true, at: '2026-06-01T03:00:00Z' });
  const [row] = await store.sql`
    select o.outcome, i.kind from keywarden.revocation_outcome o left join keywarden.incident i on i.intent_number = o.intent_number`;
  expect(row).toMatchObject({ outcome: 'gone', kind: 'used_in_flight' });
});

test('R5: an answer and a list that show the same use at once open one incident', async () => {
  const intent = String(await begin());
  const usedAt = '2026-06-01T02:00:00Z';
  const other = { kind: 'branch_credential', projectId: 'p', branchId: 'b', holder: null, expiresAt: null } as const;
  const ended = [{ ...makeWireKey('1'), ...other, lastUsedAt: usedAt, revokedAt: usedAt }];
  const work: Promise<unknown>[] = [];
  await store.sql.begin(async (tx) => {
    // Both wait for the row of the key.
    await tx`select from keywarden.credential order by number for update`;
    work.push(list({ ids: ['2', '3', '4'], ended }));
    work.push(recordOutcome(daemon.sql, intent, { outcome: 'revoked', usedInFlight: true, at: usedAt }));
    await store.untilBlocked(...work);
  });
  await Promise.all(work);
  const [row] = await store.sql`
    select o.outcome, (select count(*)::int from keywarden.incident where kind = 'used_in_flight') as incidents from keywarden.revocation_outcome o`;
  expect(row).toEqual({ outcome: 'revoked', incidents: 1 });
});

test('R7: no intent is written while revoking is paused', async () => {
  await daemon.sql`insert into keywarden.pause (paused_by) values ('ada')`;
  expect(await begin()).toBeUndefined();
  await endPause(daemon.db, 'ada');
  expect(await begin()).toBeDefined();
});

test('no intent is written for a key that is gone, whether it was tried before or not', async () => {
  const without = { ids: ['2', '3', '4'] };
  for (const how of [without, without]) await list(how);
  expect(await begin()).toBeUndefined();
  await list();
  await recordOutcome(daemon.sql, String(await begin()), { outcome: 'failed', at: null });
  for (const how of [without, without]) await list(how);
  expect(await begin()).toBeUndefined();
});

test('R4: a refused attempt stays refused, and shows beside it that listings then lacked the key, until it is back or tried again', async () => {
  const shown = async () =>
    (await readItems(daemon.db, revocationList({ key }, null), 9)).map(({ outcome, gone_at: goneAt }) => [
      outcome,
      goneAt,
    ]);
  const without = { ids: ['2', '3', '4'] };
  await recordOutcome(daemon.sql, String(await begin()), { outcome: 'failed', at: null });
  await list(without);
  expect(await shown()).toEqual([['failed', null]]);
  await list(without);
  expect(await shown()).toEqual([['failed', '2026-06-01T03:00:00Z']]);
  await list();
  expect(await shown()).toEqual([['failed', null]]);
  await recordOutcome(daemon.sql, String(await begin()), { outcome: 'revoked', at: '2026-06-01T05:00:00Z' });
  expect(await shown()).toEqual([
    ['revoked', null],
    ['failed', null],
  ]);
});
