import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '@keywarden/core/values';
import { expect, test } from 'vitest';
import {
  change,
  copyLedger,
  editLines,
  editRows,
  type Files,
  forge,
  leaveOutFiles,
  pack,
  verifyTogether,
} from './packs.ts';
import { evidence, packs, usePacks } from './packs-fixture.ts';

// An archive of evidence, checked with the public key alone; and each way to change it.

usePacks();

test('an archive of evidence proves what the ledger has, and says what it does not', async () => {
  const { rank, words } = await packs.verify(evidence);
  expect(rank).toBe(1);
  expect(words).toMatch(/the tree of \d+ events of test is signed with its key/);
  expect(words).toMatch(/the tables are compared with the events from 2026-05-01T00:00:00\S* to \d/);
  expect(words).toMatch(/\d+ governance events are in the ledger/);
  expect(words).toMatch(/-incidents\.ndjson: \d+ rows? as the ledger recorded/);
  for (const rows of ['revocations', 'exemptions', 'decisions', 'rotations', 'reviewed_keys', 'reviews'])
    expect(words).toMatch(new RegExp(`-${rows}\\.ndjson: [1-9]\\d* rows? as the ledger recorded`));
  expect(words).toContain('reviews/1.json is what was signed');
  expect(words).toMatch(/policies\/[^"]+ is a policy that the ledger recorded/);
  expect(words).toMatch(/does not have what these are computed from: [^"]+coverage\/keys\.ndjson/);
  const sentences = words.matchAll(/these fields are not compared with the ledger, ([^:"]+): ([^"]+)/g);
  const tables = Array.from(sentences, ([, fields, files]) => [/(\w+)\.ndjson/.exec(files ?? '')?.[1], fields]);
  const ofKey = 'key.kind, key.name, key.organization_id';
  // Every other field of these tables, and every field of the decisions, is compared.
  expect(Object.fromEntries(tables)).toEqual({
    revocations: `${ofKey}, reasons, gone_at`,
    exemptions: 'keys.number, keys.name, keys.organization_id',
    rotations: `${ofKey}, successor_id, ended_at`,
    reviews: 'intact, by_default',
  });
  expect(words).not.toContain('without a receipt');
});

test.each<[string, (files: Files) => Files]>([
  ['a file is altered', (files) => change(files, /-incidents\.ndjson$/, (text) => text.replace('breaker', 'orphan'))],
  ['a file is added', (files) => ({ ...files, 'another.txt': 'x' })],
  ['a policy of the period is left out', (files) => leaveOutFiles(files, /^policies\//)],
  ['a review that was signed in the period is left out', (files) => leaveOutFiles(files, /^reviews\/\d/)],
  ['a policy is another one', forge(/^policies\//, (text) => text.replace(/"sha256": "./, '"sha256": "0'))],
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
    'the period has no time',
    (files) => change(files, /manifest/, (text) => text.replace(/("from": ("[^"]+"),\s*"to": )"[^"]+"/, '$1$2')),
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
  [
    'the file of a policy is named after another day',
    (files) =>
      Object.fromEntries(
        Object.entries(files).map(([name, text]) =>
          name === 'manifest.json'
            ? [name, text.replace(/policies\/20\d\d/, 'policies/2020')]
            : [name.replace(/^policies\/20\d\d/, 'policies/2020'), text],
        ),
      ),
  ],
  [
    'a project is there twice in the coverage',
    forge(
      /^coverage\/operations\.ndjson$/,
      editLines((lines) => [...lines, lines[0]?.replace(/"project_name" ?: ?"[^"]*"/, '"project_name":"other"') ?? '']),
    ),
  ],
  [
    'the measure of a table has another name than its file',
    (files) => change(files, /manifest/, (text) => text.replace('"measure": "revocations"', '"measure": "inventory"')),
  ],
  ['a policy is altered', forge(/^policies\//, (text) => text.replace('never-used', 'always-used'))],
  ...['revocations', 'exemptions', 'decisions', 'incidents', 'rotations', 'reviewed_keys', 'reviews'].map(
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
    'a boolean is a text',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/"used_in_flight" ?: ?false/, '"used_in_flight":"false"')),
  ],
  ['an id is a number', forge(/-incidents\.ndjson$/, (text) => text.replace(/"id" ?: ?"(\d+)"/, '"id":$1'))],
  [
    'a key is named by its id alone',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/("key" ?: ?)\{[^}]*("id" ?: ?"\d+")[^}]*\}/, '$1{$2}')),
  ],
  [
    'a revocation has no key',
    forge(
      /-revocations\.ndjson$/,
      editRows(({ key: _key, ...row }) => row),
    ),
  ],
  [
    'the key of a revocation has no scope',
    forge(/-revocations\.ndjson$/, (text) => text.replace(/("key" ?: ?\{[^}]*)"scope" ?: ?"[^"]+", ?/, '$1')),
  ],
  ['a field is left out', forge(/-decisions\.ndjson$/, (text) => text.replace(/,? ?"by" ?: ?"ada"/, ''))],
  [
    'a receipt is altered, and its hash too',
    forge(/receipts\.ndjson$/, (text) => text.replace(/index (\d)/, 'index 1$1')),
  ],
  [
    'a receipt is there twice',
    forge(
      /receipts\.ndjson$/,
      editLines((lines) => lines.flatMap((line) => [line, line])),
    ),
  ],
  [
    'receipts change their order',
    forge(
      /receipts\.ndjson$/,
      editLines((lines) => lines.toReversed()),
    ),
  ],
])('archive of evidence: if %s, keywarden verify refuses it', async (_what, edit) => {
  expect((await packs.verify(edit(evidence))).rank).toBe(2);
});

/** Leaves out the receipts of some types, and the rows of a table, and writes their hashes into the manifest. */
function leaveOut(types: RegExp, table: RegExp, edit: (text: string) => string): Files {
  const kept = (line: string) => {
    const [, extra = ''] = /\\nextra ([^\\]+)\\n/.exec(line) ?? [];
    const { leaf } = JSON.parse(Buffer.from(extra, 'base64').toString()) as { leaf: string };
    return !types.test((JSON.parse(leaf) as { type: string }).type);
  };
  return forge(
    table,
    edit,
  )(
    forge(
      /receipts\.ndjson$/,
      editLines((lines) => lines.filter(kept)),
    )(evidence),
  );
}

test.each<[string, () => Files]>([
  ['incidents with their rows', () => leaveOut(/^incident\./, /-incidents\.ndjson$/, () => '')],
  [
    'the outcome of a revocation',
    () =>
      leaveOut(
        /^revocation\.ended/,
        /-revocations\.ndjson$/,
        editRows((row) => ({ ...row, outcome: 'open', ended_at: null })),
      ),
  ],
])('receipts that were left out are found by a copy of the whole ledger: %s', async (_what, forged) => {
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const file = join(packs.folder, 'beside.zip');
  const beside = async (files: Files) => {
    writeFileSync(file, pack(files));
    return (await verifyTogether([copy, file], [packs.fixture.ledger.publicKey])).map(({ rank, words }) => [
      rank,
      words,
    ]);
  };
  expect((await beside(evidence))[0]).toEqual([
    0,
    expect.stringContaining('it has the receipts of all events of its tree but seals'),
  ]);
  const [[rank, words] = []] = await beside(forged());
  expect([rank, words]).toEqual([2, expect.stringMatching(/it has no receipt of (incident|revocation)\.\w+ of/)]);
});

test.each([
  ['exemptions', /-exemptions\.ndjson$/, '[2-9]'],
  ['signed reviews', /(-reviews|^reviews\/signatures)\.(ndjson|csv)$/, '1'],
])('a table of %s that was left out is named, with the number of its events', async (of, table, count) => {
  const { rank, words } = await packs.verify(leaveOutFiles(evidence, table));
  const sentence = `it has no table of ${of}, although the ledger has ${count} in the period`;
  expect([rank, words]).toEqual([1, expect.stringMatching(sentence)]);
});

test('the event of a policy has the canonical text that the hash of the policy is computed from', async () => {
  const events = await packs.fixture.store.sql`select content from keywarden.ledger_event where type = 'policy.stored'`;
  expect(events.length).toBeGreaterThan(0);
  for (const { content } of events) {
    const { document, sha256 } = JSON.parse(String(content)) as { document: string; sha256: string };
    expect(createHash('sha256').update(document).digest('hex')).toBe(sha256);
    expect(canonicalJson(JSON.parse(document) as object)).toBe(document);
  }
});

test('a name as long as a line is cut in what is printed', async () => {
  const row = JSON.stringify({ id: 'x'.repeat(1_000_000) });
  const long = forge(
    /-incidents\.ndjson$/,
    editLines((lines) => [...lines, row, row]),
  );
  const { rank, words } = await packs.verify(long(evidence));
  expect([rank, words]).toEqual([2, expect.stringMatching(/it has the row x{200} twice/)]);
});
