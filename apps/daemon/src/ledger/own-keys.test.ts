import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSigningKey, formatCheckpoint, openNote, parseSigningKey, signNote } from '@keywarden/core/ledger';
import { readNewestCheckpoint } from '@keywarden/db/daemon';
import { interrupt, machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import { expect, test } from 'vitest';
import { ledgerCommand } from '../commands/ledger.ts';
import type { LedgerContext } from '../context.ts';
import { holdFolder } from '../hold-folder.ts';
import { growLedger } from './ledger.ts';
import { readCheckpoint, readSeen } from './seen-checkpoint.ts';
import { addLedgerKey, createLedgerKey, endFormerKeys, readSigningKeys } from './signing-keys.ts';

// What a machine that has, or had, a key of its own signs and accepts.

useMachines();

const grow = async (place: LedgerContext) => await growLedger(place, { createsKey: true });
const notSigned = { state: 'inconsistent', why: expect.stringContaining('not signed') };

/** Signs the newest tree with another key of a name, and stores both, as an owner of the database can. */
async function replaceSignature(origin: string): Promise<void> {
  const forger = parseSigningKey(createSigningKey(origin, 'log'));
  const newest = readCheckpoint((await readNewestCheckpoint(owner.db))?.note ?? '');
  if (forger === null || newest === null) throw new Error('no ledger');
  const { size } = newest;
  const note = signNote(formatCheckpoint({ ...newest, origin }), [forger], 0);
  await owner.sql`insert into keywarden.ledger_key (public_key) values (${forger.verifier.text})`;
  await owner.sql`update keywarden.ledger_checkpoint set note = ${note} where size = ${size}`;
}

test('a machine accepts no other key under the name of its own, also if the signature is replaced during its pass', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  const { origin = '' } = readSeen(first.folder) ?? {};
  const replace = async () => await replaceSignature(origin);
  expect(await grow(interrupt(first, 1, replace))).toMatchObject(notSigned);
  expect(await grow(first)).toMatchObject(notSigned);
});

test('a new machine with a key accepts no other key under its name, also if that signs first during its pass', async () => {
  const machineOf = async () => await machines.create({ LEDGER_KEY: createSigningKey('named', 'log') });
  const [first, other] = [await machineOf(), await machineOf()];
  const signsFirst = async () => await growLedger(other);
  expect(await growLedger(interrupt(first, 1, signsFirst))).toMatchObject(notSigned);
  expect(await growLedger(first)).toMatchObject(notSigned);
});

test('a machine that lost its key does not follow a ledger of another name, although that has the same events', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  rmSync(join(first.folder, 'ledger-key'));
  const before = readSeen(first.folder);
  await replaceSignature('another');
  expect(await growLedger(first)).toMatchObject(notSigned);
  expect(readSeen(first.folder)).toEqual(before);
});

test('a note that the own key signed for another ledger is no checkpoint of this one', async () => {
  const first = await machines.create();
  await grow(first);
  const newest = readCheckpoint((await readNewestCheckpoint(owner.db))?.note ?? '');
  if (newest === null) throw new Error('no ledger');
  const note = signNote(formatCheckpoint({ ...newest, origin: 'another' }), readSigningKeys(first.environment), 0);
  await owner.sql`update keywarden.ledger_checkpoint set note = ${note} where size = ${newest.size}`;
  expect(await grow(first)).toMatchObject(notSigned);
});

test('a store whose last checkpoint is damaged, or that lost all, is not a new one for a machine without the key', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await grow(first);
  await machines.addEvent();
  await grow(first);
  await growLedger(second);
  await owner.sql`update keywarden.ledger_checkpoint set note = 'damaged' where size = ${readSeen(first.folder)?.size ?? 0}`;
  expect(await growLedger(second)).toMatchObject(notSigned);
  await machines.behindTriggers('truncate keywarden.ledger_checkpoint, keywarden.ledger_cosignature');
  expect(await grow(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('fewer events') });
  expect(existsSync(join(second.folder, 'ledger-key'))).toBe(false);
  // A key of its own, which no checkpoint has, is none of that ledger.
  createLedgerKey(second.environment);
  expect(await grow(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('fewer events') });
});

