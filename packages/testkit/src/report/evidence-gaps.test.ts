import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import {
  change,
  copyLedger,
  download,
  editLines,
  type Files,
  forge,
  forgeOne,
  leaveOutFiles,
  linesOf,
  pack,
  unpack,
  verifyTogether,
} from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// Gaps in the archive of operations, which an archive of evidence must not lose.

usePacks();

// The history of operations is about the year before the end of the period.
let evidence: Files;
beforeAll(async () => {
  evidence = unpack(await download(packs.fixture, '/v1/evidence?from=2026-05-01&to=2026-06-30'));
});

const sealsFile = /seals-with-gaps\.ndjson$/;
const filesWithGaps: [string, RegExp][] = [
  ['the list of gaps', /^not-seen\/operation-holes\.ndjson$/],
  ['the table of the history of operations', /-operation_history\.ndjson$/],
];

test('an archive of evidence proves that it has each gap that was sealed', async () => {
  expect(linesOf(evidence['ledger/seals-with-gaps.ndjson'] ?? '').length).toBe(11);
  const { rank, words } = await packs.verify(evidence);
  expect(rank).toBe(1);
  for (const file of ['not-seen/operation-holes', 'operation_history', 'coverage/operations'])
    expect(words).toMatch(
      new RegExp(`${file}\\.ndjson: it has each of the 11 gaps that the seals of the archive name`),
    );
});

test.each(filesWithGaps)('a gap that is dropped from %s alone is found', async (_what, file) => {
  const dropped = forgeOne(
    file,
    editLines((lines) => lines.filter((line) => !line.includes('quiet-river'))),
  )(evidence);
  const { rank, words } = await packs.verify(dropped);
  expect(rank).toBe(2);
  const wrong = (JSON.parse(words) as { verdict: { wrong: string[] } }).verdict.wrong;
  expect(wrong).toHaveLength(11);
  for (const each of wrong) expect(each.slice(0, each.indexOf(':'))).toMatch(file);
  expect(wrong[0]).toMatch(/it lacks the gap of .+ quiet-river from 2026-05-/);
  expect(words).not.toContain('name no gap');
});

