import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSigningKey,
  formatCheckpoint,
  openNote,
  parseCheckpoint,
  parseSigningKey,
  signNote,
  verifyReceipt,
} from '@keywarden/core/ledger';
import {
  hasOpenIncident,
  integrateEvents,
  makeReceipts,
  readNewestCheckpoint,
  readPlacedEvents,
} from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { beginAnew } from './begin-anew.ts';
import { checkLedger, whyLedgerDiffers } from './checks.ts';
import { growLedger, type LedgerPlace } from './ledger.ts';
import { readSeen } from './seen-checkpoint.ts';
import { addLedgerKey, endFormerKeys, readSigningKeys } from './signing-keys.ts';

let owner: TestStore;
let folders: string[];
const now = () => Date.parse('2026-05-01T00:00:00Z');
beforeEach(async () => {
  owner = await createTestStore(inject('postgresUrl'));
  folders = [];
});
afterEach(async () => {
  await owner.close();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A machine with its own data folder, on the same store. */
async function machine(variables: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-ledger-'));
  folders.push(folder);
  return {
    store: await owner.as('keywarden_daemon'),
    environment: readEnvironment({ KEYWARDEN_DATA: folder, ...variables }),
    folder,
    now,
    signal: new AbortController().signal,
  };
}

const grow = async (place: LedgerPlace) => await growLedger(place, { createsKey: true });
/** Runs a statement of the owner that no trigger sees. */
const behindTriggers = async (statement: string) => {
  owner.isTampered();
  await owner.sql
    .unsafe(`set session_replication_role = replica; ${statement}; set session_replication_role = default`)
    .simple();
};
const addEvent = async () => await owner.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;

test('the first machine creates the key, and signs every event; the key and the checkpoint are outside the database', async () => {
  const first = await machine();
  await addEvent();
  const grown = await grow(first);
  expect(grown).toMatchObject({ state: 'grown', added: expect.any(Number) });
  expect(statSync(join(first.folder, 'ledger-key')).mode & 0o777).toBe(0o600);
  const newest = await readNewestCheckpoint(first.store.db);
  expect(readFileSync(join(first.folder, 'ledger-checkpoint'), 'utf8')).toBe(newest?.note);
  const stored = await owner.sql.unsafe(
    `select 1 from keywarden.ledger_checkpoint where note like '%${readFileSync(join(first.folder, 'ledger-key'), 'utf8').trim().split('+').at(-1) ?? ''}%'`,
  );
  expect(stored).toEqual([]);
  expect(await grow(first)).toMatchObject({ state: 'grown', added: 0 });
});

test('another machine has no key, checks the ledger, and remembers it', async () => {
  const [first, second] = [await machine(), await machine()];
  await grow(first);
  await addEvent();
  expect(await growLedger(second)).toMatchObject({ state: 'no_key' });
  expect(existsSync(join(second.folder, 'ledger-key'))).toBe(false);
  expect(readSeen(second.folder)?.size).toBe(readSeen(first.folder)?.size);
  await grow(first);
  await grow(second);
  expect(readSeen(second.folder)?.size).toBe(readSeen(first.folder)?.size);
});

test('a receipt of an event is proven by the public key alone', async () => {
  const first = await machine();
  await addEvent();
  await grow(first);
  const tree = (await readNewestCheckpoint(first.store.db)) ?? { size: 0, note: '' };
  const [event] = await readPlacedEvents(first.store.db, { subjects: ['pause/1'], size: tree.size });
  const [receipt = ''] = await makeReceipts(first.store.db, event === undefined ? [] : [event], tree);
  const keys = readSigningKeys(first.environment).map(({ verifier }) => verifier);
  expect(verifyReceipt(receipt, keys)).toMatchObject({ type: 'pause.begun', personal: { paused_by: 'ada' } });
});

test('while keys are rotated both sign, also without a new event, and the last key of a ledger cannot be ended', async () => {
  const first = await machine();
  await grow(first);
  const [old] = readSigningKeys(first.environment);
  addLedgerKey(first.environment);
  const noteOf = async () => (await readNewestCheckpoint(first.store.db))?.note ?? null;
  // The new key has signed nothing yet.
  const before = await noteOf();
  expect(() => endFormerKeys(first.environment, before)).toThrow(/^The newest key has not signed the ledger yet/);
  await grow(first);
  const both = readSigningKeys(first.environment);
  expect(both).toHaveLength(2);
  expect(both.map(({ verifier }) => openNote(String(before), [verifier]) !== null)).toEqual([true, false]);
  const after = await noteOf();
  expect(both.map(({ verifier }) => openNote(String(after), [verifier]) !== null)).toEqual([true, true]);
  expect(endFormerKeys(first.environment, after).text).toBe(both[1]?.verifier.text);
  expect(await grow(first)).toMatchObject({ state: 'grown' });
  await addEvent();
  expect(await grow(first)).toMatchObject({ state: 'grown', added: 2 });
  expect(readSigningKeys(first.environment).map(({ verifier }) => verifier.text)).toEqual([both[1]?.verifier.text]);
  expect(old?.verifier.name).toBe(both[1]?.verifier.name);
  const events = await owner.sql`select type from keywarden.ledger_event where type like 'ledger.%' order by number`;
  expect(events.map(({ type }) => type)).toEqual(['ledger.key_added', 'ledger.key_added']);
});

test('a machine without the key accepts a rotated key that signed together with the former one, and no other', async () => {
  const [first, second] = [await machine(), await machine()];
  await grow(first);
  await growLedger(second);
  addLedgerKey(first.environment);
  await grow(first);
  endFormerKeys(first.environment, (await readNewestCheckpoint(first.store.db))?.note ?? null);
  await addEvent();
  await grow(first);
  // It was away while both keys signed.
  expect(await growLedger(second)).toMatchObject({ state: 'no_key', size: readSeen(first.folder)?.size });
  const forger = createSigningKey(readSeen(first.folder)?.origin ?? '', 'log');
  await owner.sql`insert into keywarden.ledger_key (public_key) values (${parseSigningKey(forger)?.verifier.text ?? ''})`;
  await forge(forger);
  const before = readSeen(second.folder);
  expect(await growLedger(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('not signed') });
  expect(readSeen(second.folder)).toEqual(before);
});

/** Adds the waiting events to the tree as an owner with another key can. */
async function forge(key: string): Promise<void> {
  const signer = parseSigningKey(key);
  if (signer === null) throw new Error('no key');
  await integrateEvents(owner.sql, {
    limit: 100,
    seen: null,
    open: (note) => parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)),
    sign: (head) => signNote(formatCheckpoint({ origin: signer.verifier.name, ...head }), [signer], 0),
  });
}

