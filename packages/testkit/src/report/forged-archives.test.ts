import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSigningKey, parseSigningKey } from '@keywarden/core/ledger';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { event, key, receiptOf } from './falsehoods.ts';
import { evidenceOf, linesOfRows } from './own-ledger.ts';
import {
  amend,
  change,
  copyLedger,
  editRows,
  type Files,
  forge,
  forgeOne,
  leaveOutFiles,
  linesOf,
  pack,
  verifyBytes,
  verifyPath,
  verifyTogether,
} from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// Archives that somebody made up, or that hide something behind another form of the same text.

usePacks();

/** Returns an archive that somebody wrote: of a table of incidents, with these receipts. */
const incidentsOf = (rows: object[], receipts: string[] = []): Files =>
  evidenceOf({ 'x-incidents.ndjson': linesOfRows(rows) }, receipts);

test('an archive without a single receipt proves nothing of what it has', async () => {
  const files = incidentsOf([{ id: '1', kind: 'breaker' }]);
  for (const each of [files, leaveOutFiles(files, /^ledger/)]) {
    const { rank, words } = await packs.verify({ ...each, 'summary.md': 'all controls pass' });
    expect(rank).toBe(1);
    expect(words).toContain('"proven":[]');
    expect(words).toContain('it has no receipts, so nothing in it can be checked');
  }
});

test('an archive of evidence with receipts of another key does not seem to have none', async () => {
  const other = parseSigningKey(createSigningKey('test', 'log'))?.verifier.text;
  const { rank, words } = await packs.verify(packs.evidence, other);
  expect([rank, words]).toEqual([
    2,
    expect.stringContaining('none of its receipts is proven, so nothing in it can be'),
  ]);
  expect(words).not.toContain('it has no receipts');
});

test('a row is compared with the latest time of recording, even if later events have earlier ones', async () => {
  const incident = {
    number: '1',
    kind: 'breaker',
    scope: '',
    key: null,
    detail: '{}',
    opened_at: '2026-05-14T00:00:00Z',
  };
  const end = { number: '1', closed_at: '2026-05-15T00:00:00Z', closed_by: 'ada', note: 'seen' };
  const recorded = '2026-05-20T00:00:00Z';
  const events = [
    { type: 'incident.opened', subject: 'incident/1', recorded, content: incident },
    { type: 'incident.closed', subject: 'incident/1', recorded, content: end },
    { ...event(1, 'x'), recorded: '2026-05-10T00:00:00Z' },
  ];
  const receipts = events.map((_event, index) => receiptOf(events, index));
  const { number: id, ...opened } = incident;
  const row = { ...opened, ...end, id, scope: null, detail: {}, state: 'closed', plan_id: null };
  const verify = async (change: object) =>
    await packs.verify(incidentsOf([{ ...row, ...change }], receipts), key.verifier.text);
  expect((await verify({})).words).toContain('x-incidents.ndjson: 1 row as the ledger recorded');
  const { rank, words } = await verify({ detail: { why: 'harmless' } });
  expect([rank, words]).toEqual([2, expect.stringContaining('the row 1 differs from the ledger in detail')]);
});

test('a line that ends with a part in which its file is inflated is a line of its own', async () => {
  const row = (id: string, note = '') => ({ id, kind: 'breaker', note });
  const long = row('1', 'x'.repeat(16_384 - JSON.stringify(row('1')).length));
  const receipts = [receiptOf([event(1, 'x')], 0)];
  const { words } = await packs.verify(incidentsOf([long, row('2')], receipts), key.verifier.text);
  expect(words).toContain('x-incidents.ndjson: the row 2 differs from the ledger in opened_at');
});

test('an archive with any empty file is never proven', async () => {
  const { operations, evidence } = packs;
  const proven: string[] = [];
  // One table of each kind: the controls have the same ones.
  const kinds = new Map(
    Object.keys(evidence)
      .filter((each) => !/^manifest|csv$/.test(each) && evidence[each] !== '')
      .map((each) => [each.replace(/^.*\/\d+-/, ''), each]),
  );
  for (const name of kinds.values()) {
    // The tables beside them are compared with the CSV files.
    const emptied = forgeOne(new RegExp(`^${name.replaceAll(/[().]/g, String.raw`\\$&`)}$`), () => '')(evidence);
    if ((await packs.verify(emptied)).rank === 0) proven.push(name);
  }
  for (const name of Object.keys(operations).filter((each) => each !== 'manifest.json' && operations[each] !== ''))
    if ((await packs.verify(amend({ ...operations, [name]: '' }))).rank === 0) proven.push(name);
  expect(proven).toEqual([]);
});

/** Shows two keys of an exemption as one, so that the text of their names stays: the line end is in its address, or in its scope. */
const mergeKeys = (isInAddress: boolean) =>
  forge(
    /-exemptions\.ndjson$/,
    editRows((row) => {
      const [one, two, ...others] = row.keys as Record<string, string>[];
      if (one === undefined || two === undefined || others.length > 0) return row;
      const [first, last] = [one, two].toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
      const address = `${first?.control_plane} ${first?.scope} ${first?.id}\n${last?.control_plane}`;
      const scope = `${first?.scope} ${first?.id}\n${last?.control_plane} ${last?.scope}`;
      return { ...row, keys: [isInAddress ? { ...last, control_plane: address } : { ...first, scope, id: last?.id }] };
    }),
  );

