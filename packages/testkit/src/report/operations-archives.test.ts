import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { createSigningKey } from '@keywarden/core/ledger';
import { createTestLedger } from '@keywarden/testkit/store/ledger';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  amend,
  change,
  download,
  editLines,
  type Files,
  linesOf,
  pack,
  unpack,
  verifyBytes,
  verifyPath,
} from './packs.ts';
import { createPacks, type Packs, period } from './packs-fixture.ts';

// An archive of operations, checked with the public key alone; and each way to change it.

let packs: Packs;
let operations: Files;
beforeAll(async () => {
  packs = await createPacks(inject('postgresUrl'));
  ({ operations } = packs);
});
afterAll(async () => await packs.close());

test('an archive of operations is proven, day by day, with the public key alone', async () => {
  const { rank, words } = await packs.verify(operations);
  expect(words).toContain(
    'operations of all 3 days from 2026-05-01 to 2026-05-03 are exactly those that were archived',
  );
  expect(rank).toBe(0);
  expect(operations['VERIFY.md']).toContain(
    'keywarden verify keywarden-operations-quiet-river-2026-05-01-2026-05-03.zip',
  );
});

test('days without a seal and days with gaps are named, and are not proven', async () => {
  const beyond = '/v1/exports/sealed-operations?from=2026-04-29&to=2026-05-25&project_id=quiet-river';
  const { rank, words } = await packs.verify(unpack(await download(packs.fixture, beyond)));
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
    'an operation has a field that no seal has',
    (files) => change(files, rows, (text) => text.replace('{', '{"actor":"eve",')),
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
  ['a file is not in the manifest', (files) => ({ ...files, 'others/00001.ndjson': 'forged' })],
  [
    'the manifest names a project twice',
    (files) => change(files, /manifest/, (text) => text.replace(/"projects": \[([^]+)\]/, '"projects": [$1, $1]')),
  ],
  [
    'the period is empty',
    (files) => change(files, /manifest/, (text) => text.replace('"to": "2026-05-04"', '"to": "2026-05-01"')),
  ],
  [
    'a number is a text',
    (files) => change(files, rows, (text) => text.replace(/("failures_count" ?: ?)(\d+)/, '$1"$2"')),
  ],
  [
    'an object is a text',
    (files) =>
      change(files, rows, (text) =>
        text.replace(
          /("extra" ?: ?)(\{.*\})(?=, ?"seen_at)/,
          (_all, name, of) => `${String(name)}${JSON.stringify(of)}`,
        ),
      ),
  ],
  [
    'a number has zeros before it',
    (files) => change(files, rows, (text) => text.replace(/("failures_count" ?: ?)/, '$1000')),
  ],
  ['a line has a space that is none in JSON', (files) => change(files, rows, (text) => text.replace('{', '{\u00A0'))],
  [
    'a line ends with a separator that is none in JSON',
    (files) => change(files, rows, (text) => text.replace('}\n', '}\u2028\n')),
  ],
  [
    'VERIFY.md tells to trust another key',
    (files) => change(files, /VERIFY/, (text) => text.replace("'PUBLIC KEY'", "'evil+1+AA'")),
  ],
  [
    'the manifest names a file of its own for retention',
    ({ 'retention.ndjson': retention = '', ...files }) => ({
      ...change(files, /manifest/, (text) => text.replace('retention.ndjson', 'retained.ndjson')),
      'retained.ndjson': retention,
    }),
  ],
  [
    'the period has millions of days',
    (files) => change(files, /manifest/, (text) => text.replace(/"from": "\d+/, '"from": "0001')),
  ],
  ['a file is missing', ({ 'seals/00001.ndjson': _seals, ...files }) => files],
])('archive of operations: if %s, keywarden verify refuses it', async (_what, edit) => {
  expect((await packs.verify(amend(edit(operations)))).rank).toBe(2);
});

test.each<[string, (files: Files) => Files, RegExp]>([
  ['no JSON', (files) => change(files, /manifest/, (text) => text.slice(1)), /JSON/],
  [
    'with two periods',
    (files) => change(files, /manifest/, (text) => text.replace('"from"', '"from": "2026-01-01",\n  "from"')),
    /an object has a member twice/,
  ],
  [
    'with another member',
    (files) => change(files, /manifest/, (text) => text.replace('"from"', '"note": "complete",\n  "from"')),
    /unknown form/,
  ],
  [
    'of other files',
    (files) => change(files, /manifest/, (text) => text.replace(/"records": \d+/, '"records": 7')),
    /not the file that manifest.json names/,
  ],
])('archive of operations: a manifest that is %s is refused', async (_what, edit, why) => {
  const { rank, words } = await packs.verify(edit(operations));
  expect([rank, words]).toEqual([2, expect.stringMatching(why)]);
});

test('a day whose seal was left out is not proven', async () => {
  const { rank, words } = await packs.verify(
    amend(
      change(
        operations,
        seals,
        editLines((lines) => lines.slice(1)),
      ),
    ),
  );
  expect(rank).toBe(1);
  expect(words).toContain('2026-05-01 has no seal');
});

test('another key, no archive, and a cut archive prove nothing', async () => {
  const other = createTestLedger(packs.fixture.daemon, createSigningKey('test', 'log')).publicKey;
  expect((await packs.verify(operations, other)).rank).toBe(2);
  const whole = pack(operations);
  for (const length of [whole.length - 1, whole.length - 30, Math.floor(whole.length / 2)])
    await expect(verifyBytes(packs.folder, whole.subarray(0, length), packs.fixture.ledger.publicKey)).rejects.toThrow(
      /is no whole zip archive/,
    );
  await expect(verifyBytes(packs.folder, operations['operations/00001.ndjson'] ?? '', other)).rejects.toThrow(
    /is an export without receipts/,
  );
  expect((await verifyBytes(packs.folder, 'garbage', other)).rank).toBe(2);
});

test('an archive that programs read in different ways is refused', async () => {
  const whole = Buffer.from(pack(operations));
  const directory = whole.readUInt32LE(whole.length - 6);
  const [files, rest, end] = [whole.subarray(0, directory), whole.subarray(directory, -22), whole.subarray(-22)];
  // Another archive between the directory and the end, which some programs read instead.
  const twice = Buffer.concat([files, rest, files, rest, end]);
  const moved = Buffer.from(end);
  moved.writeUInt32LE(directory + 4, 16);
  const between = Buffer.concat([files, Buffer.from('junk'), rest, moved]);
  const renamed = Buffer.from(whole);
  renamed.write('manifesT', whole.indexOf('manifest.json'));
  const unicode = zipSync({
    ...unzipSync(whole),
    'other.txt': [strToU8('forged'), { extra: { 0x7075: strToU8('\u0001....operations/00001.ndjson') } }],
  });
  for (const bytes of [twice, between, renamed, unicode])
    await expect(verifyBytes(packs.folder, bytes, packs.fixture.ledger.publicKey)).rejects.toThrow(
      /is read in different ways by different programs/,
    );
  expect((await verifyBytes(packs.folder, whole, packs.fixture.ledger.publicKey)).rank).toBe(0);
});

test('an archive is proven as the report sends it; with other headers or bytes it is refused', async () => {
  const sent = Buffer.from(await download(packs.fixture, `/v1/exports/sealed-operations?${period}`));
  expect((await verifyBytes(packs.folder, sent, packs.fixture.ledger.publicKey)).rank).toBe(0);
  const whole = Buffer.from(pack(operations));
  const local = whole.indexOf('PK\u0003\u0004');
  const hiddenBehind = (deflated: Buffer) => {
    // The bytes of a file go on after it ends, and a program that reads on finds another file there.
    const text = Buffer.from('one\n');
    const data = Buffer.concat([deflateRawSync(text), deflated]);
    const head = Buffer.alloc(30);
    head.write('PK\u0003\u0004', 'latin1');
    for (const [at, value] of [
      [4, 20],
      [8, 8],
      [26, 5],
    ] as const)
      head.writeUInt16LE(value, at);
    for (const [at, value] of [
      [14, crc32(text)],
      [18, data.length],
      [22, text.length],
    ] as const)
      head.writeUInt32LE(value, at);
    const entry = Buffer.concat([
      Buffer.from('PK\u0001\u0002', 'latin1'),
      Buffer.from([20, 0]),
      head.subarray(4),
      Buffer.alloc(14),
      Buffer.from('a.txt'),
    ]);
    const files = Buffer.concat([head, Buffer.from('a.txt'), data]);
    const end = Buffer.alloc(22);
    end.write('PK\u0005\u0006', 'latin1');
    for (const at of [8, 10]) end.writeUInt16LE(1, at);
    end.writeUInt32LE(entry.length, 12);
    end.writeUInt32LE(files.length, 16);
    return Buffer.concat([files, entry, end]);
  };
  const edits: [string, Buffer, (bytes: Buffer) => void][] = [
    ['a local header that hides its sizes', whole, (bytes) => bytes.fill(0, local + 14, local + 26)],
    ['a local header of a stream', whole, (bytes) => void bytes.writeUInt16LE(8, local + 6)],
    ['a local header of another method', whole, (bytes) => void bytes.writeUInt16LE(0, local + 8)],
    [
      'other sizes after a file',
      sent,
      (bytes) => bytes.fill(1, bytes.indexOf('PK\u0007\u0008') + 8, bytes.indexOf('PK\u0007\u0008') + 12),
    ],
    ['a link', whole, (bytes) => void bytes.writeUInt32LE(0o120777 * 2 ** 16, bytes.indexOf('PK\u0001\u0002') + 38)],
    [
      'a folder in the place of a file',
      whole,
      (bytes) => void bytes.writeUInt32LE(0o040755 * 2 ** 16 + 0x10, bytes.indexOf('PK\u0001\u0002') + 38),
    ],
    [
      'a folder of old programs',
      whole,
      (bytes) => void bytes.writeUInt32LE(0x10, bytes.indexOf('PK\u0001\u0002') + 38),
    ],
    ['another number of files', whole, (bytes) => void bytes.writeUInt16LE(1, bytes.length - 14)],
    ['something behind a file', hiddenBehind(Buffer.from('more')), () => undefined],
  ];
  for (const [what, from, change] of edits) {
    const bytes = Buffer.from(from);
    change(bytes);
    const why = await verifyBytes(packs.folder, bytes, packs.fixture.ledger.publicKey).then(
      ({ words }) => words,
      (error: unknown) => String(error),
    );
    expect(why, `with ${what}`).toMatch(/is read in different ways by different programs|is no whole zip archive/);
  }
  await expect(
    verifyBytes(packs.folder, hiddenBehind(Buffer.from('more')), packs.fixture.ledger.publicKey),
  ).rejects.toThrow('a.txt has other bytes than its directory says');
  const plain = await verifyBytes(packs.folder, hiddenBehind(Buffer.alloc(0)), packs.fixture.ledger.publicKey);
  expect(plain.words).toContain('it has no file manifest.json');
});

test('what was recorded in the future is not proven', async () => {
  const { rank, words } = await verifyBytes(
    packs.folder,
    pack(operations),
    packs.fixture.ledger.publicKey,
    Date.UTC(2026, 4, 20),
  );
  expect([rank, words]).toEqual([2, expect.stringContaining('of a time in the future')]);
});

test('a file of one gigabyte is refused with little memory', async () => {
  const file = join(packs.folder, 'huge');
  writeFileSync(file, 'not an archive');
  truncateSync(file, 1_000_000_000);
  const before = process.memoryUsage().rss;
  await expect(verifyPath(file, packs.fixture.ledger.publicKey)).rejects.toThrow(/larger than a receipt can be/);
  writeFileSync(file, 'PK\u0003\u0004');
  truncateSync(file, 1_000_000_000);
  await expect(verifyPath(file, packs.fixture.ledger.publicKey)).rejects.toThrow(/is no whole zip archive/);
  const bomb = pack({ ...operations, 'operations/00001.ndjson': 'x'.repeat(200_000_000) });
  expect((await verifyBytes(packs.folder, bomb, packs.fixture.ledger.publicKey)).words).toContain(
    'a line of operations/00001.ndjson is too long',
  );
  expect(process.memoryUsage().rss - before).toBeLessThan(1_000_000_000);
});

test.each([
  'operations//00001.ndjson',
  './operations/00001.ndjson',
  'OPERATIONS/00001.ndjson',
  'operations/00001.ndjson.',
  'operations\\00001.ndjson',
  'operations',
  'a b',
])('a file %s, which unpacks in the place of another or under another name, is refused', async (name) => {
  await expect(packs.verify({ ...operations, [name]: '' })).rejects.toThrow(
    /is read in different ways by different programs|is no whole zip archive/,
  );
});

test('small archives of huge manifests, of one operation a million times and of long lines are refused in a sentence', async () => {
  const manifest = (projects: string) => ({
    ...operations,
    'manifest.json': `{"kind":"sealed-operations","projects":[${projects}]}`,
  });
  const many = await packs.verify(manifest(Array.from({ length: 1_000_000 }, () => '{}').join()));
  expect(many.words).toContain('it has too many parts');
  const [line = ''] = linesOf(operations['operations/00001.ndjson'] ?? '');
  const repeated = amend({ ...operations, 'operations/00001.ndjson': `${line}\n`.repeat(200_000) });
  expect((await packs.verify(repeated)).words).toMatch(
    /it has more than the \d+ operations of 2026-05-0\d that were sealed/,
  );
  const long = change(operations, rows, (text) => text.replace('"start_compute"', `"${'x'.repeat(15_000_000)}"`));
  expect((await packs.verify(amend(long))).words).toContain('are not the');
});