/** Restores the store as it is now, when the returned function is called. */
async function takeBackup(): Promise<() => Promise<void>> {
  const [{ last } = {}] = await owner.sql`select max(number) as last from keywarden.ledger_event`;
  await owner.sql`create table public.tiles as select * from keywarden.ledger_tile`;
  await owner.sql`create table public.checkpoints as select * from keywarden.ledger_checkpoint`;
  return async () => {
    await behindTriggers(`
      delete from keywarden.ledger_salt where event_number > ${String(last)};
      delete from keywarden.pause p using keywarden.ledger_event e where e.number > ${String(last)} and e.subject = 'pause/' || p.number;
      delete from keywarden.ledger_key k using keywarden.ledger_event e where e.number > ${String(last)} and e.subject = 'ledger_key/' || k.number;
      delete from keywarden.incident n using keywarden.ledger_event e where e.number > ${String(last)} and e.subject = 'incident/' || n.number;
      delete from keywarden.ledger_event where number > ${String(last)};
      truncate keywarden.ledger_tile, keywarden.ledger_checkpoint, keywarden.ledger_cosignature;
      insert into keywarden.ledger_tile select * from public.tiles;
      insert into keywarden.ledger_checkpoint select * from public.checkpoints`);
  };
}

test('a restored store cannot continue its ledger, and a person begins a new one that names the former', async () => {
  const [first, second] = [await machine(), await machine()];
  await addEvent();
  await grow(first);
  const restore = await takeBackup();
  for (let count = 0; count < 3; count += 1) await addEvent();
  await grow(first);
  await growLedger(second);
  const before = readSeen(first.folder);
  const [oldKey] = readSigningKeys(first.environment);
  await restore();
  expect(await grow(first)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('fewer events') });

  const asked = { reason: 'restored', by: 'ada' };
  const interrupted = {
    ...first,
    now: () => {
      throw new Error('killed');
    },
  };
  await expect(beginAnew(interrupted, asked)).rejects.toThrow('killed');
  const [newKey] = readSigningKeys(first.environment);
  await beginAnew(first, asked);
  expect(readSigningKeys(first.environment).map(({ verifier }) => verifier.text)).toEqual([newKey?.verifier.text]);
  expect(newKey?.verifier.name).not.toBe(oldKey?.verifier.name);
  const suffix = `of-${String(before?.origin.replace('/', '_'))}`;
  expect(readFileSync(join(first.folder, `ledger-checkpoint.${suffix}`), 'utf8')).toBe(before?.note);
  expect(existsSync(join(first.folder, `ledger-key.${suffix}`))).toBe(true);
  expect(readSeen(first.folder)?.origin).toBe(newKey?.verifier.name);
  const events = await owner.sql`
    select content::jsonb as content from keywarden.ledger_event where type = 'ledger.begun_anew' and leaf_index is not null`;
  expect(events[0]?.content).toMatchObject({ seen_checkpoint: before?.note, former_checkpoint: expect.any(String) });
  expect(await checkLedger(first)).toEqual([]);
  expect(await grow(first)).toMatchObject({ state: 'grown' });

  // The incident stays until a person closes it, and another machine must be told.
  expect(await whyLedgerDiffers(first)).toMatch(/^the ledger in this store is not the one/);
  const close = async () =>
    await owner.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada', note = 'restored' where closed_at is null`;
  await close();
  expect(await whyLedgerDiffers(first)).toBeNull();
  expect(await growLedger(second)).toMatchObject({ state: 'inconsistent' });
  await close();
  rmSync(join(second.folder, 'ledger-checkpoint'));
  writeFileSync(join(second.folder, 'ledger-public-keys'), `${String(newKey?.verifier.text)}\n`);
  expect(await growLedger(second)).toMatchObject({ state: 'no_key', size: readSeen(first.folder)?.size });
  expect(await whyLedgerDiffers(second)).toBeNull();
});

