import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSigningKey,
  formatCheckpoint,
  growTree,
  hashLeaf,
  hashRanges,
  parseSigningKey,
  signNote,
  unpackEntries,
} from '@keywarden/core/ledger';
import { saveOperationPage } from '@keywarden/db/daemon';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { createTestLedger } from '@keywarden/testkit/store/ledger';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { copyLedger, download, type Files, pack, unpack, verifyBytes, verifyPath } from './packs.ts';

// What an auditor gets from the report, checked with the public key alone; and each way to change it.

let fixture: Fixture;
let folder: string;
let operations: Files;
let evidence: Files;
const period = 'from=2026-05-01&to=2026-05-03&project_id=quiet-river';
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  folder = mkdtempSync(join(tmpdir(), 'keywarden-packs-'));
  const { store, daemon, ledger } = fixture;
  const [project] = await store.sql`select number from keywarden.project where id = 'quiet-river'`;
  const number = String(project?.number);
  const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-04T00:00:00Z' };
  await store.sql`
    update keywarden.project set created_at = '2026-05-01', walked_at = '2026-05-31', last_seen_at = '2026-05-31' where number = ${number}`;
  const odd = { error: 'a "quoted"\nerror \u2028é', extra: { n: 1.5, '}': ['"'] }, retryAt: '2026-05-02T00:00:00.1Z' };
  await saveOperationPage(daemon.sql, {
    project: number,
    operations: [makeWireOperation(100_000, odd), makeWireOperation(100_001), makeWireOperation(190_000)],
    proof,
  });
  await store.sql`
    insert into keywarden.incident (kind, scope, detail, opened_at) values ('breaker', 'organization:acme', '{"why": "a test"}', '2026-05-10')`;
  await store.sql`insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('kept', 'ada', '2026-05-02', '2027-01-01')`;
  await ledger.sign();
  operations = unpack(await download(fixture, `/v1/exports/sealed-operations?${period}`));
  evidence = unpack(await download(fixture, '/v1/evidence?from=2026-05-01&to=2026-05-31'));
});
afterAll(async () => {
  await fixture.close();
  rmSync(folder, { recursive: true });
});

const verify = async (files: Files, key = fixture.ledger.publicKey) => await verifyBytes(folder, pack(files), key);
const change = (files: Files, name: RegExp, edit: (text: string) => string): Files => {
  const found = Object.keys(files).find((each) => name.test(each)) ?? '';
  const edited = edit(files[found] ?? '');
  if (edited === files[found]) throw new Error(`${found} did not change`);
  return { ...files, [found]: edited };
};
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
const editLines = (edit: (lines: string[]) => string[]) => (text: string) => `${edit(linesOf(text)).join('\n')}\n`;

test('an archive of operations is proven, day by day, with the public key alone', async () => {
  const { rank, words } = await verify(operations);
  expect(words).toContain('operations of 3 days are exactly those that were archived');
  expect(rank).toBe(0);
  expect(operations['VERIFY.md']).toContain(
    'keywarden verify keywarden-operations-quiet-river-2026-05-01-2026-05-03.zip',
  );
});

test('days without a seal and days with gaps are named, and are not proven', async () => {
  const beyond = '/v1/exports/sealed-operations?from=2026-04-29&to=2026-05-25&project_id=quiet-river';
  const { rank, words } = await verify(unpack(await download(fixture, beyond)));
  expect(rank).toBe(1);
  expect(words).toContain('2026-04-29 to 2026-04-30 has no seal');
  expect(words).toMatch(/did not claim to have everything from 2026-05-2\dT00:00:00Z to 2026-05-2\dT00:00:00Z/);
});

