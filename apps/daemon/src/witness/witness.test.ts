import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSigningKey,
  encodeHash,
  formatCheckpoint,
  hashLeaf,
  openNote,
  parseSigningKey,
  rootOfLeaves,
  type Signer,
  signNote,
  verifyReceipt,
} from '@keywarden/core/ledger';
import { hasOpenIncident, makeReceipts, readPlacedEvents, readSignedTree } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { listen, listenWith } from '@keywarden/testkit/report/served';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { beginAnew } from '../ledger/begin-anew.ts';
import { growLedger } from '../ledger/ledger.ts';
import { readSigningKeys } from '../ledger/signing-keys.ts';
import { askWitnesses } from '../ledger/witnesses.ts';
import { createWitness, holdWitnessFolder } from './witness.ts';

// The log and its witness over HTTP, each with a key and a folder of its own.

let owner: TestStore;
let folder: string;
let witnessFolder: string;
const witnessKey = parse(createSigningKey('witness.example/one', 'witness'));
const log = parse(createSigningKey('keywarden/log', 'log'));
const now = () => Date.parse('2999-05-01T00:00:00Z');
const signal = new AbortController().signal;
const closing: (() => Promise<unknown>)[] = [];

function parse(text: string): Signer & { text: string } {
  const signer = parseSigningKey(text);
  if (signer === null) throw new Error('no key');
  return { ...signer, text };
}

beforeEach(async () => {
  owner = await createTestStore(inject('postgresUrl'));
  folder = mkdtempSync(join(tmpdir(), 'keywarden-log-'));
  witnessFolder = mkdtempSync(join(tmpdir(), 'keywarden-witness-'));
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await owner.close();
  for (const each of [folder, witnessFolder]) rmSync(each, { recursive: true });
});

/** Starts the witness, and returns its address. */
async function startWitness(logs = [log.verifier]): Promise<string> {
  const app = createWitness({ signer: witnessKey, logs, folder: witnessFolder, now });
  app.onError((_error, c) => c.text('cannot\n', 503));
  const served = await listen(app);
  closing.push(served.close);
  return served.url;
}

async function logOf(url: string) {
  const environment = readEnvironment({
    KEYWARDEN_DATA: folder,
    LEDGER_KEY: log.text,
    LEDGER_WITNESSES: `${witnessKey.verifier.text} ${url}`,
  });
  return { store: await owner.as('keywarden_daemon'), environment, now };
}

const addEvent = async () => await owner.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;

test('a witness cosigns each checkpoint that continues the last one, and receipts show its time', async () => {
  const place = await logOf(await startWitness());
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([]);
  for (let count = 0; count < 3; count += 1) {
    await addEvent();
    await growLedger(place);
    expect(await askWitnesses(place, signal)).toEqual([]);
  }
  expect(await askWitnesses(await logOf('http://127.0.0.1:9'), signal), 'it is not asked again').toEqual([]);
  const tree = await readSignedTree(place.store.db, { prefersCosigned: true });
  if (tree === null) throw new Error('no tree');
  const events = await readPlacedEvents(place.store.db, { subjects: ['pause/1'], size: tree.size });
  const [receipt = ''] = await makeReceipts(place.store.db, events, tree);
  const keys = [...readSigningKeys(place.environment).map(({ verifier }) => verifier), witnessKey.verifier];
  expect(verifyReceipt(receipt, keys)).toMatchObject({
    witnesses: [{ name: 'witness.example/one', time: now() / 1000 }],
  });
});

test('a ledger that was begun anew is cosigned by a witness that knows its new key, and receipts have the new name', async () => {
  const place = await logOf(await startWitness());
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([]);
  const environment = { ...place.environment, LEDGER_KEY: undefined };
  const anew = { ...place, environment };
  await beginAnew(anew, { reason: 'restored', by: 'ada' });
  expect(await askWitnesses(anew, signal)).toEqual([expect.stringContaining('it answers 404, as a witness')]);
  const own = readSigningKeys(environment).map(({ verifier }) => verifier);
  expect((await readSignedTree(place.store.db, { prefersCosigned: true }))?.note.split('\n')[0]).toBe(own[0]?.name);
  const url = await startWitness([log.verifier, ...own]);
  const witnessed = {
    ...anew,
    environment: { ...environment, LEDGER_WITNESSES: `${witnessKey.verifier.text} ${url}` },
  };
  expect(await askWitnesses(witnessed, signal)).toEqual([]);
  const tree = await readSignedTree(place.store.db, { prefersCosigned: true });
  expect(openNote(tree?.note ?? '', own)).not.toBeNull();
  expect(tree?.note).toContain('— witness.example/one');
});

