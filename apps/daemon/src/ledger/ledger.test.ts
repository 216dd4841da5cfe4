import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSigningKey, verifyReceipt } from '@keywarden/core/ledger';
import { hasOpenIncident, listEventsOf, makeReceipt, readNewestCheckpoint } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { checkLedgerRows, growLedger, readSeen, whyLedgerDiffers } from './ledger.ts';
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
  };
}

const addEvent = async () => await owner.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;

test('the first machine creates the key, and signs every event; the key and the checkpoint are outside the database', async () => {
  const first = await machine();
  await addEvent();
  const grown = await growLedger(first, now);
  expect(grown).toMatchObject({ state: 'grown', added: expect.any(Number) });
  expect(statSync(join(first.folder, 'ledger-key')).mode & 0o777).toBe(0o600);
  const newest = await readNewestCheckpoint(first.store.db);
  expect(readFileSync(join(first.folder, 'ledger-checkpoint'), 'utf8')).toBe(newest?.note);
  const stored = await owner.sql.unsafe(
    `select 1 from keywarden.ledger_checkpoint where note like '%${readFileSync(join(first.folder, 'ledger-key'), 'utf8').trim().split('+').at(-1) ?? ''}%'`,
  );
  expect(stored).toEqual([]);
  expect(await growLedger(first, now)).toMatchObject({ state: 'grown', added: 0 });
});

test('another machine has no key, checks the ledger, and remembers it', async () => {
  const [first, second] = [await machine(), await machine()];
  await growLedger(first, now);
  await addEvent();
  expect(await growLedger(second, now)).toMatchObject({ state: 'no_key' });
  expect(existsSync(join(second.folder, 'ledger-key'))).toBe(false);
  expect(readSeen(second.folder)?.size).toBe(readSeen(first.folder)?.size);
  await growLedger(first, now);
  await growLedger(second, now);
  expect(readSeen(second.folder)?.size).toBe(readSeen(first.folder)?.size);
});

test('a receipt of an event is proven by the public key alone', async () => {
  const first = await machine();
  await addEvent();
  await growLedger(first, now);
  const [event] = await listEventsOf(first.store.db, 'pause/1');
  const newest = await readNewestCheckpoint(first.store.db);
  const receipt = await makeReceipt(
    first.store.db,
    { ...(event ?? (undefined as never)), leafIndex: event?.leafIndex ?? -1 },
    newest ?? { size: 0, note: '' },
  );
  const keys = readSigningKeys(first.environment).map(({ verifier }) => verifier);
  expect(verifyReceipt(receipt, keys)).toMatchObject({ type: 'pause.begun', personal: { paused_by: 'ada' } });
});

test('while keys are rotated both sign, and auditors with either key can check', async () => {
  const first = await machine();
  await growLedger(first, now);
  const [old] = readSigningKeys(first.environment);
  addLedgerKey(first.environment);
  await addEvent();
  await growLedger(first, now);
  const both = readSigningKeys(first.environment);
  expect(both).toHaveLength(2);
  endFormerKeys(first.environment);
  await addEvent();
  expect(await growLedger(first, now)).toMatchObject({ state: 'grown' });
  expect(readSigningKeys(first.environment).map(({ verifier }) => verifier.text)).toEqual([both[1]?.verifier.text]);
  expect(old?.verifier.name).toBe(both[1]?.verifier.name);
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
  await growLedger(first, now);
  await addEvent();
  await growLedger(first, now);
  await growLedger(second, now);
  await change(owner.sql);
  expect(await growLedger(first, now)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining(why) });
  // What one machine finds stops all of them.
  expect(await whyLedgerDiffers(second)).toMatch(/^the ledger in this store is not the one that was signed/);
  expect(await hasOpenIncident(first.store.db, 'ledger_inconsistent')).toBe(true);
});

test('a rebuilt ledger with another history is refused, and enforcement stops', async () => {
  const first = await machine();
  await addEvent();
  await growLedger(first, now);
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
  expect(await growLedger(accomplice, now)).toMatchObject({ state: 'grown' });
  expect(await whyLedgerDiffers(first)).toMatch(/^the ledger in this store is not the one that was signed/);
  expect(await growLedger(first, now)).toMatchObject({
    state: 'inconsistent',
    why: expect.stringContaining('other events'),
  });
});

test('a row that was changed behind the triggers opens an incident that names it', async () => {
  const first = await machine();
  await addEvent();
  expect(await checkLedgerRows(first)).toBe(0);
  await owner.sql`update keywarden.pause set paused_at = paused_at - interval '1 day'`;
  expect(await checkLedgerRows(first)).toBe(1);
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
  await growLedger(first, now);
  writeFileSync(join(first.folder, 'ledger-checkpoint'), 'damaged\n');
  await expect(growLedger(first, now)).rejects.toThrow(/has no checkpoint; restore it/);
});
