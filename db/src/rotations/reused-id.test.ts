import { currentMint } from '@keywarden/core/rotation';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../keys/listings/save.ts';
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

async function list(keys: ReturnType<typeof makeWireKey>[], of: object = {}): Promise<string> {
  hour += 1;
  const begunAt = await readNow(daemon.sql);
  const place = { controlPlane, scope, organizationId: 'acme', connection: 'main', run: null, ...of };
  const saved = await saveKeyListing(daemon.sql, { ...place, listedAt: at(), begunAt, keys });
  return String(saved.number);
}

/** Returns the numbers of all rows that ever had the id, oldest first. */
const rowsOf = async (id: string) =>
  (
    await daemon.sql`
      select number from keywarden.key where id = ${id} and control_plane_number = ${controlPlane} and scope = ${scope} order by number`
  ).map((row) => String(row.number));

const lineages = async (sql: Pick<Store['sql'], 'unsafe'> = daemon.sql) =>
  (await sql.unsafe('select key_number from keywarden.key_lineage order by key_number')).map((row) =>
    String(row.key_number),
  );

type Unsafe = Parameters<typeof lineages>[0];
/** Returns what is read while the statement has taken effect. Then it is rolled back. */
async function during<Result>(statement: string, read: (tx: Unsafe) => Promise<Result>): Promise<Result | undefined> {
  let result: Result | undefined;
  const rollback = new Error('rollback');
  const ended = store.sql.begin(async (tx) => {
    await tx.unsafe(statement);
    result = await read(tx);
    throw rollback;
  });
  await expect(ended).rejects.toBe(rollback);
  return result;
}

/** Opens a rotation of a key, by its number; returns the rotation's number. */
async function open(id: string, key = ''): Promise<string | null> {
  const settings = { rule: null, sink: 'files', quietForMs: 0, adoptWithinMs: 0, policySha256: 'x' } as const;
  const opened = await openRotation(daemon.sql, { id, key, ...settings, via: 'report', requestedBy: 'ada', at: at() });
  return opened.number;
}

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
  const number = await open('abcdefgh', key);
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
  // Nor to one of another scope, or of another control plane.
  const other = await makeControlPlane(daemon.sql, { name: 'other', baseUrl: 'sandbox other' });
  await list([successor], { scope: 'organization:globex', organizationId: 'globex' });
  await list([successor], { controlPlane: other, connection: 'other' });
  expect(await lineages()).toEqual([]);
  expect((await readRotationFacts(daemon, rotation, [])).successor).toEqual({ state: 'unlisted' });
});

test.each<[string, counts: number, change: Record<string, string>]>([
  ['began later, and has a later time', 1, {}],
  ['began five minutes after the mint', 0, { begun_at: "m.created_at + interval '5 minutes'" }],
  [
    'has a time of five minutes after the listing before the mint',
    0,
    { listed_at: "b.listed_at + interval '5 minutes'" },
  ],
  ['is suspect', 0, { why_suspect: "'it is empty'" }],
  ['is of another scope', 0, { scope: "'user:ada'" }],
])('a listing that %s counts as one since the mint: %i', async (_, counts, change) => {
  const lag = "interval '301 seconds'";
  const columns: Record<string, string> = {
    control_plane_number: 'b.control_plane_number',
    scope: 'b.scope',
    connection: 'b.connection',
    listed_at: `b.listed_at + ${lag}`,
    begun_at: `m.created_at + ${lag}`,
    key_count: '0',
    why_suspect: 'null',
    ...change,
  };
  const [listing] = await store.sql.unsafe(`
    insert into keywarden.key_listing (${Object.keys(columns).join(', ')}) select ${Object.values(columns).join(', ')}
    from keywarden.rotation_mint m join keywarden.key_listing b on b.number = m.last_listing_number returning number`);
  expect((await readRotationFacts(daemon, rotation, [])).listingsSinceMint).toBe(counts);
  await store.sql`delete from keywarden.key_listing where number = ${String(listing?.number)}`;
});

test('a successor belongs to the lineage, and its use decides about adoption', async () => {
  await list([bot, { ...successor, lastUsedAt: '2026-06-01T04:00:00Z' }]);
  const [, number] = await rowsOf('5');
  expect(await lineages()).toEqual([number]);
  const { successor: seen } = await readRotationFacts(daemon, rotation, []);
  expect(seen).toMatchObject({ state: 'live', use: { state: 'used' } });
});

test.each([
  [' bot kw-abcdefgh-1', 'eve', true],
  ['\uff42ot kw-abcdefgh-1', 'eve', true],
  ['renamed', 'ada', true],
  ['renamed', 'unknown', true],
  ['renamed', 'eve', false],
])('a key with the name %j by %s is taken for the successor: %s', async (name, creator, isSuccessor) => {
  const [, number = ''] = await rowsOf('5');
  // It was first seen at the time of the listing before the mint, by the clock of another server.
  const change = `
    update keywarden.key k set name = '${name}', creator_id = '${creator}', first_seen_at = l.listed_at
    from keywarden.rotation_mint m join keywarden.key_listing l on l.number = m.last_listing_number where k.number = ${number}`;
  expect(await during(change, lineages)).toEqual(isSuccessor ? [number] : []);
});

