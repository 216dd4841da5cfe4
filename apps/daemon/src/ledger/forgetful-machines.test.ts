import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { hasOpenIncident, readNewestCheckpoint } from '@keywarden/db/daemon';
import { interrupt, type Machine, machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import {
  createLogMachine,
  createSigner,
  log,
  movedTo,
  startAnswer,
  startWitness,
  useWitness,
  witnessFolder,
  witnessKey,
} from '@keywarden/testkit/daemon/witness';
import { expect, test } from 'vitest';
import { whyLedgerDiffers } from './checks.ts';
import { growAndWitness, growLedger } from './ledger.ts';
import { readSeen } from './seen-checkpoint.ts';
import { askWitnesses } from './witnesses.ts';

// Machines with the ledger's key that remember no checkpoint: what their witnesses have seen of the ledger decides.

useMachines();
useWitness();

const forgetCosignatures = async () => await owner.sql`delete from keywarden.ledger_cosignature`;

/** Loses what the store has recorded since a checkpoint of this size and its pause, and the cosignatures of it. */
const loseSince = async (size: unknown) =>
  await machines.behindTriggers(`
    delete from keywarden.ledger_cosignature where size > ${Number(size)};
    delete from keywarden.ledger_checkpoint where size > ${Number(size)};
    delete from keywarden.ledger_event where leaf_index >= ${Number(size)};
    delete from keywarden.pause where number > 1`);

/** A machine with the key but without the file of its last checkpoint, on a store that lacks what the witness has cosigned last. */
async function restoreWithoutMemory(url: string) {
  const place = await createLogMachine(url);
  const sizes: unknown[] = [];
  for (let count = 0; count < 2; count += 1) {
    await machines.addEvent();
    await growLedger(place);
    expect(await askWitnesses(place)).toEqual([]);
    sizes.push((await readNewestCheckpoint(place.store.db))?.size);
  }
  await loseSince(sizes[0]);
  return { forgetful: await createLogMachine(url), size: sizes[0] };
}

test.each([
  ['with the key', (place: Machine) => place.environment],
  ['without the key', (place: Machine) => ({ ...place.environment, LEDGER_KEY: undefined })],
])('a store that was rolled back together with the files of a machine %s enforces nothing', async (_what, of) => {
  const place = await createLogMachine(await startWitness());
  const enforcing = { ...place, environment: { ...of(place), LEDGER_PUBLIC_KEY: log.verifier.text } };
  await machines.addEvent();
  await growAndWitness(place);
  const cosignatures = async () => [...(await owner.sql`select xmin, * from keywarden.ledger_cosignature`)];
  const first = await cosignatures();
  expect(await whyLedgerDiffers(enforcing)).toBeNull();
  expect(await cosignatures(), 'the first cosignature stays').toEqual(first);
  const snapshot = `${place.folder}.snapshot`;
  cpSync(place.folder, snapshot, { recursive: true });
  const size = readSeen(place.folder)?.size;
  await machines.addEvent();
  await growAndWitness(place);
  await loseSince(size);
  rmSync(place.folder, { recursive: true });
  cpSync(snapshot, place.folder, { recursive: true });
  rmSync(snapshot, { recursive: true });
  expect(await whyLedgerDiffers(enforcing)).toMatch(/^an incident about the ledger is open/);
  const [incident] = await owner.sql`select detail ->> 'why' as why from keywarden.incident`;
  expect(incident?.why).toContain('has seen more events than the store has');
});

test('a witness that does not answer stops no enforcement on a machine that remembers its last checkpoint', async () => {
  const place = await createLogMachine(await startWitness());
  await growAndWitness(place);
  expect(await whyLedgerDiffers(movedTo(place, 'http://127.0.0.1:9'))).toBeNull();
});

test.each([
  ['the cosignature of its newest checkpoint', async () => {}],
  ['no cosignature', forgetCosignatures],
])(
  'a machine without its last checkpoint signs no second history of a restored store that has %s',
  async (_what, change) => {
    const { forgetful, size } = await restoreWithoutMemory(await startWitness());
    await change();
    await machines.addEvent('another history');
    const refused = { state: 'inconsistent', why: expect.stringContaining('has seen more events than the store has') };
    for (let pass = 0; pass < 2; pass += 1) expect(await growLedger(forgetful)).toMatchObject(refused);
    expect(await readNewestCheckpoint(forgetful.store.db)).toMatchObject({ size });
    expect(readSeen(forgetful.folder)).toBeNull();
    expect(await hasOpenIncident(forgetful.store.db, 'ledger_inconsistent')).toBe(true);
  },
);

test.each([
  ['no checkpoint', ''],
  ['the checkpoint of the tree without an event', 'where size > 0'],
])('a machine without its last checkpoint signs no second history of a store that has %s', async (_what, which) => {
  const url = await startWitness();
  const place = await createLogMachine(url);
  await machines.addEvent();
  await growLedger(place);
  expect(await askWitnesses(place)).toEqual([]);
  await machines.behindTriggers(`
    delete from keywarden.ledger_cosignature;
    delete from keywarden.ledger_checkpoint ${which};
    delete from keywarden.ledger_tile;
    update keywarden.ledger_event set leaf_index = null`);
  await machines.addEvent('another history');
  const forgetful = await createLogMachine(url);
  const refused = { state: 'inconsistent', why: expect.stringContaining('has seen more events than the store has') };
  expect(await growLedger(forgetful)).toMatchObject(refused);
  expect(await owner.sql`select from keywarden.ledger_checkpoint where size > 0`).toEqual([]);
  expect(await hasOpenIncident(forgetful.store.db, 'ledger_inconsistent')).toBe(true);
});

test.each([
  ['does not answer', async () => 'http://127.0.0.1:9'],
  ['it answers 502', async () => await startAnswer((response) => void response.writeHead(502).end())],
  ['it answers 403', async () => await startWitness([createSigner(log.verifier.name, 'log').verifier])],
])('a new ledger waits for a witness that may have seen more of it: %s', async (says, start) => {
  const first = await createLogMachine(await start());
  expect(await growLedger(first)).toMatchObject({ state: 'unconfirmed', why: expect.stringContaining(says) });
  expect(await readNewestCheckpoint(first.store.db)).toBeNull();
});

test.each([
  ['does not know it', async () => await startWitness([])],
  ['takes no empty tree', async () => await startAnswer((response) => void response.writeHead(400).end())],
])('a new ledger begins although its witness %s', async (_what, start) => {
  expect(await growLedger(await createLogMachine(await start()))).toMatchObject({ state: 'grown' });
});

test('a machine that creates the key of a new ledger asks no witness', async () => {
  const LEDGER_WITNESSES = `${witnessKey.verifier.text} http://127.0.0.1:9`;
  const place = await machines.create({ LEDGER_WITNESSES });
  expect(await growLedger(place, { createsKey: true })).toMatchObject({ state: 'grown' });
});

test('a machine without its last checkpoint signs when a witness has confirmed the newest one, and asks once', async () => {
  const url = await startWitness();
  const place = await createLogMachine(url);
  await machines.addEvent();
  await growLedger(place);
  await askWitnesses(place);
  await machines.addEvent();
  const forgetful = await createLogMachine('http://127.0.0.1:9');
  const waits = {
    state: 'unconfirmed',
    why: expect.stringMatching(/^this machine remembers no checkpoint.*does not answer/),
  };
  expect(await growLedger(forgetful)).toMatchObject(waits);
  expect(await whyLedgerDiffers(forgetful)).toMatch(/^this machine remembers no checkpoint/);
  expect(await growAndWitness(forgetful)).toMatchObject({ failures: [expect.stringContaining('does not answer')] });
  expect(await hasOpenIncident(place.store.db, 'ledger_inconsistent')).toBe(false);
  const seen = readSeen(place.folder)?.size ?? 0;
  expect(await growLedger(movedTo(forgetful, url))).toMatchObject({ state: 'grown', size: seen + 2 });
  await machines.addEvent();
  expect(await growLedger(forgetful)).toMatchObject({ state: 'grown', size: seen + 4 });
});

test('a machine without its last checkpoint signs no tree that lacks what a witness has just confirmed', async () => {
  const url = await startWitness();
  const place = await createLogMachine(url);
  await machines.addEvent();
  await growLedger(place);
  await askWitnesses(place);
  const lose =
    'delete from keywarden.ledger_cosignature; delete from keywarden.ledger_checkpoint where size > 0; delete from keywarden.ledger_event; delete from keywarden.pause';
  const restore = async () => await machines.behindTriggers(lose);
  const forgetful = await createLogMachine(url);
  // The first transaction follows the answer of the witness.
  expect(await growLedger(interrupt(forgetful, 1, restore))).toMatchObject({ state: 'inconsistent' });
  expect(readSeen(forgetful.folder)).toMatchObject({ size: readSeen(place.folder)?.size });
});

test('a witness that another machine has sent a newer checkpoint confirms no older one', async () => {
  const place = await createLogMachine(await startWitness());
  await machines.addEvent();
  await growLedger(place);
  const url = await startAnswer(async (response) => {
    await machines.addEvent();
    await growLedger(place);
    response.writeHead(409).end(`${(await readNewestCheckpoint(place.store.db))?.size}\n`);
  });
  const waits = { state: 'unconfirmed', why: expect.stringContaining('it has a newer checkpoint') };
  expect(await growLedger(await createLogMachine(url))).toMatchObject(waits);
  expect(await hasOpenIncident(place.store.db, 'ledger_inconsistent')).toBe(false);
});

test('one witness that confirms the newest checkpoint is enough, and one that has seen another history too much', async () => {
  const url = await startWitness();
  const { forgetful } = await restoreWithoutMemory(url);
  const other = createSigner('witness.example/two', 'witness');
  const both = (first: string, second: string) => ({
    ...forgetful,
    environment: { ...forgetful.environment, LEDGER_WITNESSES: [`${other.verifier.text} ${first}`, second].join('\n') },
  });
  const silent = both('http://127.0.0.1:9', `${witnessKey.verifier.text} ${url}`);
  expect(await growLedger(silent)).toMatchObject({ state: 'inconsistent' });
  rmSync(witnessFolder, { recursive: true });
  mkdirSync(witnessFolder);
  expect(await growLedger(silent)).toMatchObject({ state: 'grown' });
});