test('a ledger without its key begins anew, a changed one does not, and without one there is nothing to begin anew', async () => {
  const first = await machine();
  const asked = { reason: 'lost', by: 'ada' };
  await expect(beginAnew(first, asked)).rejects.toThrow(/^There is no ledger that could begin anew/);
  await addEvent();
  await grow(first);
  const other = await machine();
  const LEDGER_KEY = readFileSync(join(first.folder, 'ledger-key'), 'utf8');
  await expect(beginAnew(await machine({ LEDGER_KEY }), asked)).rejects.toThrow(
    /^LEDGER_KEY has the key of the former ledger/,
  );
  await beginAnew(other, asked);
  expect(await grow(other)).toMatchObject({ state: 'grown' });
  expect(await checkLedger(other)).toEqual([]);
  await owner.sql`update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0`;
  await expect(beginAnew(other, asked)).rejects.toThrow(/^The hashes in this store are not those/);
});

test('several machines that begin at once have one key, and none is stopped', async () => {
  const machines = [await machine(), await machine(), await machine()];
  const grown = await Promise.all(machines.map(grow));
  expect(grown.map(({ state }) => state).toSorted()).toEqual(['grown', 'no_key', 'no_key']);
  expect(machines.filter(({ folder }) => existsSync(join(folder, 'ledger-key')))).toHaveLength(1);
  await addEvent();
  for (const each of machines) expect(await whyLedgerDiffers(each)).toBeNull();
});

test('two processes of one machine that begin at once have the same key', async () => {
  const one = await machine();
  const grown = await Promise.all([grow(one), grow(one), grow(one)]);
  expect(grown.map(({ state }) => state)).toEqual(['grown', 'grown', 'grown']);
});

test('a command creates no key', async () => {
  const laptop = await machine();
  expect(await growLedger(laptop)).toEqual({ state: 'no_key', size: 0, added: 0 });
  expect(existsSync(join(laptop.folder, 'ledger-key'))).toBe(false);
});