test('a witness that has the state of another time is asked again with the size that it names', async () => {
  const place = await logOf(await startWitness());
  await growLedger(place);
  await askWitnesses(place, signal);
  await owner.sql`delete from keywarden.ledger_cosignature`;
  await addEvent();
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([]);
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
  const place = await logOf(await startWitness());
  await growLedger(place);
  await addEvent();
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([]);
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
  expect(await askWitnesses(place, signal)).toEqual([expect.stringContaining(why)]);
  await growLedger(place);
  await askWitnesses(place, signal);
  const [incident] = await owner.sql`select detail ->> 'why' as why from keywarden.incident`;
  expect(String(incident?.why).split(why)).toHaveLength(2);
});

test('a witness answers as c2sp.org/tlog-witness says', async () => {
  const url = await startWitness();
  const leaves = Array.from({ length: 5 }, (_, index) => hashLeaf(String(index)));
  const noteOf = (size: number, { signer = log }: { signer?: Signer } = {}) =>
    signNote(
      formatCheckpoint({ origin: signer.verifier.name, size, root: rootOfLeaves(leaves.slice(0, size)) }),
      [signer],
      0,
    );
  const post = async (body: string) => {
    const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    return [response.status, response.headers.get('content-type'), await response.text()] as const;
  };
  const other = parse(createSigningKey('keywarden/log', 'log'));
  const stranger = parse(createSigningKey('keywarden/another', 'log'));
  expect((await post(`old 0\n\n${noteOf(3, { signer: stranger })}`))[0]).toBe(404);
  expect((await post(`old 0\n\n${noteOf(3, { signer: other })}`))[0]).toBe(403);
  for (const body of [
    '',
    'old 0',
    `old 00\n\n${noteOf(3)}`,
    `old x\n\n${noteOf(3)}`,
    `old 0\nx\n\n${noteOf(3)}`,
    `old 4\n\n${noteOf(3)}`,
  ])
    expect((await post(body))[0], `the body ${JSON.stringify(body.slice(0, 10))}`).toBe(400);
  // An empty tree has one root.
  const empty = signNote(formatCheckpoint({ origin: log.verifier.name, size: 0, root: hashLeaf('x') }), [log], 0);
  for (const note of [empty, 'no note', noteOf(3).replace('3', 'three')])
    expect((await post(`old 0\n\n${note}`))[0]).toBe(400);
  // A proof where there must be none.
  expect((await post(`old 0\n${encodeHash(hashLeaf('x'))}\n\n${noteOf(3)}`))[0]).toBe(422);
  const [status, type, text] = await post(`old 0\n\n${noteOf(3)}`);
  expect([status, type]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(text).toMatch(/^— witness\.example\/one \S+\n$/);
  expect(await post(`old 0\n\n${noteOf(5)}`)).toEqual([409, 'text/x.tlog.size', '3\n']);
  expect((await post(`old 3\n\n${noteOf(5)}`))[0]).toBe(422);
  // The same size with the same root is cosigned again, and another root is not.
  expect((await post(`old 3\n\n${noteOf(3)}`))[0]).toBe(200);
  leaves[0] = hashLeaf('another history');
  expect((await post(`old 3\n\n${noteOf(3)}`))[0]).toBe(409);
  leaves[0] = hashLeaf('0');
  // Of two trees that continue the last one, the first is cosigned.
  const grown = (event: string) => {
    leaves[4] = hashLeaf(event);
    const proof = [...leaves.slice(2, 4), rootOfLeaves(leaves.slice(0, 2)), leaves[4]];
    return `old 3\n${proof.map(encodeHash).join('\n')}\n\n${noteOf(5)}`;
  };
  expect((await post(grown('4')))[0]).toBe(200);
  expect(await post(grown('another'))).toEqual([409, 'text/x.tlog.size', '5\n']);
  expect((await post('x'.repeat(200_000)))[0]).toBe(413);
  // After a restart it has the same state, and a damaged one is never replaced.
  const again = await startWitness();
  const repeated = await fetch(`${again}/add-checkpoint`, { method: 'POST', body: `old 0\n\n${noteOf(5)}` });
  expect([repeated.status, await repeated.text()]).toEqual([409, '5\n']);
  for (const name of readdirSync(witnessFolder)) writeFileSync(join(witnessFolder, name), 'damaged');
  const damaged = await fetch(`${again}/add-checkpoint`, { method: 'POST', body: `old 0\n\n${noteOf(5)}` });
  expect(damaged.status).toBe(503);
});

/** Starts a server that answers each request in the same way. */
async function startAnswer(answer: (response: ServerResponse, asked: number) => Promise<void> | void): Promise<string> {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    void answer(response, asked);
  });
  const served = await listenWith(server);
  closing.push(served.close);
  return served.url;
}

