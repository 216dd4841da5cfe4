import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { falseArchives, trueArchives } from './false-archives.ts';
import {
  archive,
  archiveOfRow,
  empty,
  event,
  falseEvents,
  falseLines,
  falseReceipts,
  falseSeals,
  fewer,
  hidden,
  histories,
  key,
  personal,
  receiptOf,
  trueEvents,
  unsorted,
  withEmptyInterval,
  withStartApart,
} from './falsehoods.ts';
import { buildGoVerifier } from './go-verifier.ts';
import type { OwnEvent } from './own-ledger.ts';
import { amend, change, type Files, pack, verifyTogether } from './packs.ts';

// docs/verify proves nothing that `verify` does not: the same forged files, without a store.

const folder = mkdtempSync(join(tmpdir(), 'go-falsehoods-'));
let verifier: string;
beforeAll(() => {
  verifier = buildGoVerifier(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
/** Writes a receipt, or an archive as a file and as a folder. */
function write(given: string | Files): { file: string; path: string } {
  count += 1;
  const file = join(folder, `file-${count}`);
  writeFileSync(file, typeof given === 'string' ? given : pack(given));
  if (typeof given === 'string') return { file, path: file };
  const path = join(folder, `unpacked-${count}`);
  for (const [name, text] of Object.entries(given)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return { file, path };
}

const go = (...paths: string[]) => spawnSync(verifier, [key.verifier.text, ...paths], { encoding: 'utf8' });
/** Returns the codes with which both exit. */
async function both(...given: (string | Files)[]): Promise<(number | null | undefined)[]> {
  const written = given.map(write);
  const results = await verifyTogether(
    written.map(({ file }) => file),
    [key.verifier.text],
    Date.parse('2026-06-01T00:00:00Z'),
  );
  const code = [0, 3, 1][Math.max(...results.map(({ rank }) => rank))];
  return [code, go(...written.map(({ path }) => path)).status];
}

test('both prove what is true', async () => {
  for (const each of trueEvents) expect(await both(receiptOf([each]))).toEqual([0, 0]);
  expect(await both(archive([empty]))).toEqual([0, 0]);
  expect(await both(archiveOfRow())).toEqual([0, 0]);
  expect(await both(receiptOf([event(1, 'x'), event(2, 'y')], 1), receiptOf([event(1, 'x')]))).toEqual([0, 0]);
});

test.each(falseEvents)('both refuse an event with %s', async (_what, each) => {
  expect(await both(receiptOf([each]))).toEqual([1, 1]);
});

test.each(falseReceipts)('both refuse a receipt with %s', async (_what, receipt) => {
  expect(await both(receipt)).toEqual([1, 1]);
});

test('both prove personal data that is shown with its salt, and name what is hidden', async () => {
  expect(await both(receiptOf([personal]))).toEqual([0, 0]);
  expect(await both(receiptOf([hidden]))).toEqual([3, 3]);
});

test.each(falseSeals)('both refuse a seal with %s', async (_what, seal) => {
  expect(await both(archive([seal]))).toEqual([1, 1]);
  // Also in the place of one that was replaced.
  const next = { ...empty, subject: 'operation_seal/2', content: { ...empty.content, number: '2', replaces: '1' } };
  expect(await both(archive([seal, next]))).toEqual([1, 1]);
});

test.each(falseLines)('both refuse operations with %s', async (_what, lines) => {
  expect(await both(archiveOfRow(lines))).toEqual([1, 1]);
});

test.each(trueArchives)('both agree on an archive with %s', async (_what, code, files) => {
  expect(await both(files)).toEqual([code, code]);
});

test.each(falseArchives)('both refuse an archive with %s', async (_what, files) => {
  expect(await both(files)).toEqual([1, 1]);
});

test.each(histories)('both refuse two receipts of %s', async (_what, trees) => {
  expect(await both(...trees.map((events) => receiptOf(events)))).toEqual([1, 1]);
});

test('both refuse an archive of operations that looks like one of evidence', async () => {
  const files = archive([empty]);
  const receipts = files['seals/00001.ndjson'] ?? '';
  const { kind, ...others } = JSON.parse(files['manifest.json'] ?? '') as Record<string, unknown>;
  const mixed = { ...files, 'ledger/receipts.ndjson': receipts, 'ledger/seals-with-gaps.ndjson': receipts };
  for (const manifest of [files['manifest.json'] ?? '', JSON.stringify({ ...others, kind })])
    expect(await both({ ...mixed, 'manifest.json': manifest })).toEqual([1, 1]);
});

test('both refuse a file that is not in the manifest, also if its name looks like a part of that', async () => {
  const files = archive([empty]);
  const [, hash] = /"retention": \{[^}]+"sha256": "(\w+)"/.exec(files['manifest.json'] ?? '') ?? [];
  for (const name of ['more.txt', `retention.ndjson","records":0,"sha256":"${hash}`])
    expect(await both({ ...files, [name]: 'all is well' })).toEqual([1, 1]);
});

test('Go refuses a link in the place of a file', () => {
  const { path } = write(archive([empty]));
  expect(go(path).status).toBe(0);
  const rows = join(path, 'operations/00001.ndjson');
  renameSync(rows, join(folder, 'rows'));
  symlinkSync(join(folder, 'rows'), rows);
  expect(go(path)).toMatchObject({ status: 1, stdout: expect.stringContaining('is not in its manifest.json') });
});

test('both take the intervals of a seal in any order', async () => {
  expect(await both(archive([unsorted]))).toEqual([0, 0]);
  for (const seal of [withEmptyInterval, withStartApart]) expect(await both(archive([seal]))).toEqual([0, 0]);
});

test('neither proves a day that was sealed again with fewer operations', async () => {
  expect(await both(archive(fewer))).toEqual([3, 3]);
});

test('Go says in words that an archive has no receipt', () => {
  const { status, stdout } = go(write(archive([])).path);
  expect([status, stdout]).toEqual([1, expect.stringContaining('NOT PROVEN: "it has no receipt"')]);
});

test('Go refuses more than one way to write the same', async () => {
  const receipt = receiptOf([event(1, 'x')]);
  expect(await both(receiptOf([{ ...event(1, 'x'), recorded: '2026-05-10T02:00:00+02:00' }]))).toEqual([0, 1]);
  const spaced = amend(change(archiveOfRow(), /^operations/, (text) => text.replace('"status":', '"status": ')));
  expect(await both(spaced)).toEqual([0, 1]);
  const signature = receipt.split('\n').at(-2) ?? '';
  expect(await both(`${receipt}${signature.slice(0, -6)}AAAA==\n`)).toEqual([1, 1]);
});

test('Go prints the events of an archive of evidence, and compares the documents of signed reviews with them', () => {
  const document = '{"review":{}}\n';
  const sha256 = createHash('sha256').update(document).digest('hex');
  const signed = { type: 'review.signed', subject: 'review_signature/1', content: { review_number: '1', sha256 } };
  const files = {
    'manifest.json': '{}',
    'ledger/receipts.ndjson': `${JSON.stringify({ receipt: receiptOf([signed]) })}\n`,
    'ledger/seals-with-gaps.ndjson': '',
  };
  const [whole, without, altered] = [{ 'reviews/1.json': document }, {}, { 'reviews/1.json': `${document} ` }].map(
    (documents) => go(write({ ...files, ...documents }).path),
  );
  expect([whole?.status, without?.status, altered?.status]).toEqual([3, 3, 1]);
  for (const [of, count] of [
    [whole, 1],
    [without, 0],
  ] as const) {
    expect(of?.stdout).toContain('proven: "review.signed" of "review_signature/1"');
    expect(of?.stdout).toContain(`proven: its 1 receipts, 0 seals with gaps and ${count} documents of signed reviews`);
    expect(of?.stdout).toContain('not proven: its other files, such as tables and summaries');
  }
  expect(altered?.stdout).toContain('NOT PROVEN: "\\"reviews/1.json\\" is not what was signed"');
});

test('Go refuses receipts of an archive of evidence that are not in the order of the ledger, and others than seals in the place of seals', () => {
  const events = [event(1, 'x'), event(2, 'y'), empty];
  const statusOf = (receipts: number[], seals: number[]) => {
    const lines = (places: number[]) =>
      places.map((index) => `${JSON.stringify({ receipt: receiptOf(events, index) })}\n`).join('');
    const files = { 'ledger/receipts.ndjson': lines(receipts), 'ledger/seals-with-gaps.ndjson': lines(seals) };
    return go(write({ 'manifest.json': '{}', ...files }).path).status;
  };
  expect(statusOf([0, 1], [2])).toBe(3);
  for (const receipts of [
    [1, 0],
    [0, 0],
  ])
    expect([receipts, statusOf(receipts, [2])]).toEqual([receipts, 1]);
  expect(statusOf([0, 1], [1])).toBe(1);
});

test('an exported file is proven after the receipt of its export, and another one is not', async () => {
  const exportOf = (bytes: Uint8Array | string): OwnEvent => {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const content = { sha256, path: '/v1/x', records: '0' };
    return { type: 'export.completed', subject: `report_export/${sha256}`, content };
  };
  const file = 'name,created_at\r\n';
  const exported = exportOf(file);
  expect(await both(receiptOf([exported]), file)).toEqual([0, 0]);
  expect(await both(receiptOf([exported]), `${file}\r\n`)).toEqual([1, 1]);
  expect(await both(receiptOf([empty, exported], 1), archive([empty]))).toEqual([3, 3]);
  expect(await both(receiptOf([exported]))).toEqual([0, 3]);
  expect(await both(receiptOf([{ ...exported, content: { path: '/v1/x' } }]))).toEqual([0, 0]);
  const { file: zip } = write(archive([empty]));
  const ofZip = write(receiptOf([empty, exportOf(readFileSync(zip))], 1));
  expect([go(ofZip.path, zip).status, go(zip).status]).toEqual([3, 1]);
});