test.each(filesWithGaps)('a gap that is made shorter in %s is found', async (_what, file) => {
  for (const [from, to] of [
    [/("from" ?: ?"2026-05-)20/g, '$122'],
    [/("to" ?: ?")\d{4}-[^"]+/g, '$12026-05-30T00:00:00Z'],
  ] as const) {
    const shorter = forgeOne(file, (text) => text.replaceAll(from, to));
    expect((await packs.verify(shorter(evidence))).rank).toBe(2);
  }
});

const withPeriod = (files: Files, from: string, to: string): Files =>
  change(files, /manifest/, (text) =>
    text.replace(/"from": ?"[^"]+"/, `"from":"${from}"`).replace(/"to": ?"[^"]+"/, `"to":"${to}"`),
  );

/** Returns the days of the gaps that a list of a period lacks, if it has none. */
async function lacking(files: Files, from: string, to: string): Promise<string[]> {
  const dropped = forge(
    filesWithGaps[0]?.[1] ?? /x/,
    editLines((lines) => lines.filter((line) => !line.includes('quiet-river'))),
  )(files);
  const { words } = await packs.verify(withPeriod(dropped, from, to));
  const sentences = (JSON.parse(words) as { verdict: { wrong: string[] } }).verdict.wrong;
  return sentences.flatMap(
    (each) => /operation-holes.ndjson: it lacks the gap of .* from (\S{10})/.exec(each)?.[1] ?? [],
  );
}

test('a list of gaps needs those of its period only, and none that began shortly before its end', async () => {
  const first = '2026-05-01T00:00:00Z';
  expect(await lacking(evidence, first, '2026-05-22T00:00:00Z')).toEqual(['2026-05-20']);
  expect(await lacking(evidence, first, '2026-05-21T01:00:00Z')).toEqual(['2026-05-20']);
  expect(await lacking(evidence, first, '2026-05-21T00:59:59Z')).toEqual([]);
  expect(await lacking(evidence, '2026-05-29T00:00:00Z', '2026-06-27T00:00:00Z')).toEqual(['2026-05-29', '2026-05-30']);
  const withoutGaps = await packs.verify(withPeriod(evidence, first, '2026-05-10T00:00:00Z'));
  expect(withoutGaps.words).toMatch(/operation-holes\.ndjson: the seals of the archive name no gap from 2026-05-01/);
});

test('a list of gaps may end where the last sealed gap ends, and has those of its own control plane', async () => {
  const [, list] = filesWithGaps[0] ?? [];
  const forged = async (from: RegExp, to: string) =>
    await packs.verify(forgeOne(list ?? /x/, (text) => text.replaceAll(from, to))(evidence));
  expect((await forged(/("to" ?: ?")\d{4}-[^"]+/g, '$12026-05-31T00:00:00Z')).words).toMatch(
    /operation-holes\.ndjson: it has each of the 11 gaps/,
  );
  expect((await forged(/("control_plane" ?: ?")[^"]+/g, '$1http://other')).rank).toBe(2);
  expect(await forged(/("from" ?: ?")[^"]+/g, '$1')).toEqual({
    rank: 2,
    words: expect.stringContaining('a record in it has an unknown form'),
  });
});

test('projects of two control planes can have one id', async () => {
  const twice = forgeOne(
    /^coverage\/operations\.ndjson$/,
    editLines((lines) => [...lines, lines[0]?.replace(/("control_plane" ?: ?")[^"]+/, '$1http://other') ?? '']),
  );
  expect((await packs.verify(twice(evidence))).words).not.toContain('a project twice');
});

test('a gap that the coverage does not have is found', async () => {
  const covered = forgeOne(
    /^coverage\/operations\.ndjson$/,
    editLines((lines) => lines.map((line) => JSON.stringify({ ...(JSON.parse(line) as object), unknown: [] }))),
  );
  expect((await packs.verify(covered(evidence))).rank).toBe(2);
});

test('a coverage that claims a time of a gap beside the gap is found', async () => {
  const claimed = (to: string) =>
    forgeOne(/^coverage\/operations\.ndjson$/, (text) =>
      text.replace(/"to" ?: ?"2026-05-20T00:00:00Z"/, `"to":"${to}"`),
    );
  const { rank, words } = await packs.verify(claimed('2026-05-20T00:00:01Z')(evidence));
  expect([rank, words]).toEqual([
    2,
    expect.stringMatching(/it claims a time of the gap of \S+ \S+ quiet-river from 2026-05-20/),
  ]);
  expect((await packs.verify(claimed('2026-05-19T00:00:00Z')(evidence))).rank).toBe(1);
});

test.each([
  ['seals', sealsFile, 'it has no ledger/seals-with-gaps.ndjson'],
  ['coverage', /^coverage\/operations/, 'it has no coverage/operations.ndjson'],
  ['list of gaps', /^not-seen\/operation-holes/, 'it has no not-seen/operation-holes.ndjson'],
])('an archive without its %s is refused', async (_what, name, why) => {
  const { rank, words } = await packs.verify(leaveOutFiles(evidence, name));
  expect([rank, words]).toEqual([2, expect.stringContaining(why)]);
});

test('an archive that claims to have no control about operations still has to name its gaps', async () => {
  const without = leaveOutFiles(evidence, /^not-seen\/operation-holes|-operation_history/);
  const { rank, words } = await packs.verify(without);
  expect([rank, words]).toEqual([
    1,
    expect.stringMatching(/it has no not-seen\/operation-holes\.ndjson, although its seals name 11 gaps/),
  ]);
  const until = async (to: string) => (await packs.verify(withPeriod(without, '2026-05-01T00:00:00Z', to))).words;
  expect(await until('2026-05-22T00:00:00Z')).toContain('although its seals name 1 gap');
  expect(await until('2026-05-10T00:00:00Z')).not.toContain('although its seals');
});

test('neither a forged time of the archive nor lines that fill a list hide a gap', async () => {
  const dropped = forge(
    filesWithGaps[0]?.[1] ?? /x/,
    editLines((lines) => lines.filter((line) => !line.includes('quiet-river'))),
  )(evidence);
  const earlier = change(dropped, /manifest/, (text) =>
    text.replace(/"as_of": ?"[^"]+"/, '"as_of":"2026-05-01T00:00:01Z"'),
  );
  expect((await packs.verify(earlier)).rank).toBe(2);
  const filled = async (count: number, line: (index: number) => object) => {
    const fill = (lines: string[]) =>
      Array.from({ length: count }, (_, index) => lines[index] ?? JSON.stringify(line(index)));
    const { words } = await packs.verify(forgeOne(/^not-seen\/operation-holes/, editLines(fill))(dropped));
    const { verdict } = JSON.parse(words) as { verdict: { wrong: string[]; unproven: string[] } };
    const ofList = (each: string) => each.startsWith('not-seen/operation-holes');
    return { wrong: verdict.wrong.filter(ofList)[0], unproven: verdict.unproven.filter(ofList)[0] };
  };
  const other = { control_plane: 'x', project_id: 'y', from: '2026-05-01T00:00:00Z', to: '2026-05-02T00:00:00Z' };
  const distinct = (index: number) => ({ ...other, project_id: String(index) });
  expect((await filled(100, () => other)).wrong).toContain('it has a line twice');
  expect((await filled(9999, distinct)).wrong).toContain('it lacks the gap');
  // A list has no more lines, so it may have been cut.
  expect(await filled(10_000, distinct)).toEqual({ unproven: expect.stringContaining('it lacks the gap') });
  expect((await filled(10_001, distinct)).wrong).toContain('has more lines than such files have');
});

test('other receipts in the place of the seals, or one twice, are refused', async () => {
  const [other = ''] = linesOf(evidence['ledger/receipts.ndjson'] ?? '');
  const replaced = forge(
    sealsFile,
    editLines((lines) => [other, ...lines.slice(1)]),
  );
  const { rank, words } = await packs.verify(replaced(evidence));
  expect([rank, words]).toEqual([2, expect.stringMatching(/a line of [^:]+ is not proven: a receipt is of /)]);
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
  );
  const leftOut = [1, expect.stringMatching(/it leaves out the seal of [^"]+ quiet-river 2026-05-20/)];
  expect(await beside(dropped(evidence))).toEqual(leftOut);
  // Also before the period, in the days that the history of operations is about.
  const later = Object.entries(evidence).map(([name, text]) => [
    name,
    name === 'manifest.json' ? text.replace(/"from": ?"[^"]+"/, '"from":"2026-05-28T00:00:00Z"') : text,
  ]);
  expect(await beside(dropped(Object.fromEntries(later) as Files))).toEqual(leftOut);
});

test('a gap that no later walk can fill is due, also if it began shortly before the end of the period', async () => {
  const { store, ledger } = packs.fixture;
  const [start, end] = ['2026-05-25T00:00:00Z', '2026-05-26T00:00:00Z'];
  const gap = `[{"from":"${start}","from_included":true,"reason":"pruned","to":"${end}","to_included":false}]`;
  await store.sql.unsafe(`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select project_number, project, day, operations, root, '[]', '${gap}', number from keywarden.operation_seal
    where project like '% quiet-river' and day = '2026-05-25' order by number desc limit 1`);
  packs.fixture.store.isTampered();
  await ledger.sign();
  const sealed = unpack(await download(packs.fixture, '/v1/evidence?from=2026-05-01&to=2026-06-30'));
  expect(await lacking(sealed, '2026-05-24T00:00:00Z', '2026-05-25T00:00:01Z')).toEqual(['2026-05-25']);
  expect(await lacking(sealed, '2026-05-24T00:00:00Z', start)).toEqual([]);
});
