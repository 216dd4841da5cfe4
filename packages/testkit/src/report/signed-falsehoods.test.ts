import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { falseArchives, trueArchives } from './false-archives.ts';
import {
  archive as archiveFiles,
  archiveOfRow,
  day,
  empty,
  event,
  falseEvents,
  falseLines,
  falseReceipts,
  falseSeals,
  fewer,
  full,
  hidden,
  key,
  personal,
  receiptOf as receiptText,
  trueEvents,
} from './falsehoods.ts';
import { createKey, type OwnEvent, sealOf, signEvents } from './own-ledger.ts';
import { pack, verifyTogether } from './packs.ts';

// What the holder of the ledger's key can sign although it is not true: the files themselves show it.

const nowMs = Date.parse('2026-06-01T00:00:00Z');

const folder = mkdtempSync(join(tmpdir(), 'falsehoods-'));
let files = 0;
function write(bytes: Uint8Array | string): string {
  files += 1;
  const file = join(folder, String(files));
  writeFileSync(file, bytes);
  return file;
}
const copyOf = (...events: OwnEvent[]) => writeCopy(signEvents(events, [key]));
function writeCopy(signed: ReturnType<typeof signEvents>): string {
  const copy = mkdtempSync(join(folder, 'copy-'));
  signed.writeCopy(copy);
  return copy;
}
const archive = (...seals: OwnEvent[]) => write(pack(archiveFiles(seals)));
const verify = async (paths: string[], keys = [key]) =>
  await verifyTogether(
    paths,
    keys.map(({ verifier }) => verifier.text),
    nowMs,
  );
const ranks = async (paths: string[], keys = [key]) => (await verify(paths, keys)).map(({ rank }) => rank);

const [first, other] = [event(1, 'yes'), event(1, 'no')];
const receiptOf = (events: OwnEvent[], index = 0) => write(receiptText(events, index));

test.each([
  ['two receipts of trees of one size', () => [receiptOf([first]), receiptOf([other])]],
  [
    'two receipts of one place',
    () => [receiptOf([first, event(2, 'x')]), receiptOf([other, event(2, 'x'), event(3, 'y')])],
  ],
  ['two archives', () => [archive(empty), archive(full)]],
  ['an archive and a receipt', () => [archive(empty), receiptOf([first])]],
  ['two copies of one size', () => [copyOf(first), copyOf(other)]],
  ['a copy and a larger one', () => [copyOf(first), copyOf(other, event(2, 'x'))]],
  [
    'a copy and an archive of a larger tree',
    () => [copyOf(first), archive(empty, sealOf(2, { day, operations: 0, replaces: '1' }))],
  ],
])('a ledger with two histories is not proven by %s', async (_what, make) => {
  const paths = make();
  for (const order of [paths, paths.toReversed()]) {
    const results = await verify(order);
    expect(Math.max(...results.map(({ rank }) => rank))).toBe(2);
    expect(results.map(({ words }) => words).join()).toMatch(/histor|has other events than the copy/);
  }
});

test('files of one history prove each other, in any order and of any size', async () => {
  const [second, third] = [event(2, 'x'), event(3, 'y')];
  const paths = [receiptOf([first, second]), receiptOf([first, second, third], 1), copyOf(first, second, third)];
  expect(await ranks([...paths, copyOf(first, second)])).toEqual([0, 0, 0, 1]);
  expect(await ranks(paths)).toEqual([0, 0, 0]);
});

test('no file was exported before the events that it is about', async () => {
  const file = archive(empty);
  const sha256 = createHash('sha256')
    .update(pack(archiveFiles([empty])))
    .digest('hex');
  const exported = {
    type: 'export.completed',
    subject: `report_export/${sha256}`,
    content: { sha256, path: '/v1/x', records: '0' },
  };
  const receipt = receiptOf([empty, exported], 1);
  expect(await ranks([receipt])).toEqual([0]);
  expect(await ranks([receipt, file])).toEqual([0, 0]);
  // Another key of that name: its tree has the export as the first event.
  const otherKey = createKey();
  const early = write(signEvents([exported], [otherKey]).receipt(0));
  // The two files are of different histories as well, so the reason is compared too.
  const found = await verify([early, file], [key, otherKey]);
  expect(found.map(({ rank }) => rank)).toContain(2);
  expect(found.map(({ words }) => words).join()).toContain('no file can have been exported before');
});

