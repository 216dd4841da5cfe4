import { createDayHasher } from '@keywarden/core/ledger';
import { archive, day, empty, full, line, receiptOf } from './falsehoods.ts';
import { archiveOf, type OwnEvent, sealOf } from './own-ledger.ts';
import { amend, change, type Files } from './packs.ts';

// Archives of operations with real receipts, each with what a verifier says of it.

const [next, later] = ['2026-05-02', '2026-05-03'];
const manifestAs = (from: string | RegExp, to: string, files: Files) =>
  change(files, /^manifest/, (text) => text.replace(from, to));
/** An archive of the first two days of May, each with one operation; `lines` are theirs. */
const archiveOfDays = (order: (lines: string[]) => string[]): Files => {
  const days = [day, next].map((each) => {
    const text = line.replaceAll(day, each);
    const hashed = createDayHasher('quiet-river', () => 9);
    hashed.add(text);
    return { each, text, root: hashed.end().get(each)?.root ?? '' };
  });
  const seals = days.map(({ each, root }, index) => sealOf(index + 1, { day: each, operations: 1, root }));
  const lines = order(days.map(({ text }) => `${text}\n`).toReversed()).join('');
  return manifestAs(`"to": "${next}"`, `"to": "${later}"`, archive(seals, lines));
};
const drop = (content: Record<string, string>, type = 'retention.dropped'): OwnEvent => ({
  type,
  subject: 'operation_drop/1',
  content: { month: day, dropped_at: '2026-05-10T00:00:00Z', ...content },
});
/** An archive of a day whose seal is the second event, with the receipts of these drops; the first and third events are the drops before and after it. */
const archiveOfDrops = (drops: OwnEvent[], places: number[], seal = full): Files => {
  const events = [drops[0] ?? drop({}), seal, drops[1] ?? drop({})];
  const retention = places.map((index) => `${JSON.stringify({ receipt: receiptOf(events, index) })}\n`).join('');
  return amend({ ...archiveOf(day, [receiptOf(events, 1)]), 'retention.ndjson': retention });
};
const withTwice = (files: Files): Files => {
  const second = { 'seals/00002.ndjson': files['seals/00001.ndjson'] ?? '', 'operations/00002.ndjson': '' };
  return amend({
    ...change(files, /^manifest/, (text) =>
      text.replace(
        /"projects": \[([^]+)\]/,
        (_all, one: string) => `"projects": [${one},${one.replaceAll('00001', '00002')}]`,
      ),
    ),
    ...second,
  });
};

/** Archives of operations that are proven, or in part. */
export const trueArchives: [string, 0 | 3, Files][] = [
  ['two days', 0, archiveOfDays((lines) => lines)],
  ['a drop that explains nothing', 0, archiveOfDrops([], [0, 2], empty)],
  ['a drop after the seal', 3, archiveOfDrops([], [2])],
  ['drops before and after the seal', 3, archiveOfDrops([], [0, 2])],
  ['drops after and before the seal', 3, archiveOfDrops([], [2, 0])],
];

/** Archives of operations that are none, or contradict their seals. */
export const falseArchives: [string, Files][] = [
  ['no day', manifestAs(`"to": "${next}"`, `"to": "${day}"`, archive([empty]))],
  ['days of more than a century', manifestAs(`"to": "${next}"`, '"to": "2226-05-02"', archive([empty]))],
  ['a project twice', withTwice(archive([empty]))],
  ['the seal of another project', manifestAs('quiet-river', 'bold-moon', archive([empty]))],
  ['days that are oldest first', archiveOfDays((lines) => lines.toReversed())],
  [
    'an operation of the day after',
    manifestAs(
      `"to": "${later}"`,
      `"to": "${next}"`,
      archiveOfDays((lines) => lines),
    ),
  ],
  [
    'an operation of the day before',
    manifestAs(
      `"from": "${day}"`,
      `"from": "${next}"`,
      archiveOfDays((lines) => lines),
    ),
  ],
  [
    'operations as another number of them',
    archive([{ ...full, content: { ...full.content, root: empty.content.root ?? null } }]),
  ],
  ['a drop before the seal', archiveOfDrops([], [0])],
  ['a drop of another month', archiveOfDrops([drop({}), drop({ month: '2026-04-01' })], [2])],
  ['a drop of a day', archiveOfDrops([drop({}), drop({ month: '2026-05-02' })], [2])],
  ['a drop at no time', archiveOfDrops([drop({}), drop({ dropped_at: 'yes' })], [2])],
  ['another event as a drop', archiveOfDrops([drop({}), drop({}, 'retention.set')], [2])],
  ['a line with two receipts', amend(change(archive([empty]), /^seals/, (text) => text.replace('{', '{"other":"",')))],
];
