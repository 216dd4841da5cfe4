import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
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
  integrateEvents,
  makeReceipts,
  readNewestCheckpoint,
  readPlacedEvents,
  readReceipt,
} from '@keywarden/db/daemon';
import { machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import { expect, test } from 'vitest';
import type { LedgerContext } from '../context.ts';
import { whyLedgerDiffers } from './checks.ts';
import { growLedger, signAndRemember } from './ledger.ts';
import { endOtherKeys } from './public-keys.ts';
import { readSeen, writeSeen } from './seen-checkpoint.ts';
import { addLedgerKey, endFormerKeys, readSigningKeys } from './signing-keys.ts';

useMachines();

const grow = async (place: LedgerContext) => await growLedger(place, { createsKey: true });

test('the first machine creates the key, and signs every event; the key and the checkpoint are outside the database', async () => {
  const first = await machines.create();
  await machines.addEvent();
  const grown = await grow(first);
  expect(grown).toMatchObject({ state: 'grown', added: expect.any(Number) });
  expect(statSync(join(first.folder, 'ledger-key')).mode & 0o777).toBe(0o600);
  const newest = await readNewestCheckpoint(first.store.db);
  expect(readFileSync(join(first.folder, 'ledger-checkpoint'), 'utf8')).toBe(newest?.note);
  const stored = await owner.sql.unsafe(
    `select 1 from keywarden.ledger_checkpoint where note like '%${readFileSync(join(first.folder, 'ledger-key'), 'utf8').trim().split('+').slice(4).join('+')}%'`,
  );
  expect(stored).toEqual([]);
  expect(await grow(first)).toMatchObject({ state: 'grown', added: 0 });
});

test('another machine has no key, checks the ledger, and remembers it', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await grow(first);
  await machines.addEvent();
  expect(await growLedger(second)).toMatchObject({ state: 'no_key' });
  expect(existsSync(join(second.folder, 'ledger-key'))).toBe(false);
  expect(readSeen(second.folder)?.size).toBe(readSeen(first.folder)?.size);
  await grow(first);
  await grow(second);
  expect(readSeen(second.folder)?.size).toBe(readSeen(first.folder)?.size);
});

test('a receipt of an event is proven by the public key alone', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  const tree = (await readNewestCheckpoint(first.store.db)) ?? { size: 0, note: '' };
  const [event] = await readPlacedEvents(first.store.db, { subjects: ['pause/1'], size: tree.size });
  const keys = readSigningKeys(first.environment).map(({ verifier }) => verifier);
  const judge = async () => {
    const [receipt = ''] = await makeReceipts(first.store.db, event === undefined ? [] : [event], tree);
    return verifyReceipt(receipt, keys);
  };
  expect(await judge()).toMatchObject({ type: 'pause.begun', personal: { paused_by: 'ada' } });
  // A witness has cosigned this tree, and not yet the one with the next event.
  await owner.sql`insert into keywarden.ledger_cosignature (size, witness, lines) values (${tree.size}, 'w', ${'— w AAAA\n'})`;
  await machines.addEvent();
  await grow(first);
  const [last] = await owner.sql`select max(number)::text as number from keywarden.ledger_event`;
  expect(await readReceipt(first.store.db, String(last?.number))).not.toBeNull();
  // What the row has now was never recorded: the receipt does not show it, and stays valid.
  await machines.behindTriggers(`update keywarden.pause set paused_by = 'mallory'`);
  expect(await judge()).toMatchObject({ type: 'pause.begun', personal: {} });
});

