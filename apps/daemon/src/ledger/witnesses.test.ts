import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { formatCheckpoint, openNote, rootOfLeaves, signNote, verifyReceipt } from '@keywarden/core/ledger';
import { hasOpenIncident, listCosigned, makeReceipts, readPlacedEvents, readSignedTree } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import {
  createLogMachine,
  log,
  movedTo,
  now,
  otherWitnessKey,
  startAnswer,
  startWitness,
  useWitness,
  witnessFolder,
  witnessKey,
} from '@keywarden/testkit/daemon/witness';
import { expect, test } from 'vitest';
import { beginAnew } from './begin-anew.ts';
import { growLedger } from './ledger.ts';
import { readSigningKeys } from './signing-keys.ts';
import { askWitnesses, readWitnesses } from './witnesses.ts';

// The log and its witness over HTTP, each with a key and a folder of its own.

useMachines();
useWitness();

const read = (LEDGER_WITNESSES: string) => readWitnesses(readEnvironment({ LEDGER_WITNESSES }));

test('a line of LEDGER_WITNESSES is the key of a witness and its address', () => {
  expect(read(`${witnessKey.verifier.text} https://w.example/`)).toMatchObject([{ url: 'https://w.example' }]);
  const variables = { LEDGER_WITNESSES: `${witnessKey.verifier.text} http://w.example`, ALLOW_HTTP: '1' };
  expect(readWitnesses(readEnvironment(variables))).toMatchObject([{ url: 'http://w.example' }]);
});

test.each([
  'x',
  `${log.verifier.text} https://w.example`,
  `${witnessKey.verifier.text} http://w.example`,
  `${witnessKey.verifier.text} https://w.example more`,
  `${witnessKey.verifier.text} https://ada:secret@w.example`,
  `${witnessKey.verifier.text} https://w.example/?key=secret`,
])('another line is refused, and not shown: %s', (line) => {
  expect(() => read(line)).toThrow(/^A line of LEDGER_WITNESSES is not the public key of a witness/);
  expect(() => read(line)).not.toThrow(/secret/);
});

test('a witness cosigns each checkpoint that continues the last one, and receipts show its time', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  expect(await askWitnesses(place)).toEqual([]);
  for (let count = 0; count < 3; count += 1) {
    await machines.addEvent();
    await growLedger(place);
    expect(await askWitnesses(place)).toEqual([]);
  }
  expect(await askWitnesses(movedTo(place, 'http://127.0.0.1:9')), 'it is not asked again').toEqual([]);
  const tree = await readSignedTree(place.store.db, { prefersCosigned: true });
  if (tree === null) throw new Error('no tree');
  const events = await readPlacedEvents(place.store.db, { subjects: ['pause/1'], size: tree.size });
  const [receipt = ''] = await makeReceipts(place.store.db, events, tree);
  const keys = [...readSigningKeys(place.environment).map(({ verifier }) => verifier), witnessKey.verifier];
  expect(verifyReceipt(receipt, keys)).toMatchObject({
    witnesses: [{ name: 'witness.example/one', time: now() / 1000 }],
  });
});

test('a witness that has a key of each algorithm cosigns with both, and is not asked again', async () => {
  const folder = mkdtempSync(join(witnessFolder, 'other-'));
  const urls = [await startWitness(), await startWitness([log.verifier], { signer: otherWitnessKey, folder })];
  const place = movedTo(await createLogMachine(''), ...urls);
  await machines.addEvent();
  await growLedger(place);
  expect(await askWitnesses(place)).toEqual([]);
  expect(await askWitnesses(movedTo(place, 'http://127.0.0.1:9', 'http://127.0.0.1:9'))).toEqual([]);
  const tree = await readSignedTree(place.store.db, { prefersCosigned: true });
  const keys = [witnessKey, otherWitnessKey].map(({ verifier }) => verifier);
  expect(openNote(tree?.note ?? '', keys)?.signatures.map(({ by }) => by.algorithm)).toEqual(['ed25519', 'ml-dsa-44']);
});

test('a ledger that was begun anew is cosigned by a witness that knows its new key, and receipts have the new name', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  expect(await askWitnesses(place)).toEqual([]);
  const environment = { ...place.environment, LEDGER_KEY: undefined };
  const anew = { ...place, environment };
  expect([...(await listCosigned(place.store.db)).keys()]).toEqual(['witness.example/one']);
  await beginAnew(anew, { reason: 'restored', by: 'ada' });
  expect(await askWitnesses(anew)).toEqual([expect.stringContaining('it answers 404, as a witness')]);
  expect(await listCosigned(place.store.db)).toEqual(new Map());
  const own = readSigningKeys(environment).map(({ verifier }) => verifier);
  expect((await readSignedTree(place.store.db, { prefersCosigned: true }))?.note.split('\n')[0]).toBe(own[0]?.name);
  const url = await startWitness([log.verifier, ...own]);
  expect(await askWitnesses(movedTo(anew, url))).toEqual([]);
  const tree = await readSignedTree(place.store.db, { prefersCosigned: true });
  expect(openNote(tree?.note ?? '', own)).not.toBeNull();
  expect(tree?.note).toContain('— witness.example/one');
  expect(await listCosigned(place.store.db)).toEqual(new Map([['witness.example/one', tree?.size]]));
});