test.each([
  [409, 'Conflict', 'it answers 409'],
  [422, 'Unprocessable', 'it answers 422'],
  [302, '', 'it answers 302'],
  [403, '', 'its operator gives it that key with --log'],
])('a proxy that answers %i opens no incident', async (status, text, why) => {
  const place = await logOf(await startAnswer((response) => void response.writeHead(status).end(text)));
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([expect.stringContaining(why)]);
  expect(await hasOpenIncident(place.store.db, 'ledger_inconsistent')).toBe(false);
});

test('a witness that another machine has sent a newer checkpoint is no contradiction', async () => {
  // The other machine signs while this one waits for the answer.
  const url = await startAnswer(async (response) => {
    await addEvent();
    await growLedger(place);
    const [newest] = await owner.sql`select max(size) as size from keywarden.ledger_checkpoint`;
    response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${String(newest?.size)}\n`);
  });
  const place = await logOf(url);
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([]);
  expect(await hasOpenIncident(place.store.db, 'ledger_inconsistent')).toBe(false);
});

test('an invented cosignature in the store keeps no witness from being asked', async () => {
  const place = await logOf(await startWitness());
  await growLedger(place);
  await owner.sql`
    insert into keywarden.ledger_cosignature (size, witness, lines) select max(size), 'witness.example/one', ${'— witness.example/one AAAA\n'} from keywarden.ledger_checkpoint`;
  expect(await askWitnesses(place, signal)).toEqual([]);
  expect(await owner.sql`select lines from keywarden.ledger_cosignature where length(lines) < 50`).toEqual([]);
});

test('an endless answer of a witness, and a cosignature of another time, are refused', async () => {
  const place = await logOf(await startWitness());
  await growLedger(place);
  const late = { ...place, now: () => now() + 2 * 3_600_000 };
  expect(await askWitnesses(late, signal)).toEqual([expect.stringContaining('no valid cosignature of this hour')]);
  const url = await startAnswer((response) => {
    response.on('drain', () => response.write('x'.repeat(100_000)));
    response.write('x'.repeat(100_000));
  });
  const failures = await askWitnesses(await logOf(url), signal);
  expect(failures).toEqual([expect.stringContaining('it does not answer (invalid_response)')]);
});

test('two witnesses do not work in one folder', () => {
  const letGo = holdWitnessFolder(witnessFolder);
  expect(() => holdWitnessFolder(witnessFolder)).toThrow(/^Another witness works in /);
  letGo();
  holdWitnessFolder(witnessFolder)();
});

test('a witness that does not answer is named', async () => {
  const place = await logOf('http://127.0.0.1:9');
  await growLedger(place);
  expect(await askWitnesses(place, signal)).toEqual([
    expect.stringMatching(/^witness witness\.example\/one: it does not answer/),
  ]);
});
