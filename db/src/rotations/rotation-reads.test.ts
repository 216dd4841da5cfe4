import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../keys/listings/save.ts';
import { builderOf } from '../sql.ts';
import type { Store } from '../store.ts';
import { listSuspectedOrphans, readRotationFacts } from './facts.ts';
import { isMinted, isSinkPathTaken, readCanaries, readRotation } from './reads.ts';
import { advanceRotation, openRotation, type StoredRotation } from './rotations.ts';

// What one rotation with a delivered successor shows, and what after one change of its rows.

let store: TestStore;
let controlPlane: string;
let rotation: StoredRotation;

const bot = makeWireKey('1', { name: 'bot' });
const successor = makeWireKey('5', { name: 'bot kw-abcdefgh-1' });
const others = [makeWireKey('6', { name: 'other' }), makeWireKey('7', { name: 'third' })];

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  store.isTampered();
  controlPlane = await makeControlPlane(store.sql);
  for (const name of ['elsewhere', 'second']) await makeControlPlane(store.sql, { name, baseUrl: `sandbox ${name}` });
  const place = { controlPlane, scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  const list = async (at: string, keys: (typeof bot)[]) =>
    String((await saveKeyListing(store.sql, { ...place, listedAt: at, begunAt: at, keys })).number);
  const listing = await list('2026-06-01T00:00:00Z', [bot, ...others]);
  const settings = { sink: 'files', quietForMs: 0, adoptWithinMs: 0, policySha256: 'x' };
  const at = '2026-06-01T01:00:00Z';
  const { number } = await openRotation(store.sql, {
    ...settings,
    id: 'abcdefgh',
    key: await numberOf('1'),
    rule: 'old',
    via: 'policy',
    requestedBy: 'policy x',
    at,
  });
  const mint = { attempt: 1, name: successor.name, connection: 'main', creatorId: 'ada', listing, listedAt: at };
  const unsettled = { keyId: null, outcome: null, deliveredAt: null, sinkPath: null };
  let moved = await readRotation(store.db, number ?? '');
  for (const event of [
    { event: 'mint_begun', mint: { ...mint, ...unsettled } },
    { event: 'minted', keyId: '5', sinkPath: '/keys/1' },
    { event: 'delivery_ended', answer: 'has', why: null },
  ] as const)
    moved = moved && (await advanceRotation(store.sql, moved, { ...event, at }));
  await list('2026-06-01T02:00:00Z', [bot, successor, ...others]);
  const read = await readRotation(store.db, number ?? '');
  if (read === undefined) throw new Error('there is no rotation');
  rotation = read;
});
afterAll(async () => await store.close());

const numberOf = async (id: string) =>
  String((await store.sql`select number from keywarden.key where id = ${id}`)[0]?.number);

type Both = Pick<Store, 'db' | 'sql'>;
/** Returns what is read after the statements. They are rolled back. */
async function after<T>(statements: string, read: (tx: Both) => Promise<T>): Promise<T | undefined> {
  let result: T | undefined;
  const rollback = new Error('rollback');
  const ended = store.sql.begin(async (tx) => {
    await tx.unsafe(statements);
    const sql = tx as unknown as Store['sql']; // a transaction runs the statements of a pool
    result = await read({ db: builderOf(tx), sql });
    throw rollback;
  });
  await expect(ended).rejects.toBe(rollback);
  return result;
}

const lost = `update keywarden.rotation_mint set outcome = 'lost'`;
const endedLongAgo = `update keywarden.rotation set ended_at = now() - interval '46 minutes'`;
const wasOverlapping = `update keywarden.rotation_event set state = 'overlapping' where state = 'minted'`;
const outcomeIs = (outcome: string) => `update keywarden.rotation_mint set outcome = ${outcome}`;
const namesake = `update keywarden.key set name = '${successor.name}' where id = '6'`;