test('a machine remembers what another one with the same key has signed', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  const other = await machines.create({ LEDGER_KEY: readFileSync(join(first.folder, 'ledger-key'), 'utf8') });
  expect(await grow(other)).toMatchObject({ state: 'grown', added: 0 });
  expect(readSeen(other.folder)).toEqual(readSeen(first.folder));
  expect(existsSync(join(other.folder, 'ledger-key'))).toBe(false);
});

test('a key that a machine had before stays, if another machine signs first during its pass', async () => {
  const [one, other] = [await machines.create(), await machines.create()];
  expect([createLedgerKey(one.environment), createLedgerKey(one.environment)]).toEqual([true, false]);
  const key = readFileSync(join(one.folder, 'ledger-key'), 'utf8');
  expect(await grow(interrupt(one, 1, async () => await grow(other)))).toMatchObject({ state: 'no_key' });
  expect(readFileSync(join(one.folder, 'ledger-key'), 'utf8')).toBe(key);
});

test('a machine with LEDGER_KEY begins a ledger with that key, and creates no other', async () => {
  const first = await machines.create({ LEDGER_KEY: `\n${createSigningKey('named', 'log')}\n\n` });
  expect(await grow(first)).toMatchObject({ state: 'grown' });
  expect(existsSync(join(first.folder, 'ledger-key'))).toBe(false);
  expect(readSeen(first.folder)?.origin).toBe('named');
});

test('after another process has ended the former key, a pass that had begun signs with the new one', async () => {
  const first = await machines.create();
  await grow(first);
  for (const at of [2, 3]) {
    await machines.addEvent();
    const rotate = async () => {
      addLedgerKey(first.environment);
      await grow(first);
      endFormerKeys(first.environment, (await readNewestCheckpoint(owner.db))?.note ?? null);
      await machines.addEvent();
      await grow(first);
      await machines.addEvent();
    };
    expect(await grow(interrupt(first, at, rotate))).toMatchObject({ state: 'grown' });
    const { note = '' } = (await readNewestCheckpoint(owner.db)) ?? {};
    const keys = readSigningKeys(first.environment).map(({ verifier }) => verifier);
    expect(openNote(note, keys)?.signatures).toHaveLength(1);
    expect(readSeen(first.folder)?.note).toBe(note);
  }
});

test('each former key stays in a file when the key is rotated again', async () => {
  const first = await machines.create();
  await grow(first);
  const texts = [];
  for (let count = 0; count < 3; count += 1) {
    addLedgerKey(first.environment);
    texts.push(readFileSync(join(first.folder, 'ledger-key'), 'utf8'));
    await grow(first);
    const { note = '' } = (await readNewestCheckpoint(owner.db)) ?? {};
    endFormerKeys(first.environment, note);
  }
  const names = ['ledger-key.former', 'ledger-key.former.2', 'ledger-key.former.3'];
  expect(names.filter((name) => existsSync(join(first.folder, name)))).toEqual(names);
  expect(names.map((name) => readFileSync(join(first.folder, name), 'utf8'))).toEqual(texts);
});

test('one command at a time changes the keys, so that none replaces the file of another', async () => {
  const machine = await machines.create();
  await grow(machine);
  const command = async (options: object) => await ledgerCommand.run?.(machine as never, options as never);
  const letGo = holdFolder(machine.folder, 'held', 'ledger-key-lock');
  for (const options of [{ rotateKey: true }, { endFormerKeys: true }, { beginAnew: 'restored' }])
    await expect(command(options)).rejects.toThrow(/^Another command changes the keys of this ledger/);
  letGo();
  await command({ rotateKey: true });
  await command({ rotateKey: true });
  expect(readSigningKeys(machine.environment)).toHaveLength(3);
});