test('while keys are rotated both sign, also without a new event, and the last key of a ledger cannot be ended', async () => {
  const first = await machines.create();
  await grow(first);
  const [old] = readSigningKeys(first.environment);
  addLedgerKey(first.environment);
  const noteOf = async () => (await readNewestCheckpoint(first.store.db))?.note ?? null;
  // The new key has signed nothing yet.
  const before = await noteOf();
  for (const note of [before, null])
    expect(() => endFormerKeys(first.environment, note)).toThrow(/^The newest key has not signed the ledger yet/);
  await grow(first);
  const both = readSigningKeys(first.environment);
  expect(both).toHaveLength(2);
  expect(both.map(({ verifier }) => openNote(String(before), [verifier]) !== null)).toEqual([true, false]);
  const after = await noteOf();
  expect(both.map(({ verifier }) => openNote(String(after), [verifier]) !== null)).toEqual([true, true]);
  // A second run ends nothing more, and keeps the former keys.
  for (let count = 0; count < 2; count += 1) {
    expect(endFormerKeys(first.environment, after).text).toBe(both[1]?.verifier.text);
    expect(readFileSync(join(first.folder, 'ledger-key.former'), 'utf8').match(/PRIVATE/g)).toHaveLength(2);
  }
  expect(await grow(first)).toMatchObject({ state: 'grown' });
  await machines.addEvent();
  expect(await grow(first)).toMatchObject({ state: 'grown', added: 2 });
  expect(readSigningKeys(first.environment).map(({ verifier }) => verifier.text)).toEqual([both[1]?.verifier.text]);
  expect(old?.verifier.name).toBe(both[1]?.verifier.name);
  const events = await owner.sql`select type from keywarden.ledger_event where type like 'ledger.%' order by number`;
  expect(events.map(({ type }) => type)).toEqual(['ledger.key_added', 'ledger.key_added']);
  // A key ends once.
  const endOld = async () => {
    await endOtherKeys(first.store.db, [both[1]?.verifier.text ?? '']);
    return await owner.sql`select ended_at::text from keywarden.ledger_key order by number`;
  };
  const ended = await endOld();
  expect(ended).toEqual([{ ended_at: expect.any(String) }, { ended_at: null }]);
  expect(await endOld()).toEqual(ended);
});

test('a machine without the key accepts a rotated key that signed together with the former one, and no other', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await grow(first);
  await growLedger(second);
  const former = readFileSync(join(first.folder, 'ledger-key'), 'utf8').trim();
  addLedgerKey(first.environment);
  await grow(first);
  endFormerKeys(first.environment, (await readNewestCheckpoint(first.store.db))?.note ?? null);
  await machines.addEvent();
  await grow(first);
  // It was away while both keys signed.
  expect(await growLedger(second)).toMatchObject({ state: 'no_key', size: readSeen(first.folder)?.size });
  // The former key was stolen, and the owner makes the store say that it is in use.
  await owner.sql`update keywarden.ledger_key set ended_at = null`;
  await machines.addEvent();
  await forge(former);
  expect(await growLedger(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('not signed') });
  await owner.sql`delete from keywarden.ledger_checkpoint where size = (select max(size) from keywarden.ledger_checkpoint)`;
  const forger = createSigningKey(readSeen(first.folder)?.origin ?? '', 'log');
  await owner.sql`insert into keywarden.ledger_key (public_key) values (${parseSigningKey(forger)?.verifier.text ?? ''})`;
  await forge(forger);
  const before = readSeen(second.folder);
  expect(await growLedger(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('not signed') });
  expect(readSeen(second.folder)).toEqual(before);
});

test('a machine that signs stores an endorsement that the store lost, so that machines without the key follow', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await grow(first);
  await growLedger(second);
  addLedgerKey(first.environment);
  await grow(first);
  await owner.sql`update keywarden.ledger_key set endorsement = null`;
  await machines.addEvent();
  await grow(first);
  endFormerKeys(first.environment, (await readNewestCheckpoint(first.store.db))?.note ?? null);
  await machines.addEvent();
  await grow(first);
  expect(await growLedger(second)).toMatchObject({ state: 'no_key', size: readSeen(first.folder)?.size });
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

test('several machines that begin at once have one key, and none is stopped', async () => {
  const several = [await machines.create(), await machines.create(), await machines.create()];
  const grown = await Promise.all(several.map(grow));
  expect(grown.map(({ state }) => state).toSorted()).toEqual(['grown', 'no_key', 'no_key']);
  expect(several.filter(({ folder }) => existsSync(join(folder, 'ledger-key')))).toHaveLength(1);
  await machines.addEvent();
  for (const each of several) expect(await whyLedgerDiffers(each)).toBeNull();
});

test('two processes of one machine that begin at once have the same key', async () => {
  const one = await machines.create();
  const grown = await Promise.all([grow(one), grow(one), grow(one)]);
  expect(grown.map(({ state }) => state)).toEqual(['grown', 'grown', 'grown']);
});

test('a command creates no key', async () => {
  const laptop = await machines.create();
  expect(await growLedger(laptop)).toEqual({ state: 'no_key', size: 0, added: 0 });
  expect(existsSync(join(laptop.folder, 'ledger-key'))).toBe(false);
});

test('nothing is enforced while events wait for a machine that signs', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await grow(first);
  await growLedger(second);
  await machines.addEvent();
  expect(await whyLedgerDiffers(second)).toBeNull();
  await machines.behindTriggers(
    `update keywarden.ledger_event set recorded_at = now() - interval '61 minutes' where leaf_index is null`,
  );
  expect(await whyLedgerDiffers(second)).toMatch(
    /^2 events have waited for a signed checkpoint since .*; start the daemon on a machine with the ledger's key/,
  );
  // The machine with the key adds them, and enforces.
  expect(await whyLedgerDiffers(first)).toBeNull();
  expect(await whyLedgerDiffers(second)).toBeNull();
});