test.each<[string, string[], string[]]>([
  ['a delivered successor', [], []],
  ['a lost one', [lost], ['5']],
  ['a lost one that is gone', [lost, "update keywarden.key set gone_at = now() where id = '5'"], []],
  ['a lost one that is missing', [lost, "update keywarden.key set missing_since = now() where id = '5'"], []],
  ['one without an outcome', [outcomeIs('null')], []],
  ['one without an outcome whose rotation has ended', [outcomeIs('null'), endedLongAgo], ['5']],
  ['the same, just now', [outcomeIs('null'), endedLongAgo.replace('46', '44')], []],
  ['an unclear one', [outcomeIs("'unclear'")], []],
  ['an unclear one that ended as minted', [outcomeIs("'unclear'"), endedLongAgo], ['5 unclear']],
  ['an unclear one that ended later', [outcomeIs("'unclear'"), endedLongAgo, wasOverlapping], []],
  ['a delivered one whose rotation has ended', [endedLongAgo], []],
  ['another key with its name', [namesake], ['6']],
  ['the same, beside an unclear one', [namesake, outcomeIs("'unclear'"), endedLongAgo], ['6', '5 unclear']],
  ['the same, gone', [namesake, "update keywarden.key set gone_at = now() where id = '6'"], []],
  ['the same, missing', [namesake, "update keywarden.key set missing_since = now() where id = '6'"], []],
  ['the same, of another scope', [namesake, "update keywarden.key set scope = 'user:ada' where id = '6'"], []],
  [
    'the same, at another control plane',
    [namesake, "update keywarden.key set control_plane_number = 2 where id = '6'"],
    [],
  ],
])('which keys are suspected orphans: %s', async (_, changes, found) => {
  const orphans = await after(changes.join(';'), listSuspectedOrphans);
  expect(orphans?.map(({ key, isUnclear }) => `${key.id}${isUnclear ? ' unclear' : ''}`)).toEqual(found);
});

test('the loss of a secret is known from its last orphaned state on, and for the own key of the mint only', async () => {
  const lossOf = async (changes: string[]) =>
    (await after(changes.join(';'), listSuspectedOrphans))?.map(({ lostAt }) => lostAt);
  const orphaned = [2, 3].map(
    (hour) => `
    insert into keywarden.rotation_event (rotation_number, sequence, state, at)
    select number, ${hour + 10}, 'orphaned', '2026-06-01T0${hour}:00:00Z' from keywarden.rotation`,
  );
  expect(await lossOf([lost, ...orphaned])).toEqual(['2026-06-01T03:00:00Z']);
  expect(await lossOf([lost])).toEqual([null]);
  expect(await lossOf([namesake, ...orphaned])).toEqual([null]);
});

const open = (kind: string, id: string) =>
  `insert into keywarden.incident (kind, key_number, detail) select '${kind}', number, '{}' from keywarden.key where id = '${id}'`;
const close = 'update keywarden.incident set closed_at = now()';
const isChanged = 'the record of its successor has changed; see keywarden incidents';
const hasNamesake = 'another key has the name of its successor; see keywarden incidents';

test.each<[string, string[], string | null]>([
  ['nothing else', [], null],
  [
    'another kind',
    ["update keywarden.key set kind = 'project' where id = '5'"],
    'its successor is a key of another kind or project',
  ],
  [
    'another project',
    ["update keywarden.key set project_id = 'p' where id = '5'"],
    'its successor is a key of another kind or project',
  ],
  ['an incident of its record', [open('key_changed', '5')], isChanged],
  ['a closed incident of its record', [open('key_changed', '5'), close], null],
  ['an incident of another record', [open('key_changed', '6')], null],
  ['an incident of another kind', [open('used_in_flight', '5')], null],
  ['an incident of a namesake', [namesake, open('orphan', '6')], hasNamesake],
  ['a closed incident of a namesake', [namesake, open('orphan', '6'), close], null],
  [
    'an incident of a namesake that is gone',
    [namesake, open('orphan', '6'), "update keywarden.key set gone_at = now() where id = '6'"],
    null,
  ],
  ['an incident of the orphan of another mint', [open('orphan', '6')], null],
  ['an orphan’s incident of the successor itself', [open('orphan', '5')], null],
  ['another incident of a namesake', [namesake, open('used_in_flight', '6')], null],
])('whether a successor is proven: %s', async (_, changes, why) => {
  const facts = await after(changes.join(';'), async (tx) => await readRotationFacts(tx, rotation, []));
  expect(facts?.whySuccessorUnproven).toBe(why);
});

const replica = (change: Record<string, string> = {}) => {
  const columns = {
    replica: "'00000000-0000-4000-8000-00000000000a'",
    connection: "'main'",
    key_id: "'1'",
    authenticated_at: 'now()',
    ended_at: 'null',
    ...change,
  };
  return `insert into keywarden.replica_credential (${Object.keys(columns).join(', ')}) values (${Object.values(columns).join(', ')})`;
};