test('a day that was sealed again with fewer operations is not proven completely, neither by its archive nor by a copy', async () => {
  const [result] = await verify([archive(...fewer)]);
  expect([result?.rank, result?.words]).toEqual([
    1,
    expect.stringMatching(/unproven.*sealed again .* with 0 operations; before, it had 2/),
  ]);
  const [copy] = await verify([copyOf(...fewer)]);
  expect([copy?.rank, copy?.words]).toEqual([1, expect.stringMatching(/with 2 operations less/)]);
  const again = sealOf(2, { day, operations: 0, replaces: '1' });
  expect(await ranks([copyOf(sealOf(1, { day, operations: 1 }), again)])).toEqual([1]);
  expect(await ranks([copyOf(empty, again)])).toEqual([0]);
  expect(await ranks([copyOf(empty, again, sealOf(3, { day, operations: 0, replaces: '2' }))])).toEqual([0]);
  // The archive is older than the new seal.
  expect(await ranks([archive(empty), copyOf(empty, again)])).toEqual([0, 1]);
});

test('files of two ledgers are proven in part, because neither ledger continues the other', async () => {
  const later = createKey('log', `${key.verifier.name}/later`);
  const anew = signEvents([other], [later], undefined, later.verifier.name);
  const paths = [copyOf(first), writeCopy(anew), write(anew.receipt(0)), copyOf(first)];
  const results = await verify(paths, [key, later]);
  expect(results.map(({ rank }) => rank)).toEqual([0, 1, 1, 0]);
  for (const { words } of results.slice(1, 3))
    expect(words).toContain(`it is of the ledger ${later.verifier.name}, and ${paths[0]} is of another one`);
});

test('a copy that only an ended key signed is not proven', async () => {
  const next = createKey();
  const added = (number: string, text: string) => ({
    type: 'ledger.key_added',
    subject: `ledger_key/${number}`,
    content: { number, public_key: text },
  });
  const ended = {
    type: 'ledger.key_ended',
    subject: 'ledger_key/1',
    content: { number: '1', ended_at: '2026-05-10T00:00:00Z' },
  };
  const events = [added('1', key.verifier.text), added('2', next.verifier.text), ended];
  const signedBy = (...signers: (typeof key)[]) => {
    const copy = mkdtempSync(join(folder, 'copy-'));
    signEvents(events, signers).writeCopy(copy);
    return copy;
  };
  expect(await ranks([signedBy(key, next)], [key, next])).toEqual([0]);
  expect(await ranks([signedBy(next)], [key, next])).toEqual([0]);
  expect(await ranks([signedBy(key, next)], [key])).toEqual([1]);
  const [alone] = await verify([signedBy(key)], [key, next]);
  expect([alone?.rank, alone?.words]).toEqual([2, expect.stringMatching(/is signed with a given key that had ended/)]);
});

test('a checkpoint of a former key in a copy is not proven without that key, and contradicts nothing', async () => {
  const next = createKey();
  const copy = mkdtempSync(join(folder, 'copy-'));
  signEvents([first], [key]).writeCopy(copy);
  const former = signEvents([first], [key]).receipt(0).split('\n\n').slice(1).join('\n\n');
  signEvents([first, event(2, 'x')], [next]).writeCopy(copy);
  writeFileSync(join(copy, 'checkpoint.1'), former);
  expect(await ranks([copy], [key, next])).toEqual([0]);
  const [alone] = await verify([copy], [next]);
  expect([alone?.rank, alone?.words]).toEqual([
    1,
    expect.stringMatching(/checkpoint\.1 is signed with a key that was not given/),
  ]);
  // A witness whose key was given has cosigned both.
  const witness = createKey('witness');
  signEvents([first], [key, witness]).writeCopy(copy);
  renameSync(join(copy, 'checkpoint'), join(copy, 'checkpoint.1'));
  signEvents([first, event(2, 'x')], [next, witness]).writeCopy(copy);
  expect(await ranks([copy], [key, next, witness])).toEqual([0]);
  const [cosigned] = await verify([copy], [next, witness]);
  expect([cosigned?.rank, cosigned?.words]).toEqual([
    1,
    expect.stringMatching(/checkpoint\.1 is signed with a key that was not given/),
  ]);
});

test('a receipt and an archive that another key of the ledger signed name that key as missing', async () => {
  for (const { rank, words } of await verify([receiptOf([first]), archive(empty)], [createKey()]))
    expect([rank, words]).toEqual([
      2,
      expect.stringContaining(
        'its checkpoint is signed with a key that was not given: name that key of the ledger, too',
      ),
    ]);
  const [foreign] = await verify([receiptOf([first])], [createKey('log', 'another')]);
  expect([foreign?.rank, foreign?.words]).toEqual([
    2,
    expect.stringContaining('is not signed with one of the given keys'),
  ]);
});