test('nothing is enforced while events wait for a machine that signs', async () => {
  const [first, second] = [await machine(), await machine()];
  await grow(first);
  await growLedger(second);
  await addEvent();
  expect(await whyLedgerDiffers(second)).toBeNull();
  await behindTriggers(
    `update keywarden.ledger_event set recorded_at = now() - interval '61 minutes' where leaf_index is null`,
  );
  expect(await whyLedgerDiffers(second)).toMatch(
    /^2 events have waited for the ledger since .*, because no machine with its key adds them/,
  );
  // The machine with the key adds them, and enforces.
  expect(await whyLedgerDiffers(first)).toBeNull();
  expect(await whyLedgerDiffers(second)).toBeNull();
});

test('a ledger of many tiles is compared, and a fault in any of them is found', async () => {
  const first = await machine();
  await owner.sql`insert into keywarden.pause (paused_by, resumed_at) select 'ada', now() from generate_series(1, 6000)`;
  await grow(first);
  expect(readSeen(first.folder)?.size).toBeGreaterThan(12_000);
  await addEvent();
  expect(await checkLedger(first)).toEqual([]);
  await behindTriggers(
    `update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0 and index = 40`,
  );
  expect(await checkLedger(first)).toEqual(['tile/0/040 is not the tile of its events']);
});

test('the report’s role cannot stop the sequencer', async () => {
  const first = await machine();
  const report = await owner.as('keywarden_report');
  await report.sql.begin(async (tx) => {
    await tx`lock table keywarden.ledger_tile, keywarden.ledger_event, keywarden.ledger_checkpoint in access share mode`;
    await tx`select pg_advisory_xact_lock(hashtext('keywarden.ledger'))`;
    await expect(
      tx.savepoint(async (inner) => await inner`lock table keywarden.ledger_tile in row share mode`),
    ).rejects.toMatchObject({ code: '42501' });
    expect(await grow(first)).toMatchObject({ state: 'grown' });
  });
});

test.each(['ledger-checkpoint', 'ledger-key'])('an empty file %s is damaged, not absent', async (name) => {
  const first = await machine();
  await grow(first);
  writeFileSync(join(first.folder, name), '');
  await expect(grow(first)).rejects.toThrow(/is empty; restore it from a backup/);
});

const tampered: [string, string, (sql: TestStore['sql']) => Promise<unknown>][] = [
  [
    'an older store',
    'fewer events',
    async (sql) =>
      await sql`delete from keywarden.ledger_checkpoint where size > (select min(size) from keywarden.ledger_checkpoint)`,
  ],
  [
    'a changed tile',
    'hashes',
    async (sql) =>
      await sql`update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0`,
  ],
  [
    'a checkpoint of another key',
    'not signed',
    async (sql) => await sql`update keywarden.ledger_checkpoint set note = replace(note, '— keywarden', '— another')`,
  ],
];
test.each(tampered)('%s opens an incident, and nothing is enforced', async (_what, why, change) => {
  const [first, second] = [await machine(), await machine()];
  await grow(first);
  await addEvent();
  await grow(first);
  await grow(second);
  await change(owner.sql);
  expect(await grow(first)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining(why) });
  // What one machine finds stops all of them.
  expect(await whyLedgerDiffers(second)).toMatch(/^the ledger in this store is not the one that was signed/);
  expect(await hasOpenIncident(first.store.db, 'ledger_inconsistent')).toBe(true);
});

test('a rebuilt ledger with another history is refused, and enforcement stops', async () => {
  const first = await machine();
  await addEvent();
  await grow(first);
  owner.isTampered();
  // An owner who even had the key rebuilds the whole tree without the first event.
  await owner.sql
    .unsafe(`
    set session_replication_role = replica;
    delete from keywarden.ledger_salt where event_number = 1;
    delete from keywarden.ledger_event where number = 1;
    update keywarden.ledger_event set leaf_index = null;
    truncate keywarden.ledger_tile, keywarden.ledger_checkpoint, keywarden.ledger_cosignature;
    set session_replication_role = default`)
    .simple();
  const accomplice = await machine({ LEDGER_KEY: readFileSync(join(first.folder, 'ledger-key'), 'utf8') });
  await addEvent();
  expect(await growLedger(accomplice)).toMatchObject({ state: 'grown' });
  expect(await whyLedgerDiffers(first)).toMatch(/^the ledger in this store is not the one that was signed/);
  expect(await grow(first)).toMatchObject({
    state: 'inconsistent',
    why: expect.stringContaining('other events'),
  });
});