test.each<[string, string[], number]>([
  ['with the old key', [replica()], 1],
  ['with the new key', [replica({ key_id: "'5'" })], 0],
  ['that has ended', [replica({ ended_at: 'now()' })], 0],
  ['that has not authenticated for a day', [replica({ authenticated_at: "now() - interval '25 hours'" })], 0],
  ['of another connection', [replica({ connection: "'elsewhere'" })], 0],
  ['with two connections', [replica(), replica({ connection: "'second'" })], 1],
])('whether a process counts as behind: one %s', async (_, changes, behind) => {
  const clear = 'delete from keywarden.replica_credential';
  const facts = await after(
    [clear, ...changes].join(';'),
    async (tx) => await readRotationFacts(tx, rotation, ['main', 'second']),
  );
  expect(facts?.replicasBehind).toBe(behind);
});

test.each<[string, string[], boolean]>([
  ['a delivered successor', [], true],
  ['one whose delivery has no outcome', [outcomeIs('null')], true],
  ['a lost one', [lost], false],
  ['one that is gone', ["update keywarden.key set gone_at = now() where id = '5'"], false],
  ['one that no listing shows yet', ["update keywarden.rotation_mint set key_id = '99'"], true],
])('whether a file is taken for other lineages: that of %s', async (_, changes, isTaken) => {
  const taken = async (sinkPath: string, lineage: string) =>
    await after(changes.join(';'), async ({ db }) => await isSinkPathTaken(db, { sinkPath, lineage }));
  expect(await taken('/keys/1', await numberOf('6'))).toBe(isTaken);
  expect(await taken('/keys/1', await numberOf('1'))).toBe(false);
  expect(await taken('/keys/2', await numberOf('6'))).toBe(false);
});

test('an id is that of an earlier mint in the scope of the rotation only', async () => {
  const { key } = rotation;
  expect(await isMinted(store.db, rotation, '5')).toBe(true);
  expect(await isMinted(store.db, rotation, '6')).toBe(false);
  expect(await isMinted(store.db, { ...rotation, key: { ...key, scope: 'user:ada' } }, '5')).toBe(false);
  expect(await isMinted(store.db, { ...rotation, key: { ...key, controlPlane: '2' } }, '5')).toBe(false);
});

const ends = 'update keywarden.rotation set ended_at = now()';
/** A second rotation of the rule, delivered at this time. */
const second = (at: string) => `
  insert into keywarden.rotation (id, key_number, lineage_number, rule, sink, quiet_for, adopt_within, via, requested_by, policy_sha256)
  select 'second00', k.number, k.number, r.rule, r.sink, r.quiet_for, r.adopt_within, r.via, r.requested_by, r.policy_sha256
    from keywarden.rotation r, keywarden.key k where k.id = '6';
  insert into keywarden.rotation_mint (rotation_number, attempt, name, connection, creator_id, last_listing_number, key_id, outcome, delivered_at)
  select (select max(number) from keywarden.rotation), 1, 'x', connection, creator_id, last_listing_number, '7', 'delivered', ${at} from keywarden.rotation_mint`;

test.each<[string, string[], (string | null)[]]>([
  ['that was delivered', [], ['2026-06-01T01:00:00Z']],
  ['that was delivered and ended', [ends], ['2026-06-01T01:00:00Z']],
  ['that began', [lost], [null]],
  ['that ended without a delivery', [lost, ends], []],
  ['that a person requested', ["update keywarden.rotation set via = 'report'"], []],
  ['of another rule', ["update keywarden.rotation set rule = 'other'"], []],
  ['into another sink', ["update keywarden.rotation set sink = 'vault'"], []],
  ['before a later one', [second("'2026-06-02T00:00:00Z'")], ['2026-06-01T01:00:00Z']],
  ['after an earlier one', [second("'2026-05-02T00:00:00Z'")], ['2026-05-02T00:00:00Z']],
])('whether a rotation is the canary of its rule and sink: one %s', async (_, changes, delivered) => {
  const canaries = await after(
    changes.join(';'),
    async ({ db }) => await readCanaries(db, { rule: 'old', sink: 'files' }),
  );
  expect([...(canaries ?? [])]).toEqual(delivered.map((at) => [`${controlPlane}/organization:acme`, at]));
});
