import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emptyRoot, formatCheckpoint, hashLeaf, signNote } from '@keywarden/core/ledger';
import { canonicalJson, sha256 } from '@keywarden/core/values';
import { afterAll, expect, test } from 'vitest';
import { archive, archiveOfRow, day, empty, event, full, key, receiptOf } from './falsehoods.ts';
import { archiveOf, createKey, ledgerName, type OwnEvent, sealOf, signEvents } from './own-ledger.ts';
import { amend, change, type Files, linesOf, pack, verifyTogether } from './packs.ts';

// Archives of operations whose receipts are real, each on its own: from other trees, without a witness, of other days or recorded late.

const nowMs = Date.parse('2026-06-01T00:00:00Z');
const folder = mkdtempSync(join(tmpdir(), 'forged-seals-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function verify(given: Files, keys = [key]): Promise<{ rank: number; words: string }> {
  const file = join(folder, 'given.zip');
  writeFileSync(file, pack(given));
  const texts = keys.map(({ verifier }) => verifier.text);
  return (await verifyTogether([file], texts, nowMs))[0] ?? { rank: -1, words: '' };
}

const next = '2026-05-02';
const later = '2026-05-03';
/** Makes an archive of one day an archive of more. */
const until = (to: string, files: Files) =>
  change(files, /^manifest/, (text) => text.replace(/"to": "[^"]+"/, `"to": "${to}"`));
const covering = (seal: OwnEvent, ...intervals: [string, string, string?][]): OwnEvent => {
  const covered = intervals.map(([from, to, reason]) => ({
    from,
    to,
    from_included: true,
    to_included: false,
    ...(reason === undefined ? {} : { reason }),
  }));
  return { ...seal, content: { ...seal.content, covered: canonicalJson(covered) } };
};

test('receipts of two trees of one size are not of one archive', async () => {
  const again = sealOf(2, { day, operations: 0, replaces: '1' });
  const one = [empty, again, event(1, 'yes')];
  expect(await verify(archiveOf(day, [receiptOf(one), receiptOf(one, 1)]))).toMatchObject({ rank: 0 });
  const other = [empty, again, event(1, 'no')];
  const mixed = await verify(archiveOf(day, [receiptOf(one), receiptOf(other, 1)]));
  expect(mixed).toEqual({ rank: 2, words: expect.stringContaining('it is of another tree than the receipts before') });
  // Nor are those of two ledgers with the same events.
  const anew = createKey('log', 'keywarden/anew');
  const ofAnew = signEvents(one, [anew], undefined, anew.verifier.name).receipt(1);
  expect(await verify(archiveOf(day, [receiptOf(one), ofAnew]), [key, anew])).toMatchObject({ rank: 2 });
});

test('a witness that cosigned only some receipts of an archive has not cosigned it', async () => {
  const witness = createKey('witness');
  const events = [empty, sealOf(2, { day, operations: 0, replaces: '1' })];
  const [plain, cosigned] = [signEvents(events, [key]), signEvents(events, [key, witness])];
  const both = await verify(archiveOf(day, [cosigned.receipt(0), cosigned.receipt(1)]), [key, witness]);
  expect(both.rank).toBe(0);
  const some = await verify(archiveOf(day, [cosigned.receipt(0), plain.receipt(1)]), [key, witness]);
  expect(some).toEqual({ rank: 1, words: expect.stringContaining('has not cosigned it') });
});

test('a copy is not proven by a key of another name, by a witness alone, or with a cosignature of the future', async () => {
  const witness = createKey('witness');
  const others = [createKey('log', 'keywarden/other'), createKey('witness', key.verifier.name)];
  const verifyCopy = async (signers: (typeof key)[], cosignedAt: string) => {
    const copy = mkdtempSync(join(folder, 'copy-'));
    signEvents([empty], signers, Date.parse(cosignedAt) / 1000).writeCopy(copy);
    const texts = signers.map(({ verifier }) => verifier.text);
    return (await verifyTogether([copy], texts, nowMs))[0];
  };
  expect(await verifyCopy([key, witness], '2026-05-11T00:00:00Z')).toMatchObject({ rank: 0 });
  expect(await verifyCopy([key, witness], '2026-07-01T00:00:00Z')).toEqual({
    rank: 2,
    words: expect.stringContaining('is of a time in the future'),
  });
  for (const other of others)
    expect(await verifyCopy([other], '2026-05-11T00:00:00Z')).toEqual({
      rank: 2,
      words: expect.stringContaining('is not signed with one of the given keys'),
    });
});

test('a checkpoint of no event is one of the empty tree, which each copy continues', async () => {
  const copy = mkdtempSync(join(folder, 'copy-'));
  const write = (name: string, root: Uint8Array) =>
    writeFileSync(join(copy, name), signNote(formatCheckpoint({ origin: ledgerName, size: 0, root }), [key], 0));
  const rank = async () => (await verifyTogether([copy], [key.verifier.text], nowMs))[0]?.rank;
  write('checkpoint', emptyRoot);
  expect(await rank()).toBe(0);
  write('checkpoint', hashLeaf('x'));
  expect(await rank()).toBe(2);
  signEvents([empty], [key]).writeCopy(copy);
  write('checkpoint.1', emptyRoot);
  expect(await rank()).toBe(0);
  write('checkpoint.1', hashLeaf('x'));
  expect(await rank()).toBe(2);
  writeFileSync(join(copy, 'checkpoint.1'), 'no checkpoint');
  expect(await rank()).toBe(2);
});

test('a copy with other events than its checkpoint signs is refused, also without tiles of hashes', async () => {
  const copy = mkdtempSync(join(folder, 'copy-'));
  signEvents([event(1, 'yes')], [key]).writeCopy(copy);
  const checkpoint = readFileSync(join(copy, 'checkpoint'));
  signEvents([event(1, 'no')], [key]).writeCopy(copy);
  writeFileSync(join(copy, 'checkpoint'), checkpoint);
  expect((await verifyTogether([copy], [key.verifier.text], nowMs))[0]).toEqual({
    rank: 2,
    words: expect.stringContaining('its entries are not those that its checkpoint signs'),
  });
});

test('a seal that was not recorded at its time is named', async () => {
  const at = '2026-05-08T00:00:00Z';
  const late: OwnEvent = {
    ...empty,
    content: { ...empty.content, sealed_at: at },
    editLeaf: (text) => text.replace(/"at":"[^"]+"/, `"at":"${at}"`),
  };
  expect(await verify(archive([late]))).toEqual({
    rank: 1,
    words: expect.stringContaining(`${day} was not recorded within an hour of the time of its seal`),
  });
});

test('a seal that names another number of operations, or another seal as the one before, is refused', async () => {
  const files = archiveOfRow();
  const [seal = ''] = linesOf(files['seals/00001.ndjson'] ?? '');
  const extra = Buffer.from(/extra (\S+?)\\n/.exec(seal)?.[1] ?? '', 'base64').toString();
  const root = /root\\":\\"([\da-f]+)/.exec(extra)?.[1] ?? '';
  const two = await verify(archive([sealOf(1, { day, operations: 2, root })], files['operations/00001.ndjson']));
  expect(two).toEqual({
    rank: 2,
    words: expect.stringContaining('its operations of 2026-05-01 (1) are not those that were sealed (2)'),
  });
  const other = await verify(archive([empty, sealOf(2, { day, operations: 0, replaces: '7' })]));
  expect(other).toEqual({ rank: 2, words: expect.stringContaining('do not follow each other') });
  // Nor does one follow another that comes after it in the ledger.
  const swapped = [sealOf(2, { day, operations: 0, replaces: '1' }), empty];
  const earlier = await verify(archiveOf(day, [receiptOf(swapped, 1), receiptOf(swapped, 0)]));
  expect(earlier).toEqual({ rank: 2, words: expect.stringContaining('do not follow each other') });
});

test('a manifest with the hash of another file is refused', async () => {
  const files = change(archive([empty]), /^manifest/, (text) => text.replaceAll(sha256(''), sha256('x')));
  expect(await verify(files)).toEqual({
    rank: 2,
    words: expect.stringContaining('is not the file that manifest.json names'),
  });
});

test('only the first seal of a day says when a project was created, and no operation is from before that', async () => {
  const isCreated = (seal: OwnEvent) =>
    covering(
      seal,
      [`${next}T00:00:00Z`, `${next}T06:00:00Z`, 'not_created'],
      [`${next}T06:00:00Z`, `${later}T00:00:00Z`],
    );
  const created = isCreated(sealOf(1, { day: next, operations: 0 }));
  expect(await verify(until(later, archive([created])))).toEqual({
    rank: 0,
    words: expect.stringContaining(`it was created at ${next}T06:00:00Z, after ${day}"`),
  });
  const hidden = isCreated({ ...full, content: { ...full.content, day: next } });
  expect(await verify(until(later, archive([hidden])))).toMatchObject({ rank: 2 });
  const again = isCreated(sealOf(2, { day: next, operations: 0, replaces: '1' }));
  const changed = await verify(until(later, archive([sealOf(1, { day: next, operations: 0 }), again])));
  expect(changed).toEqual({ rank: 1, words: expect.stringContaining(`${day} has no seal`) });
  // Nor does one that replaces a seal which the archive does not have.
  expect((await verify(until(later, archive([again])))).words).toContain(`${day} has no seal`);
  const rows = archiveOfRow()['operations/00001.ndjson'];
  const before = await verify(until(later, archive([created], rows)));
  expect(before).toEqual({ rank: 1, words: expect.stringContaining(`${day} has no seal`) });
  expect(before.words).not.toContain('it was created at');
  // Days are sealed in any order.
  const downwards = [sealOf(1, { day: later, operations: 0 }), isCreated(sealOf(2, { day: next, operations: 0 }))];
  expect(await verify(until('2026-05-04', archive(downwards)))).toMatchObject({ rank: 0 });
});

test('a deletion explains only the days after it', async () => {
  const deleted = covering(
    sealOf(1, { day: next, operations: 0 }),
    [`${next}T00:00:00Z`, `${next}T06:00:00Z`],
    [`${next}T06:00:00Z`, `${later}T00:00:00Z`, 'deleted'],
  );
  const { rank, words } = await verify(until('2026-05-04', archive([deleted])));
  expect(rank).toBe(1);
  expect(words).toContain(`${day} has no seal"`);
  expect(words).toContain(`${later} has no seal: it was deleted at ${next}T06:00:00Z`);
});

test('the newest drop of a month explains a day without operations, in any order of the receipts', async () => {
  const drop = (at: string): OwnEvent => ({
    type: 'retention.dropped',
    subject: 'operation_drop/2026-05-01',
    content: { month: '2026-05-01', dropped_at: at },
  });
  const events = [drop('2026-05-03T00:00:00Z'), full, drop('2026-05-09T00:00:00Z')];
  const dropsOf = (...indexes: number[]) =>
    indexes.map((index) => `${JSON.stringify({ receipt: receiptOf(events, index) })}\n`).join('');
  const files = archiveOf(day, [receiptOf(events, 1)]);
  for (const drops of [dropsOf(0, 2), dropsOf(2, 0)])
    expect(await verify(amend({ ...files, 'retention.ndjson': drops }))).toEqual({
      rank: 1,
      words: expect.stringContaining(`retention has dropped the operations of ${day}`),
    });
  expect(await verify(amend({ ...files, 'retention.ndjson': dropsOf(0) }))).toMatchObject({ rank: 2 });
  expect(await verify(amend({ ...files, 'retention.ndjson': dropsOf(1) }))).toEqual({
    rank: 2,
    words: expect.stringContaining('proves no month that retention has dropped'),
  });
  // It explains no other operations, and a day that had none is proven without it.
  const others = { 'operations/00001.ndjson': archiveOfRow()['operations/00001.ndjson'] ?? '' };
  expect(await verify(amend({ ...files, ...others, 'retention.ndjson': dropsOf(0, 2) }))).toMatchObject({ rank: 2 });
  const none = [empty, drop('2026-05-09T00:00:00Z')];
  const retention = `${JSON.stringify({ receipt: receiptOf(none, 1) })}\n`;
  expect(await verify(amend({ ...archiveOf(day, [receiptOf(none)]), 'retention.ndjson': retention }))).toMatchObject({
    rank: 0,
  });
});

test('an archive has a project once, at least one, and a day', async () => {
  const files = archive([empty]);
  const ofNoDay = await verify(until(day, archive([empty])));
  expect(ofNoDay).toEqual({ rank: 2, words: expect.stringContaining('its period has no day') });
  const manifest = JSON.parse(files['manifest.json'] ?? '') as { projects: object[] };
  const withProjects = (projects: object[]) => JSON.stringify({ ...manifest, projects });
  const second = JSON.parse(JSON.stringify(manifest.projects[0]).replaceAll('00001', '00002')) as object;
  const twice = {
    ...files,
    'seals/00002.ndjson': files['seals/00001.ndjson'] ?? '',
    'operations/00002.ndjson': '',
    'manifest.json': withProjects([...manifest.projects, second]),
  };
  expect(await verify(amend(twice))).toEqual({ rank: 2, words: expect.stringContaining('has a project twice') });
  const none = { 'retention.ndjson': '', 'manifest.json': withProjects([]) };
  expect(await verify(none)).toEqual({ rank: 1, words: expect.stringContaining('it has no project') });
});