test('a witness that has the state of another time is asked again with the size that it names', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  await askWitnesses(place);
  await owner.sql`delete from keywarden.ledger_cosignature`;
  await machines.addEvent();
  await growLedger(place);
  expect(await askWitnesses(place)).toEqual([]);
  expect(await owner.sql`select size from keywarden.ledger_cosignature`).toHaveLength(1);
});

test.each([
  [
    'fewer events',
    'has seen',
    'delete from keywarden.ledger_checkpoint where size = (select max(size) from keywarden.ledger_checkpoint)',
  ],
  [
    'other events',
    'has seen other events',
    `update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0`,
  ],
])('a store with %s than the witness has seen opens an incident with that reason once', async (_what, why, change) => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  await machines.addEvent();
  await growLedger(place);
  expect(await askWitnesses(place)).toEqual([]);
  await owner.sql`delete from keywarden.ledger_cosignature`;
  await owner.sql.unsafe(change);
  if (why.endsWith('events')) {
    // The next checkpoint signs the changed hashes, as an owner with the key makes it.
    const [tile] = await owner.sql`select hashes from keywarden.ledger_tile where level = 0`;
    const bytes = tile?.hashes as Buffer;
    const leaves = Array.from({ length: bytes.length / 32 }, (_, index) => bytes.subarray(index * 32, index * 32 + 32));
    const note = signNote(
      formatCheckpoint({ origin: log.verifier.name, size: leaves.length, root: rootOfLeaves(leaves) }),
      [log],
      0,
    );
    await owner.sql`update keywarden.ledger_checkpoint set note = ${note} where size = ${leaves.length}`;
  }
  expect(await askWitnesses(place)).toEqual([expect.stringContaining(why)]);
  await growLedger(place);
  await askWitnesses(place);
  const [incident] = await owner.sql`select detail ->> 'why' as why from keywarden.incident`;
  expect(String(incident?.why).split(why)).toHaveLength(2);
});

test.each([
  [409, 'Conflict', 'it answers 409'],
  [422, 'Unprocessable', 'it answers 422'],
  [302, '', 'it answers 302'],
  [403, '', 'its operator gives it that key with --log'],
])('a proxy that answers %i opens no incident', async (status, text, why) => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  const url = await startAnswer((response) => void response.writeHead(status).end(text));
  expect(await askWitnesses(movedTo(place, url))).toEqual([expect.stringContaining(why)]);
  expect(await hasOpenIncident(place.store.db, 'ledger_inconsistent')).toBe(false);
});

test('a witness that another machine has sent a newer checkpoint is no contradiction', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  // The other machine signs while this one waits for the answer.
  const url = await startAnswer(async (response) => {
    await machines.addEvent();
    await growLedger(place);
    const [newest] = await owner.sql`select max(size) as size from keywarden.ledger_checkpoint`;
    response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${String(newest?.size)}\n`);
  });
  expect(await askWitnesses(movedTo(place, url))).toEqual([]);
  expect(await hasOpenIncident(place.store.db, 'ledger_inconsistent')).toBe(false);
});

test('an invented cosignature in the store keeps no witness from being asked', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  await owner.sql`
    insert into keywarden.ledger_cosignature (size, witness, lines) select max(size), 'witness.example/one', ${'— witness.example/one AAAA\n'} from keywarden.ledger_checkpoint`;
  expect(await askWitnesses(place)).toEqual([]);
  expect(await owner.sql`select lines from keywarden.ledger_cosignature where length(lines) < 50`).toEqual([]);
});

test('an endless answer of a witness, and a cosignature of another time, are refused', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  const late = { ...place, now: () => now() + 2 * 3_600_000 };
  expect(await askWitnesses(late)).toEqual([expect.stringContaining('no valid cosignature of this hour')]);
  const url = await startAnswer((response) => {
    response.on('drain', () => response.write('x'.repeat(100_000)));
    response.write('x'.repeat(100_000));
  });
  const failures = await askWitnesses(movedTo(place, url));
  expect(failures).toEqual([expect.stringContaining('it does not answer (invalid_response)')]);
});

test('a witness that does not answer is named', async () => {
  const place = await createLogMachine(await startWitness());
  await growLedger(place);
  expect(await askWitnesses(movedTo(place, 'http://127.0.0.1:9'))).toEqual([
    expect.stringMatching(/^witness witness\.example\/one: it does not answer/),
  ]);
});
