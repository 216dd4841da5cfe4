import { policyFile } from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import { writeCsv } from '@keywarden/runtime';
import { expect, test } from 'vitest';
import { event } from './falsehoods.ts';
import { coverage, receiptsOf, useOwnEvidence } from './own-evidence.ts';
import { evidenceOf, linesOfRows, type OwnEvent, project, sealOf } from './own-ledger.ts';

// Small archives of evidence with real receipts, and documents, CSV files and gaps that differ from these in one thing alone.

const { verify, verifyTable } = useOwnEvidence();
const some = event(1, 'x');

test('a file that no event is about is the one of the manifest', async () => {
  const files = evidenceOf({ ...coverage, 'other.ndjson': '{}\n' }, receiptsOf([some]));
  expect((await verify(files)).wrong).toEqual([]);
  expect((await verify({ ...files, 'other.ndjson': '[]\n' })).wrong).toEqual([
    'other.ndjson is not the file that manifest.json names',
  ]);
});

const document = '{"version":1}';
const hash = sha256(document);
const policy = policyFile({ usedFrom: '2026-04-01T00:00:00Z', sha256: hash, document });
const stored: OwnEvent = {
  type: 'policy.stored',
  subject: 'policy/1',
  content: { number: '1', sha256: hash, document, first_used_at: '2026-04-01T00:00:00Z' },
};

test('a policy that no plan of the period was made with is the one that was recorded, too', async () => {
  const of = async (text: string, events: OwnEvent[]) =>
    await verify(evidenceOf({ ...coverage, [policy.name]: text }, receiptsOf(events)));
  const found = await of(policy.text, [stored]);
  expect([found.proven, found.wrong]).toEqual([
    expect.arrayContaining([`${policy.name} is a policy that the ledger recorded`]),
    [],
  ]);
  expect((await of(policy.text.replace('1', '2'), [stored])).wrong).toEqual([
    `${policy.name} is not the policy that the ledger recorded`,
  ]);
  expect((await of(policy.text, [some])).unproven).toContain(`${policy.name}: the policy has no receipt`);
});

const row = { review_id: '1', key: { number: '7', name: 'n' }, decision: 'keep', more: 'x' };
const review = `${JSON.stringify({ review: { id: '1' }, items: [row] })}\n`;

test('the document of a review without a receipt is not proven, and proves no row', async () => {
  const rows = linesOfRows([{ ...row, decided_at: '2026-05-10T00:00:00Z' }]);
  const files = { ...coverage, 'reviews/1.json': review, 'x-reviewed_keys.ndjson': rows };
  const { rank, unproven } = await verify(evidenceOf(files, receiptsOf([some])));
  expect([rank, unproven]).toEqual([
    1,
    expect.arrayContaining([
      'reviews/1.json: its signature has no receipt',
      'these fields are not compared with the ledger, key.name, more: x-reviewed_keys.ndjson',
    ]),
  ]);
});

test('a CSV file has each row of a long table, once and in its order', async () => {
  const rows = Array.from({ length: 1001 }, (_, index) => [String(index)]);
  const table = linesOfRows(rows.map(([name]) => ({ name })));
  const of = async (lines: string[][]) =>
    (
      await verify(
        evidenceOf({ ...coverage, 'x.ndjson': table, 'x.csv': writeCsv([['name'], ...lines]) }, receiptsOf([some])),
      )
    ).wrong;
  expect(await of(rows)).toEqual([]);
  for (const lines of [rows.slice(0, 1000), rows.toSpliced(700, 1), rows.with(3, ['x']), [...rows, ['x']]])
    expect(await of(lines)).toEqual(['x.csv does not have the rows of x.ndjson']);
});

