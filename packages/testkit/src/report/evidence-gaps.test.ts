import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { copyLedger, editLines, type Files, forge, linesOf, pack, verifyTogether } from './packs.ts';
import { createPacks, type Packs } from './packs-fixture.ts';

// Gaps in the archive of operations, which an archive of evidence must not lose.

let packs: Packs;
let evidence: Files;
beforeAll(async () => {
  packs = await createPacks(inject('postgresUrl'));
  ({ evidence } = packs);
});
afterAll(async () => await packs.close());

const sealsFile = /seals-with-gaps\.ndjson$/;
const filesWithGaps: [string, RegExp][] = [
  ['the list of gaps', /^not-seen\/operation-holes\.ndjson$/],
  ['the table of the history of operations', /-operation_history\.ndjson$/],
];

test('an archive of evidence proves that it has each gap that was sealed', async () => {
  expect(linesOf(evidence['ledger/seals-with-gaps.ndjson'] ?? '').length).toBe(10);
  const { rank, words } = await packs.verify(evidence);
  expect(rank).toBe(1);
  for (const file of ['not-seen/operation-holes', 'operation_history', 'coverage/operations'])
    expect(words).toMatch(new RegExp(`${file}\\.ndjson: it has each of the [1-9]\\d* gaps that were sealed`));
});

test.each(filesWithGaps)('a gap that is dropped from %s is found', async (_what, file) => {
  const dropped = forge(
    file,
    editLines((lines) => lines.filter((line) => !line.includes('quiet-river'))),
  )(evidence);
  const { rank, words } = await packs.verify(dropped);
  expect([rank, words]).toEqual([2, expect.stringMatching(/it lacks the gap of [^"]+ quiet-river from 2026-05-/)]);
});

test.each(filesWithGaps)('a gap that is made shorter in %s is found', async (_what, file) => {
  const shorter = forge(file, (text) => text.replaceAll(/("from" ?: ?"2026-05-)20/g, '$122'));
  expect((await packs.verify(shorter(evidence))).rank).toBe(2);
});

test('a gap that the coverage does not have is found', async () => {
  const covered = forge(
    /^coverage\/operations\.ndjson$/,
    editLines((lines) => lines.map((line) => JSON.stringify({ ...(JSON.parse(line) as object), unknown: [] }))),
  );
  expect((await packs.verify(covered(evidence))).rank).toBe(2);
});

test('an archive without the seals, or with other receipts in their place, is refused', async () => {
  const { ['ledger/seals-with-gaps.ndjson']: _seals, ...others } = evidence;
  const manifest = JSON.parse(others['manifest.json'] ?? '') as { attachments: { file: string }[] };
  const without = { ...manifest, attachments: manifest.attachments.filter(({ file }) => !sealsFile.test(file)) };
  const { rank, words } = await packs.verify({ ...others, 'manifest.json': JSON.stringify(without) });
  expect([rank, words]).toEqual([2, expect.stringContaining('it has no ledger/seals-with-gaps.ndjson')]);
  const [other = ''] = linesOf(evidence['ledger/receipts.ndjson'] ?? '');
  const replaced = forge(
    sealsFile,
    editLines((lines) => [other, ...lines.slice(1)]),
  );
  expect((await packs.verify(replaced(evidence))).rank).toBe(2);
  const twice = forge(
    sealsFile,
    editLines((lines) => [...lines, ...lines.slice(-1)]),
  );
  expect((await packs.verify(twice(evidence))).rank).toBe(2);
});

test('a gap that is dropped with the receipts of its seals is named beside a copy of the ledger', async () => {
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const file = join(packs.folder, 'beside.zip');
  const beside = async (files: Files) => {
    writeFileSync(file, pack(files));
    const [result] = await verifyTogether([copy, file], [packs.fixture.ledger.publicKey]);
    return [result?.rank, result?.words];
  };
  expect(await beside(evidence)).toEqual([0, expect.not.stringContaining('leaves out')]);
  const dropped = forge(
    sealsFile,
    editLines((lines) => lines.slice(1)),
  )(evidence);
  expect(await beside(dropped)).toEqual([
    1,
    expect.stringMatching(/it leaves out the seal of [^"]+ quiet-river 2026-05-/),
  ]);
});