test.each(falseSeals)('a seal with %s is none', async (_what, seal) => {
  expect(await ranks([archive(empty)])).toEqual([0]);
  const [result] = await verify([archive(seal)]);
  expect([result?.rank, result?.words]).toEqual([2, expect.stringMatching(/not of a seal|not the one|none/)]);
  const [, copy] = await verify([archive(empty), copyOf(empty, seal)]);
  expect([copy?.rank, copy?.words]).toEqual([1, expect.stringContaining('event 1 is no seal')]);
  expect(copy?.words).not.toContain('none of its days has a newer seal');
});

test.each(falseEvents)('an event with %s proves nothing', async (_what, each) => {
  expect(await ranks(trueEvents.map((_other, index) => receiptOf(trueEvents, index)))).toEqual(trueEvents.map(() => 0));
  expect(await ranks([receiptOf([each])])).toEqual([2]);
});

test.each(falseReceipts)('a receipt with %s proves nothing', async (_what, receipt) => {
  expect(await ranks([write(receipt)])).toEqual([2]);
});

test('personal data is proven with its salt, and what is hidden is not', async () => {
  expect(await ranks([receiptOf([personal]), receiptOf([hidden])])).toEqual([0, 1]);
});

test.each(falseLines)('operations with %s are not those that were sealed', async (_what, lines) => {
  expect(await ranks([write(pack(archiveOfRow()))])).toEqual([0]);
  expect(await ranks([write(pack(archiveOfRow(lines)))])).toEqual([2]);
});

test.each(trueArchives)('an archive with %s contradicts nothing', async (_what, code, given) => {
  expect(await ranks([write(pack(given))])).toEqual([code === 0 ? 0 : 1]);
});

test.each(falseArchives)('an archive with %s is refused', async (_what, given) => {
  expect(await ranks([write(pack(given))])).toEqual([2]);
});

test('a cosignature from before an event is none', async () => {
  const witness = createKey('witness');
  const at = (time: string) => write(signEvents([first], [key, witness], Date.parse(time) / 1000).receipt(0));
  expect(await ranks([at('2026-05-10T00:00:01Z')], [key, witness])).toEqual([0]);
  const [early] = await verify([at('2020-01-01T00:00:00Z')], [key, witness]);
  expect([early?.rank, early?.words]).toEqual([1, expect.stringMatching(/has not cosigned/)]);
});

test('a witness with the key of the ledger is no witness', async () => {
  const bytes = Buffer.from(key.verifier.text.split('+').slice(2).join('+'), 'base64').subarray(1);
  const encoded = Buffer.concat([Buffer.of(4), bytes]).toString('base64');
  const id = createHash('sha256').update('friend\n').update(Buffer.of(4)).update(bytes).digest('hex').slice(0, 8);
  const keys = [key.verifier.text, `friend+${id}+${encoded}`];
  await expect(verifyTogether([receiptOf([first])], keys, nowMs)).rejects.toThrow(
    /friend .* has the key of the ledger/,
  );
});

test('a cosignature of a copy from before its events is none', async () => {
  const witness = createKey('witness');
  const at = (time: string) => {
    const copy = mkdtempSync(join(folder, 'copy-'));
    signEvents([first], [key, witness], Date.parse(time) / 1000).writeCopy(copy);
    return copy;
  };
  expect(await ranks([at('2026-05-10T00:00:01Z')], [key, witness])).toEqual([0]);
  // The clock of a witness may be an hour behind.
  expect(await ranks([at('2026-05-09T23:30:00Z')], [key, witness])).toEqual([0]);
  expect(await ranks([at('2020-01-01T00:00:00Z')], [key, witness])).toEqual([1]);
});

test('a day of a month that retention has dropped may have fewer operations afterwards, in a copy that shows the drop', async () => {
  const dropped = (dropped_at: string | null, month = '2026-05-01'): OwnEvent => ({
    type: 'retention.dropped',
    subject: `operation_drop/${month}`,
    content: { month, operations: '2', dropped_at },
  });
  const again = sealOf(2, { day, operations: 0, replaces: '1' });
  expect(await ranks([copyOf(full, dropped('2026-05-10T00:00:00Z'), again)])).toEqual([0]);
  expect(await ranks([copyOf(full, dropped(null), again)])).toEqual([1]);
  expect(await ranks([copyOf(full, dropped('2026-05-10T00:00:00Z', '2026-04-01'), again)])).toEqual([1]);
});

test('a seal does not contradict the one before, whose contents a copy does not have', async () => {
  const others = Array.from({ length: 255 }, (_, index) => event(index + 2, 'x'));
  const copy = copyOf(full, ...others, sealOf(257, { day, operations: 2, replaces: '1' }));
  expect(await ranks([copy])).toEqual([0]);
  rmSync(join(copy, 'tile/contents/000'));
  const [part] = await verify([copy]);
  expect([part?.rank, part?.words]).toEqual([1, expect.stringContaining('what 256 events say')]);
  expect(part?.words).not.toContain('two histories');
});