test.each([
  [
    'a row deleted with its events',
    `delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where subject = 'pause/1'); delete from keywarden.ledger_event where subject = 'pause/1'; delete from keywarden.pause where number = 1`,
    /^the event at place \d+ of the tree is missing$/,
  ],
  [
    'a row and its event rewritten',
    `update keywarden.pause set paused_at = '2020-01-01' where number = 1;
     update keywarden.ledger_event e set content = (keywarden.describe_pause_begun(p, s.salt))[4],
       leaf = replace(leaf, encode(sha256(convert_to(content, 'UTF8')), 'hex'), encode(sha256(convert_to((keywarden.describe_pause_begun(p, s.salt))[4], 'UTF8')), 'hex'))
     from keywarden.pause p, keywarden.ledger_salt s where e.subject = 'pause/1' and e.type = 'pause.begun' and p.number = 1 and s.event_number = e.number`,
    /^tile\/0\/\d+ is not the tile of its events$/,
  ],
  [
    'a tile within the tree',
    `update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0 and index = 0`,
    /^tile\/0\/000 is not the tile of its events$/,
  ],
  [
    'an event outside the tree',
    `update keywarden.ledger_event set leaf_index = 9000000000000 + number where leaf_index is null`,
    /^the event of pause\/\d+ has a place outside the tree$/,
  ],
  [
    'a row deleted, with its events under another name',
    `delete from keywarden.pause where number = 1; update keywarden.ledger_event set type = 'pause.forgotten' where subject = 'pause/1'`,
    /^the event of pause\/1 is not what its entry says$/,
  ],
  [
    'a waiting event under another name',
    `delete from keywarden.pause where number = 151; update keywarden.ledger_event set type = 'pause.forgotten' where subject = 'pause/151'`,
    /^the event of pause\/151 is not what its entry says$/,
  ],
  [
    'the content of an event',
    `update keywarden.ledger_event set content = content || ' ' where subject = 'pause/1' and type = 'pause.begun'`,
    /^1 rows differ from their events \(pause\/1 was altered\)$/,
  ],
])('%s: the daily comparison finds it, and enforcement stops', async (_what, statement, fault) => {
  const first = await machine();
  for (let count = 0; count < 150; count += 1) await addEvent();
  await grow(first);
  await addEvent();
  await behindTriggers(statement);
  const [found] = await checkLedger(first);
  expect(found).toMatch(fault);
  expect(await hasOpenIncident(first.store.db, 'ledger_inconsistent')).toBe(true);
  expect(await whyLedgerDiffers(first)).toMatch(/^the ledger in this store is not the one that was signed/);
});

test('a row that was changed behind the triggers opens an incident that names it', async () => {
  const first = await machine();
  await addEvent();
  expect(await checkLedger(first)).toEqual([]);
  owner.isTampered();
  await owner.sql`update keywarden.pause set paused_at = paused_at - interval '1 day'`;
  expect(await checkLedger(first)).toEqual(['1 rows differ from their events (pause/1 was altered)']);
  const [incident] =
    await owner.sql`select detail ->> 'why' as why from keywarden.incident where kind = 'ledger_inconsistent'`;
  expect(incident?.why).toBe('1 rows differ from their events (pause/1 was altered)');
});

test.each([
  ['no key', 'LEDGER_KEY', 'not a key'],
  ['the key of a witness', 'LEDGER_KEY', createSigningKey('w', 'witness')],
])('%s in LEDGER_KEY is refused in one sentence, without its text', async (_what, name, value) => {
  const { environment } = await machine({ [name]: value });
  expect(() => readSigningKeys(environment)).toThrow(/^A line of LEDGER_KEY is no private key of a ledger; /);
});

test('keys of two ledgers, and a damaged checkpoint file, are refused', async () => {
  const two = await machine({ LEDGER_KEY: `${createSigningKey('a', 'log')}\n${createSigningKey('b', 'log')}` });
  expect(() => readSigningKeys(two.environment)).toThrow(/different names/);
  expect(() => addLedgerKey(two.environment)).toThrow(/change the variable/);
  const first = await machine();
  await grow(first);
  writeFileSync(join(first.folder, 'ledger-checkpoint'), 'damaged\n');
  await expect(grow(first)).rejects.toThrow(/has no checkpoint; restore it/);
});
