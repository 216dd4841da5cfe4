import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSigningKey } from '@keywarden/core/ledger';
import { createTestLedger } from '@keywarden/testkit/store/ledger';
import { expect, test } from 'vitest';
import {
  amend,
  change,
  download,
  editLines,
  type Files,
  forge,
  linesOf,
  pack,
  unpack,
  verifyBytes,
  verifyTogether,
} from './packs.ts';
import { operations, packs, usePacks } from './packs-fixture.ts';

// An archive of operations, checked with the public key alone; and each way to change it.

usePacks();

test('an archive of operations is proven, day by day, with the public key alone', async () => {
  const { rank, words } = await packs.verify(operations);
  const { length } = linesOf(operations['operations/00001.ndjson'] ?? '');
  expect(words).toContain(` ${length} operations of all 3 days from 2026-05-01 to 2026-05-03, exactly as archived`);
  expect(rank).toBe(0);
  expect(operations['VERIFY.md']).toContain(
    'keywarden verify keywarden-operations-quiet-river-2026-05-01-2026-05-03.zip',
  );
});

test('days without a seal and days with gaps are named, and are not proven', async () => {
  const beyond = '/v1/exports/sealed-operations?from=2026-04-29&to=2026-06-02&project_id=quiet-river';
  const { rank, words } = await packs.verify(unpack(await download(packs.fixture, beyond)));
  expect(rank).toBe(1);
  expect(words).toContain('it was created at 2026-05-01T00:00:00Z, after 2026-04-29 to 2026-04-30');
  expect(words).toContain('2026-05-31 to 2026-06-02 has no seal');
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
    'an operation has a field with a name that every object has',
    (files) => change(files, rows, (text) => text.replace('{', '{"constructor":null,')),
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
  ...['retention.ndjson', 'seals/00001.ndjson', 'operations/00001.ndjson'].map(
    (name): [string, (files: Files) => Files] => [
      `the manifest names a file of its own for ${name}`,
      ({ [name]: text = '', ...files }) => ({
        ...change(files, /manifest/, (manifest) => manifest.replace(name, 'own.ndjson')),
        'own.ndjson': text,
      }),
    ],
  ),
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
    'of lists within lists',
    (files) =>
      change(files, /manifest/, (text) =>
        text.replace('"from"', `"x":${'['.repeat(90_000)}${']'.repeat(90_000)},"from"`),
      ),
    /has more objects and lists within each other than any file of ours/,
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
  const cutTo = (length: number) => whole.subarray(0, length);
  const files = [whole, ...[whole.length - 1, whole.length - 30, Math.floor(whole.length / 2)].map(cutTo)];
  const names = files.map((bytes, index) => join(packs.folder, `cut-${index}.zip`));
  for (const [index, bytes] of files.entries()) writeFileSync(names[index] ?? '', bytes);
  // A cut archive keeps no other file from its check.
  const found = await verifyTogether(names.toReversed(), [packs.fixture.ledger.publicKey]);
  expect(found.map(({ rank }) => rank)).toEqual([2, 2, 2, 0]);
  for (const { words } of found.slice(0, 3)) expect(words).toContain('it is no whole zip archive');
  await expect(verifyBytes(packs.folder, operations['operations/00001.ndjson'] ?? '', other)).rejects.toThrow(
    /is an export without receipts/,
  );
  expect((await verifyBytes(packs.folder, 'garbage', other)).rank).toBe(2);
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

test('a VERIFY.md that Keywarden did not write is not proven, in either archive', async () => {
  for (const files of [operations, packs.evidence]) {
    const edit = forge(/^VERIFY\.md$/, (text) => text.replace("'PUBLIC KEY'", "'evil+1+AA'"));
    const { rank, words } = await packs.verify(edit(files));
    expect([rank, words]).toEqual([1, expect.stringContaining('its VERIFY.md, which is none that this version knows')]);
  }
});