test('another key that gets the id later belongs to no lineage, its use adopts nothing, and it is no orphan', async () => {
  await list([bot, { ...stranger, lastUsedAt: '2026-06-03T01:00:00Z' }]);
  const [, own, other] = await rowsOf('5');
  expect(other).toBeDefined();
  expect(await lineages()).toEqual([own]);
  // The name decides before the creator, and among keys of one name the one that the list still shows.
  expect(await during(`update keywarden.key set creator_id = 'ada' where number = ${other}`, lineages)).toEqual([own]);
  const sameName = `update keywarden.key set name = '${successor.name}' where number = ${other}`;
  expect(await during(sameName, lineages)).toEqual([other]);
  expect((await readRotationFacts(daemon, rotation, [])).successor).toEqual({ state: 'gone' });
  await store.sql`update keywarden.rotation_mint set outcome = 'lost'`;
  expect(await listSuspectedOrphans(daemon)).toEqual([]);
  // The owner of the lineage answers for its own keys only, and a lost successor is none of them.
  const [first] = await rowsOf('1');
  const assign = async (key: string | undefined, owner: string) =>
    await store.sql`insert into keywarden.key_owner (key_number, owner, assigned_by, source) values (${key ?? ''}, ${owner}, 'ada', 'assignment')`;
  const owners = async (sql: Unsafe = daemon.sql) => {
    const rows = await sql.unsafe('select key_number::text as key, owner from keywarden.key_owner_now');
    return [first, own, other].map((key) => rows.find((row) => row.key === key)?.owner as unknown);
  };
  const [, creator] = await owners();
  await assign(first, 'team-first');
  expect(await owners()).toEqual(['team-first', creator, 'eve']);
  await assign(own, 'team-bots');
  expect(await owners()).toEqual(['team-first', 'team-bots', 'eve']);
  await store.sql`update keywarden.rotation_mint set outcome = 'delivered'`;
  expect(await owners()).toEqual(['team-bots', 'team-bots', 'eve']);
  // A mint without an outcome counts while its rotation goes on.
  for (const [outcome, endedAt, isOfLineage] of [
    ["'lost'", 'null', false],
    ['null', 'null', true],
    ['null', 'now()', false],
    ["'delivered'", 'now()', true],
  ] as const) {
    const change = `
      update keywarden.rotation_mint set outcome = ${outcome}; update keywarden.rotation set ended_at = ${endedAt}`;
    const seen = await during(change, async (tx) => ({ lineages: await lineages(tx), owners: await owners(tx) }));
    expect({ change, ...seen }).toEqual({
      change,
      lineages: isOfLineage ? [own] : [],
      owners: [isOfLineage ? 'team-bots' : 'team-first', 'team-bots', 'eve'],
    });
  }
  // The owner of a lineage with two mints: the first of them was lost, and its key is listed.
  const two = `
    update keywarden.key set id = '4', name = 'bot kw-abcdefgh-0' where number = ${other};
    insert into keywarden.rotation_mint (rotation_number, attempt, name, connection, creator_id, last_listing_number, key_id, outcome)
    select rotation_number, 2, 'bot kw-abcdefgh-0', connection, creator_id, last_listing_number, '4', 'lost' from keywarden.rotation_mint`;
  expect(await during(two, owners)).toEqual(['team-bots', 'team-bots', 'eve']);
});

test('a successor that is first shown by a listing with an earlier time is of the lineage, because servers’ clocks differ', async () => {
  const [, own] = await rowsOf('5');
  await store.sql`update keywarden.key set first_seen_at = first_seen_at - interval '1 day' where number = ${own ?? ''}`;
  expect(await lineages()).toEqual([own]);
});

test('a successor that was rotated itself stays in its lineage when its record matches no mint any more', async () => {
  const [first] = await rowsOf('1');
  const [, own] = await rowsOf('5');
  const end = async () => await store.sql`update keywarden.rotation set ended_at = now() where ended_at is null`;
  await end();
  await open('bcdefghj', own);
  await end();
  await store.sql`update keywarden.key set name = 'renamed', creator_id = 'eve' where number = ${own ?? ''}`;
  expect(await lineages()).toEqual([]);
  expect(await open('cdefghjk', own)).not.toBeNull();
  const rows = await store.sql`select distinct lineage_number::text as lineage from keywarden.rotation`;
  expect(rows.map((row) => row.lineage as unknown)).toEqual([first]);
  expect(await open('defghjkm', first)).toBeNull();
});