const key = { number: '7', control_plane: 'https://plane.example', scope: 'user:1', id: '12' };
const granted: OwnEvent = {
  type: 'exemption.granted',
  subject: 'exemption/1',
  content: {
    number: '1',
    granted_at: '2026-05-10T00:00:00Z',
    until: '2026-06-10T00:00:00Z',
    pattern: null,
    reason: 'kept',
    granted_by: null,
    rules: null,
    keys: null,
  },
};
const exemption = {
  id: '1',
  granted_at: '2026-05-10T00:00:00Z',
  until: '2026-06-10T00:00:00Z',
  pattern: null,
  reason: 'kept',
  granted_by: null,
  rules: null,
  keys: [key],
  state: 'in_force',
  ended_at: null,
  ended_by: null,
};

test('the keys of an exemption have texts in their names, and nothing that reads as the same ones', async () => {
  const hashed = {
    ...granted,
    content: { ...granted.content, keys: 'HASH' },
    editContent: (text: string) => text.replace('"HASH"', `{"sha256":"${sha256('https://plane.example user:1 12')}"}`),
  };
  const of = async (change: object) =>
    (await verifyTable('exemptions', [{ ...exemption, keys: [{ ...key, ...change }] }], [hashed])).wrong;
  expect(await of({})).toEqual([]);
  for (const change of [
    { control_plane: ['https://plane.example'] },
    { scope: ['user:1'] },
    { id: ['12'] },
    { id: 12 },
  ])
    expect([change, await of(change)]).toEqual([
      change,
      ['x-exemptions.ndjson: the row 1 differs from the ledger in keys'],
    ]);
});

const [start, middle, end] = ['2026-05-01T00:00:00Z', '2026-05-01T12:00:00Z', '2026-05-02T00:00:00Z'];
const gap = { from: start, from_included: true, reason: 'pruned', to: middle, to_included: false };
const seal = sealOf(1, { day: '2026-05-01', operations: 0 });
const sealed: OwnEvent = { ...seal, content: { ...seal.content, gaps: JSON.stringify([gap]) } };
const [plane = '', id = ''] = project.split(' ');

test('a coverage claims no time of a sealed gap, in none of its intervals', async () => {
  const of = async (known: object[]) => {
    const covered = { control_plane: plane, project_id: id, known, unknown: [{ from: start, to: middle }] };
    const [receipt = '', sealReceipt = ''] = receiptsOf([some, sealed]);
    const files = {
      'coverage/operations.ndjson': linesOfRows([covered]),
      'ledger/seals-with-gaps.ndjson': linesOfRows([{ receipt: sealReceipt }]),
    };
    return (await verify(evidenceOf(files, [receipt]))).wrong;
  };
  const after = { from: middle, to: end };
  expect(await of([after])).toEqual([]);
  const within = { from: '2026-05-01T11:59:59Z', to: end };
  for (const known of [
    [within, after],
    [after, within],
  ])
    expect(await of(known)).toEqual([
      `coverage/operations.ndjson: it claims a time of the gap of ${project} from ${start} to ${middle}, which was sealed`,
    ]);
});

test('a measure looks back at least a day, and at most a century', async () => {
  const of = async (days: number) => {
    const part = (file: string, text: string) => ({ file, records: 0, sha256: sha256(text) });
    const [name, csv] = ['x-operation_history.ndjson', 'x-operation_history.csv'];
    const measure = { measure: 'operation_history', days };
    const files = evidenceOf(coverage, receiptsOf([some]));
    const table = { ...part(name, ''), csv: part(csv, 'name\r\n'), measure, not_assessable: null };
    const manifest = { ...(JSON.parse(files['manifest.json'] ?? '') as object), files: [table] };
    return (await verify({ ...files, [name]: '', [csv]: 'name\r\n', 'manifest.json': JSON.stringify(manifest) })).wrong;
  };
  for (const days of [1, 36_600]) expect(await of(days)).toEqual(['it has no not-seen/operation-holes.ndjson']);
  for (const days of [0, 36_601]) expect(await of(days)).toEqual(['its manifest.json has an unknown form']);
});