test.each<[string, (files: Files) => Files]>([
  [
    'a row is there twice, the second time with a field of its own',
    forge(/-revocations\.ndjson$/, (text) => `${text}${text.replace('{', '{"decision":"again",')}`),
  ],
  ['two keys of an exemption are one with a name of two lines', mergeKeys(false)],
  ['two keys of an exemption are one with an address of two lines', mergeKeys(true)],
  [
    'the id of one of the keys of an exemption is a number',
    forge(/-exemptions\.ndjson$/, (text) => text.replace(/("id" ?: ?)"12"(?=[^\]]*"id" ?: ?"13")/, '$112')),
  ],
  [
    'a decision about a plan that the ledger does not have is neither an approval nor a rejection',
    forge(/-decisions\.ndjson$/, (text) => {
      const [line = ''] = linesOf(text);
      return `${text}${JSON.stringify({ ...(JSON.parse(line) as object), plan_id: 'p-x', decision: 'denied' })}\n`;
    }),
  ],
  [
    'a field has the name of a column of another',
    forge(/-revocations\.ndjson$/, (text) => text.replace('{', '{"key_id":"12",')),
  ],
  [
    'a policy has a member that parsers leave out',
    forge(/^policies\//, (text) => text.replace('"policy": {', '"policy": {"__proto__":{"rules":[]},')),
  ],
  [
    'a policy has other digits',
    forge(/^policies\//, (text) => text.replace(/: (\d+)(,?)$/m, ': $1.00000000000000001$2')),
  ],
  [
    'a file is named twice',
    (files) =>
      change(files, /^manifest/, (text) => {
        const manifest = JSON.parse(text) as { attachments: object[] };
        return JSON.stringify({ ...manifest, attachments: [...manifest.attachments, manifest.attachments[0]] });
      }),
  ],
])('archive of evidence: if %s, keywarden verify refuses it', async (_what, edit) => {
  expect((await packs.verify(edit(packs.evidence))).rank).toBe(2);
});

test('a key that names another control plane than its event differs from the ledger, even if a CSV file has it', async () => {
  const edit = forge(/-revocations\.ndjson$/, (text) =>
    text.replace(/"key" ?: ?\{/, '$&"control_plane":"https://other",'),
  );
  expect((await packs.verify(edit(packs.evidence))).words).toMatch(/the row \d+ differs from the ledger in key/);
});

test.each<[string, (line: string) => string]>([
  ['half a character', (line) => line.replace(/(quoted\\"[^"]*?)\u00e9/, '$1\\ud83d')],
  ['days in another order', (line) => line],
])('archive of operations: %s is refused', async (what, edit) => {
  const edited = change(packs.operations, /^operations\//, (text) =>
    what.startsWith('days') ? `${linesOf(text).toReversed().join('\n')}\n` : linesOf(text).map(edit).join('\n') + '\n',
  );
  expect((await packs.verify(amend(edited))).rank).toBe(2);
});

test('bytes that are no UTF-8 are refused, although they read as the same text', async () => {
  const files = unzipSync(pack(packs.operations));
  const [name = ''] = Object.keys(files).filter((each) => each.startsWith('operations/'));
  const bytes = Buffer.from(files[name] ?? '');
  bytes[bytes.indexOf('\u00e9')] = 0xff;
  const described = amend({ ...packs.operations, [name]: bytes.toString('latin1') });
  const manifest = (described['manifest.json'] ?? '').replace(
    createHash('sha256')
      .update(described[name] ?? '')
      .digest('hex'),
    createHash('sha256').update(bytes).digest('hex'),
  );
  const zip = zipSync({ ...files, [name]: bytes, 'manifest.json': strToU8(manifest) });
  const { rank, words } = await verifyBytes(packs.folder, zip, packs.fixture.ledger.publicKey);
  expect([rank, words]).toEqual([2, expect.stringContaining(`${name} is not UTF-8`)]);
});

test('a copy with a file in the place of a folder is refused in one sentence', async () => {
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const folder = join(copy, 'tile/contents/000.p');
  renameSync(folder, join(packs.folder, 'aside'));
  writeFileSync(folder, '');
  expect(await verifyPath(copy, packs.fixture.ledger.publicKey)).toMatchObject({
    rank: 2,
    words: expect.stringContaining('cannot be read (ENOTDIR)'),
  });
  rmSync(join(packs.folder, 'aside'), { recursive: true });
});

test('of two keys of a witness, the one that has not cosigned is named', async () => {
  const keys = [1, 2].map(() => parseSigningKey(createSigningKey('witness.example/one', 'witness'))?.verifier);
  const file = join(packs.folder, 'operations.zip');
  writeFileSync(file, pack(packs.operations));
  const texts = keys.flatMap((key) => key?.text ?? []);
  const [found] = await verifyTogether([file], [packs.fixture.ledger.publicKey, ...texts]);
  for (const key of keys)
    expect(found?.words).toContain(`the witness witness.example/one has not cosigned it with the key ${key?.id}`);
});