test.each(['ledger-checkpoint', 'ledger-key'])('an empty file %s is damaged, not absent', async (name) => {
  const first = await machines.create();
  await grow(first);
  writeFileSync(join(first.folder, name), '');
  await expect(grow(first)).rejects.toThrow(/is empty; restore it from a backup/);
});

test.each([
  ['no key', 'LEDGER_KEY', 'not a key'],
  ['the key of a witness', 'LEDGER_KEY', createSigningKey('w', 'witness')],
])('%s in LEDGER_KEY is refused in one sentence, without its text', async (_what, name, value) => {
  const { environment } = await machines.create({ [name]: value });
  expect(() => readSigningKeys(environment)).toThrow(/^A line of LEDGER_KEY is no private key of a ledger; /);
});

test('keys of two ledgers, and a damaged checkpoint file, are refused', async () => {
  const two = await machines.create({ LEDGER_KEY: `${createSigningKey('a', 'log')}\n${createSigningKey('b', 'log')}` });
  expect(() => readSigningKeys(two.environment)).toThrow(/different names/);
  expect(() => addLedgerKey(two.environment)).toThrow(/change the variable/);
  const none = await machines.create();
  expect(() => addLedgerKey(none.environment)).toThrow(/^This machine has no key of the ledger in /);
  const first = await machines.create();
  await grow(first);
  writeFileSync(join(first.folder, 'ledger-checkpoint'), 'damaged\n');
  await expect(grow(first)).rejects.toThrow(/has no checkpoint; restore it/);
});

test('G4: a machine that has seen no checkpoint does not accept one whose tree the store does not have', async () => {
  const [first, fresh] = [await machines.create(), await machines.create()];
  await machines.addEvent();
  await grow(first);
  await machines.behindTriggers(
    'update keywarden.ledger_tile set hashes = set_byte(hashes, 2, get_byte(hashes, 2) # 1)',
  );
  expect(await grow(fresh)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('hashes') });
});

test('G2: a machine signs no smaller tree than it has signed, and no other one of that size', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  const seen = readSeen(first.folder);
  const size = seen?.size ?? 0;
  const other = new Uint8Array(32);
  const signs = (head: Parameters<typeof signAndRemember>[1]) =>
    signAndRemember(first, head, readSigningKeys(first.environment)) !== null;
  expect(signs({ size, root: seen?.root ?? other })).toBe(true);
  expect([signs({ size, root: other }), signs({ size: size - 1, root: other })]).toEqual([false, false]);
  expect(signs({ size: size + 1, root: other })).toBe(true);
});

test('a checkpoint without more events than the one that a machine remembers is not remembered', async () => {
  const first = await machines.create();
  const signer = parseSigningKey(createSigningKey('log', 'log'));
  const noteOf = (size: number) =>
    signNote(formatCheckpoint({ origin: 'log', size, root: new Uint8Array(32) }), signer === null ? [] : [signer], 0);
  writeSeen(first.folder, noteOf(0));
  expect(readSeen(first.folder)).toBeNull();
  await grow(first);
  const seen = readSeen(first.folder);
  for (const less of [0, 1]) writeSeen(first.folder, noteOf((seen?.size ?? 0) - less));
  expect(readSeen(first.folder)).toEqual(seen);
});