const rows = /^operations\//;
const seals = /^seals\//;
test.each<[string, (files: Files) => Files]>([
  ['an operation is altered', (files) => change(files, rows, (text) => text.replace('"finished"', '"failed"'))],
  [
    'an operation is backdated',
    (files) => change(files, rows, (text) => text.replace(/"seen_at" ?: ?"2/, '"seen_at":"1')),
  ],
  [
    'an operation moves to another time of its day',
    (files) => change(files, rows, (text) => text.replace('2026-05-01T00:00:01Z', '2026-05-01T00:00:00.5Z')),
  ],
  [
    'the free fields of an operation are altered',
    (files) => change(files, rows, (text) => text.replace('1.5', '1.50')),
  ],
  [
    'an operation is deleted',
    (files) =>
      change(
        files,
        rows,
        editLines((lines) => lines.slice(1)),
      ),
  ],
  [
    'an operation is added',
    (files) =>
      change(
        files,
        rows,
        editLines((lines) => [...lines, ...lines.slice(-1)]),
      ),
  ],
  [
    'operations change their order',
    (files) =>
      change(
        files,
        rows,
        editLines(([one = '', two = '', ...rest]) => [one, ...rest, two]),
      ),
  ],
  [
    'an operation is of another project',
    (files) => change(files, rows, (text) => text.replace('quiet-river', 'bold-moon')),
  ],
  [
    'an operation has a field twice',
    (files) => change(files, rows, (text) => text.replace('{', '{"status":"failed",')),
  ],
  ['the export is cut', (files) => change(files, rows, (text) => text.slice(0, -30))],
  [
    'the operations are those of another day',
    (files) => change(files, rows, (text) => text.replaceAll('2026-05-02', '2026-05-09')),
  ],
  [
    'a seal is of another day',
    (files) =>
      change(
        files,
        seals,
        editLines((lines) => [lines[0] ?? '', lines[0] ?? '', ...lines.slice(2)]),
      ),
  ],
  ['a receipt is altered', (files) => change(files, seals, (text) => text.replace(/index (\d+)/, 'index 1$1'))],
  [
    'the checkpoint is altered',
    (files) => change(files, seals, (text) => text.replace(/\\ntest\\n(\d+)\\n/, '\\\\ntest\\\\n1$1\\\\n')),
  ],
  [
    'the manifest names another project',
    (files) => change(files, /manifest/, (text) => text.replaceAll('quiet-river', 'bold-moon')),
  ],
  ['a file is missing', ({ 'seals/00001.ndjson': _seals, ...files }) => files],
  ['the manifest is no JSON', (files) => change(files, /manifest/, (text) => text.slice(1))],
])('archive of operations: if %s, keywarden verify refuses it', async (_what, edit) => {
  expect((await verify(edit(operations))).rank).toBe(2);
});

test('a day whose seal was left out is not proven', async () => {
  const { rank, words } = await verify(
    change(
      operations,
      seals,
      editLines((lines) => lines.slice(1)),
    ),
  );
  expect(rank).toBe(1);
  expect(words).toContain('2026-05-01 has no seal');
});

test('another key, no archive, and a cut archive prove nothing', async () => {
  const other = createTestLedger(fixture.daemon, createSigningKey('test', 'log')).publicKey;
  expect((await verify(operations, other)).rank).toBe(2);
  const whole = pack(operations);
  for (const length of [whole.length - 1, whole.length - 30, Math.floor(whole.length / 2)])
    await expect(verifyBytes(folder, whole.subarray(0, length), fixture.ledger.publicKey)).rejects.toThrow(
      /is no whole zip archive/,
    );
  await expect(verifyBytes(folder, operations['operations/00001.ndjson'] ?? '', other)).rejects.toThrow(
    /is an export without receipts/,
  );
  expect((await verifyBytes(folder, 'garbage', other)).rank).toBe(2);
});

test('what was recorded in the future is not proven', async () => {
  const { rank, words } = await verifyBytes(folder, pack(operations), fixture.ledger.publicKey, Date.UTC(2026, 4, 20));
  expect([rank, words]).toEqual([2, expect.stringContaining('of a time in the future')]);
});

test('a file of one gigabyte is refused with little memory', async () => {
  const file = join(folder, 'huge');
  writeFileSync(file, 'not an archive');
  truncateSync(file, 1_000_000_000);
  const before = process.memoryUsage().rss;
  await expect(verifyPath(file, fixture.ledger.publicKey)).rejects.toThrow(/larger than a receipt can be/);
  writeFileSync(file, 'PK\u0003\u0004');
  truncateSync(file, 1_000_000_000);
  await expect(verifyPath(file, fixture.ledger.publicKey)).rejects.toThrow(/is no whole zip archive/);
  const bomb = pack({ ...operations, 'operations/00001.ndjson': 'x'.repeat(200_000_000) });
  expect((await verifyBytes(folder, bomb, fixture.ledger.publicKey)).words).toContain(
    'a line of operations/00001.ndjson is too long',
  );
  expect(process.memoryUsage().rss - before).toBeLessThan(1_000_000_000);
});

test('an archive of evidence proves what the ledger has, and says what it does not', async () => {
  const { rank, words } = await verify(evidence);
  expect(rank).toBe(1);
  expect(words).toMatch(/\d+ governance events are in the ledger/);
  expect(words).toMatch(/-incidents\.ndjson: \d+ rows are what the ledger recorded/);
  expect(words).toContain('coverage/operations.ndjson: the ledger does not have what it is computed from');
});

/** Edits a file of an evidence archive, and its hash in the manifest, as somebody who forges it does. */
const forge = (name: RegExp, edit: (text: string) => string) => (files: Files) => {
  const edited = change(files, name, edit);
  const found = Object.keys(files).find((each) => name.test(each)) ?? '';
  const hash = (text = '') => createHash('sha256').update(text).digest('hex');
  return change(edited, /manifest/, (text) => text.replaceAll(hash(files[found]), hash(edited[found])));
};
test.each<[string, (files: Files) => Files]>([
  ['a file is altered', (files) => change(files, /-incidents\.ndjson$/, (text) => text.replace('breaker', 'orphan'))],
  ['a file is added', (files) => ({ ...files, 'another.txt': 'x' })],
  [
    'a file is missing',
    (files) => Object.fromEntries(Object.entries(files).filter(([name]) => !name.startsWith('coverage/'))),
  ],
  ['a row is altered, and its hash too', forge(/-incidents\.ndjson$/, (text) => text.replace('breaker', 'orphan'))],
  [
    'a row is backdated, and its hash too',
    forge(/-incidents\.ndjson$/, (text) => text.replace(/"opened_at" ?: ?"20\d\d/, '"opened_at":"2020')),
  ],
  [
    'a receipt is altered, and its hash too',
    forge(/receipts\.ndjson$/, (text) => text.replace(/index (\d)/, 'index 1$1')),
  ],
  [
    'receipts change their order',
    forge(
      /receipts\.ndjson$/,
      editLines((lines) => lines.toReversed()),
    ),
  ],
])('archive of evidence: if %s, keywarden verify refuses it', async (_what, edit) => {
  expect((await verify(edit(evidence))).rank).toBe(2);
});

test('the whole ledger, as its routes serve it, is proven; and each change of it is refused', async () => {
  const copy = mkdtempSync(join(folder, 'copy-'));
  await copyLedger(fixture, copy);
  expect(await verifyPath(copy, fixture.ledger.publicKey)).toMatchObject({ rank: 0 });
  const size = readFileSync(join(copy, 'checkpoint'), 'utf8').split('\n')[1] ?? '';
  for (const name of [`tile/entries/000.p/${size}`, `tile/0/000.p/${size}`, 'checkpoint']) {
    const file = join(copy, name);
    const whole = readFileSync(file);
    const altered = Buffer.from(whole);
    altered[40] = (altered[40] ?? 0) ^ 1;
    for (const bytes of [altered, whole.subarray(0, -1), Buffer.alloc(0)]) {
      writeFileSync(file, bytes);
      expect((await verifyPath(copy, fixture.ledger.publicKey)).rank, `${name} ${bytes.length}`).toBe(2);
    }
    writeFileSync(file, whole);
  }
  expect(await verifyPath(copy, fixture.ledger.publicKey)).toMatchObject({ rank: 0 });
});

test('a copy continues earlier checkpoints beside it; one of another history, of more events or of another key is named', async () => {
  const copy = mkdtempSync(join(folder, 'copy-'));
  await copyLedger(fixture, copy);
  const [origin = '', size = '', root = ''] = readFileSync(join(copy, 'checkpoint'), 'utf8').split('\n');
  const newKey = () => {
    const signer = parseSigningKey(createSigningKey(origin, 'log'));
    if (signer === null) throw new Error('no key');
    return signer;
  };
  const key = newKey();
  const write = (name: string, events: number, hash: Uint8Array, signer = key) =>
    writeFileSync(
      join(copy, name),
      signNote(formatCheckpoint({ origin, size: events, root: hash }), [signer], 1_780_000_000),
    );
  const judge = async () => await verifyPath(copy, key.verifier.text);
  const whole = Buffer.from(root, 'base64');
  const foreign = Buffer.from(whole).fill(1);
  write('checkpoint', Number(size), whole);
  const entries = unpackEntries(readFileSync(join(copy, `tile/entries/000.p/${size}`))) ?? [];
  const leaves = entries.map(hashLeaf);
  for (const events of [1, 2, 3, Number(size) - 1, Number(size)]) {
    const [earlier] = hashRanges([{ from: 0, to: events }], growTree(0, [], leaves.slice(0, events)));
    write('checkpoint.2026-05-01', events, earlier ?? foreign);
    const { rank, words } = await judge();
    expect(words).toContain('it continues checkpoint.2026-05-01');
    expect(rank).toBe(0);
    write('checkpoint.2026-05-01', events, foreign);
    expect((await judge()).rank).toBe(2);
  }
  write('checkpoint.2026-05-01', Number(size) + 1, whole);
  expect((await judge()).words).toContain(`and the copy has only ${size}`);
  write('checkpoint.2026-05-01', Number(size), whole, newKey());
  expect((await judge()).words).toContain('checkpoint.2026-05-01 is not signed with one of the given keys');
});

test('a token below auditor, one of some organizations, and none read no tile; the checkpoint is open if configured', async () => {
  for (const as of ['viewer', 'acme']) expect((await fixture.ask('/ledger/checkpoint', { as })).status).toBe(403);
  expect((await fixture.ask('/ledger/checkpoint', { as: null })).status).toBe(401);
  expect((await fixture.ask('/ledger/tile/0/000', { as: null })).status).toBe(401);
  for (const path of ['tile/0/000', 'tile/0/999', 'tile/9/000.p/1', 'tile/0/0', 'tile/entries/x001/000', 'other'])
    expect((await fixture.ask(`/ledger/${path}`, { as: 'auditor' })).status, `/ledger/${path}`).toBe(404);
  const { body } = await fixture.ask('/v1/ledger/events?type=incident.opened', { as: 'auditor' });
  const receipt = await fixture.ask(`/v1/ledger/events/${String(body.items[0]?.number)}/receipt`, { as: 'auditor' });
  expect((await verifyBytes(folder, receipt.text, fixture.ledger.publicKey)).words).toContain(
    '"type":"incident.opened"',
  );
});
