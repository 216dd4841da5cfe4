import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
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
import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { createTestLedger } from '@keywarden/testkit/store/ledger';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  amend,
  copyLedger,
  download,
  type Files,
  linesOf,
  pack,
  unpack,
  verifyBytes,
  verifyPath,
  verifyTogether,
} from './packs.ts';

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
  await store.sql`
    with granted as (insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('kept', 'ada', '2026-05-02', '2027-01-01') returning number)
    insert into keywarden.exemption_key (exemption_number, key_number) select g.number, k.number from granted g, keywarden.credential k where k.id in ('12', '13')`;
  const post = async (path: string, body?: object) => {
    const answer = await fixture.ask(path, { as: 'operator', method: 'POST', body });
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  await post(`/v1/plans/${fixture.planId}/rejections`, { reason: 'not now' });
  const { id } = await post('/v1/reviews', { title: 'signed', keys: { organization_id: 'acme' } });
  const keys = [fixture.keys['12'], fixture.keys['9007199254740993']];
  await post(`/v1/reviews/${String(id)}/decisions`, { keys, decision: 'keep', reason: 'in use' });
  await post(`/v1/reviews/${String(id)}/signature`);
  await ledger.sign();
  operations = unpack(await download(fixture, `/v1/exports/sealed-operations?${period}`));
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  evidence = unpack(await download(fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
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
const editLines = (edit: (lines: string[]) => string[]) => (text: string) => `${edit(linesOf(text)).join('\n')}\n`;

test('an archive of operations is proven, day by day, with the public key alone', async () => {
  const { rank, words } = await verify(operations);
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
  ['a file is not in the manifest', (files) => ({ ...files, 'Operations/00001.ndjson': 'forged' })],
  [
    'the manifest names a project twice',
    (files) => change(files, /manifest/, (text) => text.replace(/"projects": \[([^]+)\]/, '"projects": [$1, $1]')),
  ],
  [
    'the period is empty',
    (files) => change(files, /manifest/, (text) => text.replace('"to": "2026-05-04"', '"to": "2026-05-01"')),
  ],
  ['a file is missing', ({ 'seals/00001.ndjson': _seals, ...files }) => files],
])('archive of operations: if %s, keywarden verify refuses it', async (_what, edit) => {
  expect((await verify(amend(edit(operations)))).rank).toBe(2);
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
  const { rank, words } = await verify(edit(operations));
  expect([rank, words]).toEqual([2, expect.stringMatching(why)]);
});

test('a day whose seal was left out is not proven', async () => {
  const { rank, words } = await verify(
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
    await expect(verifyBytes(folder, bytes, fixture.ledger.publicKey)).rejects.toThrow(
      /is read in different ways by different programs/,
    );
  expect((await verifyBytes(folder, whole, fixture.ledger.publicKey)).rank).toBe(0);
});

test('an archive is proven as the report sends it; with other headers or bytes it is refused', async () => {
  const sent = Buffer.from(await download(fixture, `/v1/exports/sealed-operations?${period}`));
  expect((await verifyBytes(folder, sent, fixture.ledger.publicKey)).rank).toBe(0);
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
    ['another number of files', whole, (bytes) => void bytes.writeUInt16LE(1, bytes.length - 14)],
    ['something behind a file', hiddenBehind(Buffer.from('more')), () => undefined],
  ];
  for (const [what, from, change] of edits) {
    const bytes = Buffer.from(from);
    change(bytes);
    const why = await verifyBytes(folder, bytes, fixture.ledger.publicKey).then(
      ({ words }) => words,
      (error: unknown) => String(error),
    );
    expect(why, `with ${what}`).toMatch(/is read in different ways by different programs|is no whole zip archive/);
  }
  await expect(verifyBytes(folder, hiddenBehind(Buffer.from('more')), fixture.ledger.publicKey)).rejects.toThrow(
    'a.txt has other bytes than its directory says',
  );
  const plain = await verifyBytes(folder, hiddenBehind(Buffer.alloc(0)), fixture.ledger.publicKey);
  expect(plain.words).toContain('it has no file manifest.json');
});

test('a witness of the given keys that has not cosigned is named', async () => {
  const witness = parseSigningKey(createSigningKey('witness.example/one', 'witness'));
  if (witness === null) throw new Error('no key');
  const file = join(folder, 'asked.zip');
  writeFileSync(file, pack(operations));
  const receipt = join(folder, 'asked.tlog-proof');
  writeFileSync(
    receipt,
    (JSON.parse(linesOf(operations['seals/00001.ndjson'] ?? '')[0] ?? '') as { receipt: string }).receipt,
  );
  const copy = mkdtempSync(join(folder, 'copy-'));
  await copyLedger(fixture, copy);
  const keys = [fixture.ledger.publicKey, witness.verifier.text];
  for (const { rank, words } of await verifyTogether([file, receipt, copy], keys)) {
    expect(words).toContain('the witness witness.example/one has not cosigned it');
    expect(rank).toBe(1);
  }
  const without = await verifyTogether([file, receipt, copy], [fixture.ledger.publicKey]);
  expect(without.map(({ rank }) => rank)).toEqual([0, 0, 0]);
  expect(without[2]?.words).toContain(`${file}: none of its days has a newer seal`);
  expect(without[2]?.words).toContain(`the copy continues ${receipt}`);
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
  for (const of of ['revocations', 'exemptions', 'decisions', 'rotations', 'reviewed_keys', 'reviews'])
    expect(words).toMatch(new RegExp(`-${of}\\.ndjson: [1-9]\\d* rows are what the ledger recorded`));
  expect(words).toContain('reviews/1.json is what was signed');
  expect(words).toMatch(/policies\/[^"]+ is a policy that the ledger recorded/);
  expect(words).toMatch(/does not have what these are computed from: [^"]+coverage\/operations\.ndjson/);
  expect(words).toMatch(/does not have the fields [^"]*reasons: [^"]+-revocations\.ndjson/);
  expect(words).not.toContain('have no receipt');
});

/** Edits a file of an evidence archive, each copy of it, and its hash in the manifest, as somebody who forges it does. */
const forge = (name: RegExp, edit: (text: string) => string) => (files: Files) => {
  const [found = '', text = ''] = Object.entries(files).find(([each]) => name.test(each)) ?? [];
  const edited = edit(text);
  if (edited === text) throw new Error(`${found} did not change`);
  const hash = (of: string) => createHash('sha256').update(of).digest('hex');
  const forged = Object.entries(files).map(([each, of]) => [each, of === text ? edited : of]);
  return change(Object.fromEntries(forged) as Files, /manifest/, (of) => of.replaceAll(hash(text), hash(edited)));
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
    'a revocation is of another key',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/"id" ?: ?"13"/, '"id":"12"')),
  ],
  [
    'a revocation is of the key of another number',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/("key" ?: ?\{[^}]*"number" ?: ?")/, '$19')),
  ],
  [
    'an exemption is of a key of another control plane',
    forge(/-exemptions\.ndjson$/, (text) => text.replace(/"control_plane" ?: ?"/, '$&x')),
  ],
  [
    'the period is no time',
    (files) => change(files, /manifest/, (text) => text.replace(/"to": "[^"]+"/, '"to": "soon"')),
  ],
  [
    'the period ends before it begins',
    (files) => change(files, /manifest/, (text) => text.replace(/"to": "[^"]+"/, '"to": "2020-01-01T00:00:00Z"')),
  ],
  [
    'the manifest has a member twice',
    (files) => change(files, /manifest/, (text) => text.replace('"from"', '"from": "2020-01-01T00:00:00Z",\n  "from"')),
  ],
  ['a row has a member twice', forge(/-revocations\.ndjson$/, (text) => text.replace('{', '{"outcome":"revoked",'))],
  [
    'a policy has a member twice',
    forge(/^policies\//, (text) => text.replace('{', '{"used_from":"2020-01-01T00:00:00Z",')),
  ],
  [
    'a revocation was approved by somebody else',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/"approved_by" ?: ?"ada"/, '"approved_by":"eve"')),
  ],
  [
    'a revocation hides its outcome',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/"outcome" ?: ?"failed"/, '"outcome":"open"')),
  ],
  [
    'an incident that is open has a note of its end',
    forge(/-incidents\.ndjson$/, (text) => text.replace(/"note" ?: ?null/, '"note":"checked"')),
  ],
  [
    'an exemption covers fewer keys',
    forge(/-exemptions\.ndjson$/, (text) => text.replace(/,\s*\{[^{}]*"id" ?: ?"13"[^{}]*\}/, '')),
  ],
  ['an exemption has another reason', forge(/-exemptions\.ndjson$/, (text) => text.replace('"kept"', '"harmless"'))],
  ['an approval is by somebody else', forge(/-decisions\.ndjson$/, (text) => text.replace('"ada"', '"eve"'))],
  [
    'an approval is shown as a rejection',
    forge(/-decisions\.ndjson$/, (text) => text.replace('"approved"', '"denied"')),
  ],
  ['a decision of a review is altered', forge(/-reviewed_keys\.ndjson$/, (text) => text.replace('"keep"', '"revoke"'))],
  [
    'the document of a signed review is altered',
    forge(/^reviews\/1\.json$/, (text) => text.replace('in use', 'unused')),
  ],
  ['a policy is altered', forge(/^policies\//, (text) => text.replace('never-used', 'always-used'))],
  ...['revocations', 'exemptions', 'decisions', 'incidents', 'reviewed_keys'].map(
    (of): [string, (files: Files) => Files] => [
      `a row of ${of} is deleted`,
      forge(
        new RegExp(`-${of}\\.ndjson$`),
        editLines((lines) => lines.slice(1)),
      ),
    ],
  ),
  [
    'a row is there twice',
    forge(
      /-incidents\.ndjson$/,
      editLines((lines) => [...lines, ...lines.slice(-1)]),
    ),
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

test('a state for which there is no receipt is not proven', async () => {
  const moved = forge(/-rotations\.ndjson$/, (text) => text.replace(/"state" ?: ?"\w+"/, '"state":"done"'))(evidence);
  const { rank, words } = await verify(moved);
  expect(rank).toBe(1);
  expect(words).toMatch(/-rotations\.ndjson: 1 rows have no receipt/);
});

test('a witness that has ended long ago holds nothing back', async () => {
  const { sql } = fixture.store;
  await sql`update keywarden.ledger_checkpoint set made_at = now() - interval '2 hours' where size = (select min(size) from keywarden.ledger_checkpoint)`;
  await sql`
    insert into keywarden.ledger_cosignature (size, witness, lines) select min(size), 'ended', ${'\u2014 ended AAAA\n'} from keywarden.ledger_checkpoint`;
  const { rank } = await verify(unpack(await download(fixture, `/v1/exports/sealed-operations?${period}`)));
  await sql`delete from keywarden.ledger_cosignature`;
  expect(rank).toBe(0);
});

test('the whole ledger, as its routes serve it, is proven; and each change of it is refused', async () => {
  const copy = mkdtempSync(join(folder, 'copy-'));
  await copyLedger(fixture, copy);
  expect(await verifyPath(copy, fixture.ledger.publicKey)).toMatchObject({ rank: 0 });
  const size = readFileSync(join(copy, 'checkpoint'), 'utf8').split('\n')[1] ?? '';
  for (const kind of ['entries', 'contents', '0', 'checkpoint']) {
    const name = kind === 'checkpoint' ? kind : `tile/${kind}/000.p/${size}`;
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
    expect(words).toContain('the copy continues checkpoint.2026-05-01');
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

test('a day that changed since its seal, and a month that retention dropped, are not proven, and contradict nothing', async () => {
  const { store, daemon, ledger } = fixture;
  const path = '/v1/exports/sealed-operations?from=2025-03-01&to=2025-03-03&project_id=late-lake';
  await makeOperationPartitions(daemon.sql, ['2025-03']);
  const [project] = await store.sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at, walked_at)
    select number, 'late-lake', 'acme', 'p', '2025-03-01', now(), now(), '2025-03-05', '2025-03-05' from keywarden.control_plane returning number`;
  const running = makeWireOperation(1, { createdAt: '2025-03-02T00:00:00Z', status: 'running' });
  const proof = { from: '2025-03-01T00:00:00Z', isFromIncluded: true, below: '2025-03-05T00:00:00Z' };
  const save = async (operation: typeof running) => {
    await saveOperationPage(daemon.sql, { project: String(project?.number), operations: [operation], proof });
  };
  await save(running);
  await ledger.sign();
  const before = unpack(await download(fixture, path));
  expect((await verify(before)).words).toContain(
    '1 operations of all 3 days from 2025-03-01 to 2025-03-03 are exactly',
  );
  await save({ ...running, status: 'finished', updatedAt: '2026-05-02T00:00:00Z' });
  const changed = await verify(unpack(await download(fixture, path)));
  expect([changed.rank, changed.words]).toEqual([1, expect.stringContaining('2025-03-02 has no seal')]);

  await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour'`;
  await store.sql`insert into keywarden.operation_retention (keep) values ('214 days')`;
  await store.sql`
    insert into keywarden.operation_drop (month, announced_at, operations, bytes) values ('2025-03-01', now() - interval '2 days', 0, 0)`;
  await ledger.sign();
  const whole = unpack(await download(fixture, path));
  const again = await verify(whole);
  expect([again.rank, again.words]).toEqual([
    0,
    expect.stringMatching(/2025-03-02 was sealed again at \S+ with 1 operations; before, it had 1/),
  ]);
  const own = linesOf(whole['seals/00001.ndjson'] ?? '');
  const withSeals = (lines: string[], from = whole) =>
    amend({ ...from, 'seals/00001.ndjson': `${lines.join('\n')}\n` });
  // The days in the order of the ledger, and the second one again.
  const [first = '', second = '', third = '', fourth = ''] = own;
  expect(own).toHaveLength(4);
  // Without the former seal, it is unproven what the day had before.
  const cutChain = await verify(withSeals([first, third, fourth]));
  expect([cutChain.rank, cutChain.words]).toEqual([1, expect.stringContaining('2025-03-02 was sealed before as seal')]);
  for (const lines of [
    [first, fourth, third, second],
    [first, second, second, third, fourth],
  ])
    expect((await verify(withSeals(lines))).words).toContain('the seals of 2025-03-02 do not follow each other');
  const mixed = await verify(withSeals([...linesOf(before['seals/00001.ndjson'] ?? '').slice(0, 1), ...own.slice(1)]));
  expect([mixed.rank, mixed.words]).toEqual([2, expect.stringContaining('of another tree than the receipts before')]);
  // An older seal with the older operations agrees with itself. A copy of the whole ledger has the newer seal.
  const stale = withSeals([first, second, third], {
    ...whole,
    'operations/00001.ndjson': before['operations/00001.ndjson'] ?? '',
  });
  expect((await verify(stale)).rank).toBe(0);
  const copy = mkdtempSync(join(folder, 'copy-'));
  await copyLedger(fixture, copy);
  const beside = async (files: Files) => {
    const file = join(folder, 'beside.zip');
    writeFileSync(file, pack(files));
    return (await verifyTogether([copy, file], [fixture.ledger.publicKey]))[0];
  };
  expect(await beside(stale)).toMatchObject({
    rank: 2,
    words: expect.stringContaining('it has an older seal than the newest'),
  });
  expect(await beside(whole)).toMatchObject({ rank: 0 });
  expect(await beside(before)).toMatchObject({ rank: 1, words: expect.stringContaining('since then') });
  rmSync(join(copy, 'tile/contents'), { recursive: true });
  expect(await beside(stale)).toMatchObject({
    rank: 1,
    words: expect.stringContaining('whose contents the copy does not have'),
  });
  await daemon.sql`select keywarden.drop_operation_month('2025-03-01', 'a test')`;
  await ledger.sign();
  const cut = unpack(await download(fixture, path));
  const dropped = await verify(cut);
  expect([dropped.rank, dropped.words]).toEqual([
    1,
    expect.stringContaining('retention has dropped the operations of 2025-03-02'),
  ]);
  // Without the receipt of the drop, the operations were cut.
  expect((await verify(amend({ ...cut, 'retention.ndjson': '' }))).rank).toBe(2);
  expect((await verify(amend({ ...whole, 'operations/00001.ndjson': '' }))).rank).toBe(2);
  expect((await verify(amend({ ...cut, 'retention.ndjson': cut['seals/00001.ndjson'] ?? '' }))).rank).toBe(2);
});
