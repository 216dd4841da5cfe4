import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson } from '@keywarden/core/values';
import { afterAll, expect, test } from 'vitest';
import { archive, archiveOfRow, day, empty, event, key, receiptOf } from './falsehoods.ts';
import { archiveOf, createKey, type OwnEvent, sealOf, signEvents } from './own-ledger.ts';
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

test('a copy is not proven by a key of another name, or with a cosignature of the future', async () => {
  const witness = createKey('witness');
  const namesake = createKey('log', 'keywarden/other');
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
  expect(await verifyCopy([namesake], '2026-05-11T00:00:00Z')).toEqual({
    rank: 2,
    words: expect.stringContaining('is not signed with one of the given keys'),
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
    words: expect.stringContaining(`it was created at ${next}T06:00:00Z, after ${day}`),
  });
  const again = isCreated(sealOf(2, { day: next, operations: 0, replaces: '1' }));
  const changed = await verify(until(later, archive([sealOf(1, { day: next, operations: 0 }), again])));
  expect(changed).toEqual({ rank: 1, words: expect.stringContaining(`${day} has no seal`) });
  const rows = archiveOfRow()['operations/00001.ndjson'];
  const before = await verify(until(later, archive([created], rows)));
  expect(before).toEqual({ rank: 1, words: expect.stringContaining(`${day} has no seal`) });
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

test('an archive has a project once, and at least one', async () => {
  const files = archive([empty]);
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
