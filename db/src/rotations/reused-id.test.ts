import { currentMint } from '@keywarden/core/rotation';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../keys/listing.ts';
import { readNow, type Store } from '../store.ts';
import { listSuspectedOrphans, readRotationFacts } from './facts.ts';
import { readRotation } from './reads.ts';
import { advanceRotation, openRotation, type StoredRotation } from './rotations.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
let rotation: StoredRotation;
let hour = 0;
const scope = 'organization:acme';
const at = () => new Date(Date.UTC(2026, 5, 1, hour)).toISOString();

async function list(keys: ReturnType<typeof makeWireKey>[]): Promise<string> {
  hour += 1;
  const begunAt = await readNow(daemon.sql);
  const place = { controlPlane, scope, organizationId: 'acme', connection: 'main', run: null };
  const saved = await saveKeyListing(daemon.sql, { ...place, listedAt: at(), begunAt, keys });
  return String(saved.number);
}

/** Returns the numbers of all rows that ever had the id, oldest first. */
const rowsOf = async (id: string) =>
  (await daemon.sql`select number from keywarden.key where id = ${id} order by number`).map((row) =>
    String(row.number),
  );

const lineages = async () =>
  (await daemon.sql`select key_number from keywarden.key_lineage order by key_number`).map((row) =>
    String(row.key_number),
  );

const bot = makeWireKey('1', { name: 'bot' });
const successor = makeWireKey('5', { name: 'bot kw-abcdefgh-1', createdAt: '2026-06-01T02:00:00Z' });
const stranger = makeWireKey('5', {
  name: 'night job',
  createdAt: '2026-06-03T00:00:00Z',
  createdBy: { id: 'eve', name: 'Eve' },
});

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
  await list([bot, makeWireKey('5', { name: 'long gone', createdAt: '2025-01-01T00:00:00Z' })]);
  const listing = await list([bot]);
  const [key] = await rowsOf('1');
  const settings = {
    rule: null,
    sink: 'files',
    quietForMs: 0,
    adoptWithinMs: 0,
    via: 'report',
    requestedBy: 'ada',
  } as const;
  const number = await openRotation(daemon.sql, {
    id: 'abcdefgh',
    key: key ?? '',
    ...settings,
    policySha256: 'x',
    at: at(),
  });
  const planned = await readRotation(daemon.db, number ?? '');
  if (planned === undefined) throw new Error('no rotation was opened');
  const mint = { attempt: 1, name: successor.name, connection: 'main', creatorId: 'ada', listing, listedAt: at() };
  const unsettled = { keyId: null, outcome: null, deliveredAt: null, sinkPath: null };
  const begun = await advanceRotation(daemon.sql, planned, {
    event: 'mint_begun',
    mint: { ...mint, ...unsettled },
    at: at(),
  });
  const minted = begun && (await advanceRotation(daemon.sql, begun, { event: 'minted', keyId: '5', at: at() }));
  const delivered =
    minted &&
    (await advanceRotation(daemon.sql, minted, { event: 'delivery_ended', answer: 'has', why: null, at: at() }));
  if (delivered === undefined) throw new Error('the rotation did not move');
  rotation = delivered;
});
afterAll(async () => await store.close());

test('until a listing shows it, a successor is not matched to the key that had its id before', async () => {
  expect(currentMint(rotation)).toMatchObject({ keyId: '5', outcome: 'delivered' });
  expect(await lineages()).toEqual([]);
  expect((await readRotationFacts(daemon, rotation, [])).successor).toEqual({ state: 'unlisted' });
});

test('a successor belongs to the lineage, and its use decides about adoption', async () => {
  await list([bot, { ...successor, lastUsedAt: '2026-06-01T04:00:00Z' }]);
  const [, number] = await rowsOf('5');
  expect(await lineages()).toEqual([number]);
  const { successor: seen } = await readRotationFacts(daemon, rotation, []);
  expect(seen).toMatchObject({ state: 'live', use: { state: 'used' } });
});

test('another key that gets the id later belongs to no lineage, its use adopts nothing, and it is no orphan', async () => {
  await list([bot, { ...stranger, lastUsedAt: '2026-06-03T01:00:00Z' }]);
  const [, own, other] = await rowsOf('5');
  expect(other).toBeDefined();
  expect(await lineages()).toEqual([own]);
  expect((await readRotationFacts(daemon, rotation, [])).successor).toEqual({ state: 'gone' });
  await store.sql`update keywarden.rotation_mint set outcome = 'lost'`;
  expect(await listSuspectedOrphans(daemon)).toEqual([]);
  // The owner of the lineage answers for its own keys only, and a lost successor is none of them.
  const [first] = await rowsOf('1');
  const assign = async (key: string | undefined, owner: string) =>
    await store.sql`insert into keywarden.key_owner (key_number, owner, assigned_by, source) values (${key ?? ''}, ${owner}, 'ada', 'assignment')`;
  const owners = async () => {
    const rows = await daemon.sql`select key_number::text as key, owner from keywarden.key_owner_now`;
    return [first, own, other].map((key) => rows.find((row) => row.key === key)?.owner);
  };
  const [, creator] = await owners();
  await assign(first, 'team-first');
  expect(await owners()).toEqual(['team-first', creator, 'eve']);
  await assign(own, 'team-bots');
  expect(await owners()).toEqual(['team-first', 'team-bots', 'eve']);
  await store.sql`update keywarden.rotation_mint set outcome = 'delivered'`;
  expect(await owners()).toEqual(['team-bots', 'team-bots', 'eve']);
});

test('a successor that is first shown by a listing with an earlier time is of the lineage, because servers’ clocks differ', async () => {
  const [, own] = await rowsOf('5');
  await store.sql`update keywarden.key set first_seen_at = first_seen_at - interval '1 day' where number = ${own ?? ''}`;
  expect(await lineages()).toEqual([own]);
});
