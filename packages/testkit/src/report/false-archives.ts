import { createDayHasher } from '@keywarden/core/ledger';
import { canonicalJson, secondOf } from '@keywarden/core/values';
import { archive, day, empty, full, line, receiptOf, sealedRow } from './falsehoods.ts';
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
/** A drop of midnight that was recorded at a time, and drops whose receipts do not show a column. */
const recordedAt = (recorded: string): OwnEvent => ({
  ...drop({}),
  recorded,
  editLeaf: (text) => text.replace(/"at":"[^"]+"/, '"at":"2026-05-10T00:00:00Z"'),
});
const hiding = (column: string): OwnEvent => ({
  ...drop({}),
  content: { ...drop({}).content, [column]: { salted: 'ab'.repeat(32) } },
});
/** An archive of a day whose seal is the second event. The first and the third are drops: `places` are those whose receipts it has. */
function archiveOfDrops(
  places: number[],
  { seal = full, after = drop({}), lines = '' }: { seal?: OwnEvent; after?: OwnEvent; lines?: string } = {},
): Files {
  const events = [drop({}), seal, after];
  const retention = places.map((index) => `${JSON.stringify({ receipt: receiptOf(events, index) })}\n`).join('');
  const files = archiveOf(day, [receiptOf(events, 1)]);
  return amend({ ...files, 'operations/00001.ndjson': lines, 'retention.ndjson': retention });
}
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

/** An archive with these receipts of the events of one tree as its seals. */
const archiveOfSeals = (events: OwnEvent[], places = events.map((_event, place) => place)): Files =>
  archiveOf(
    day,
    places.map((index) => receiptOf(events, index)),
  );
const replacing = (replaces: string) => sealOf(2, { day, operations: 0, replaces });
const withProject = (project: string) => ({ ...empty, content: { ...empty.content, project } });
/** An interval, in hours after the first of May began. It includes its begin and not its end, unless `more` says otherwise. */
const span = (from: number, to: number, more: object = {}) => {
  const [begin, end] = [from, to].map((hours) => secondOf(new Date(Date.parse(day) + hours * 3_600_000).toISOString()));
  return { from: `${begin}Z`, from_included: true, to: `${end}Z`, to_included: false, ...more };
};
const [notCreated, afterBegin] = [{ reason: 'not_created' }, { from_included: false }];
/** A seal with these intervals of coverage, and with these gaps. */
function sealOfSpans(covered: object[], { number = 1, of = day, gaps = [] as object[] } = {}): OwnEvent {
  const seal = sealOf(number, { day: of, operations: 0, replaces: number > 1 ? String(number - 1) : null });
  return { ...seal, content: { ...seal.content, covered: canonicalJson(covered), gaps: canonicalJson(gaps) } };
}
/** An archive of the first of May with seals of the second, on which the project was created: at these hours, each in an interval of its own. */
const archiveOfCreations = (...seals: [from: number, to: number][][]) =>
  archiveOfSeals(
    seals.map((times, index) =>
      sealOfSpans([...times.map(([from, to]) => span(from, to, notCreated)), span(24, 48)], {
        number: index + 1,
        of: next,
      }),
    ),
  );
/** An archive of the last day of April with a seal of the first of May. */
const archiveOfDayBefore = (covered: object[]) =>
  manifestAs(
    `"to": "${next}"`,
    `"to": "${day}"`,
    manifestAs(`"from": "${day}"`, '"from": "2026-04-30"', archive([sealOfSpans(covered)])),
  );

/** An archive of two days: one whose month was dropped, and one that was sealed after that. */
function archiveOfDropAndDay(): Files {
  const events = [full, drop({}), sealOf(2, { day: next, operations: 0 })];
  const seals = [0, 2].map((index) => receiptOf(events, index));
  const retention = `${JSON.stringify({ receipt: receiptOf(events, 1) })}\n`;
  return manifestAs(
    `"to": "${next}"`,
    `"to": "${later}"`,
    amend({ ...archiveOf(day, seals), 'retention.ndjson': retention }),
  );
}

/** The manifest and the drops of an archive without a project. */
const withoutProject = ({ 'manifest.json': manifest = '', 'retention.ndjson': drops = '' }: Files): Files =>
  amend({ 'manifest.json': manifest.replace(/"projects": \[[^]+\]/, '"projects": []'), 'retention.ndjson': drops });

/** Archives of operations that are proven, or in part. */
export const trueArchives: [string, 0 | 3, Files][] = [
  ['two days', 0, archiveOfDays((lines) => lines)],
  ['a drop that explains nothing', 0, archiveOfDrops([0, 2], { seal: empty })],
  ['a day that was dropped, and one that was not', 3, archiveOfDropAndDay()],
  ['a drop, and no project', 3, withoutProject(archiveOfDrops([2]))],
  ['a drop after the seal', 3, archiveOfDrops([2])],
  ['drops before and after the seal', 3, archiveOfDrops([0, 2])],
  ['a drop, and the operations of its day', 0, archiveOfDrops([2], { seal: sealedRow, lines: `${line}\n` })],
  ['a seal that replaces one', 0, archiveOfSeals([empty, replacing('1')])],
  ['a day before the creation of its project', 0, archiveOfCreations([[24, 30]])],
  ['drops after and before the seal', 3, archiveOfDrops([2, 0])],
  [
    'a drop that was recorded more than an hour after its time',
    3,
    archiveOfDrops([2], { seal: empty, after: recordedAt('2026-05-10T01:00:00.000001Z') }),
  ],
  [
    'a drop that was recorded an hour after its time',
    0,
    archiveOfDrops([2], { seal: empty, after: recordedAt('2026-05-10T01:00:00Z') }),
  ],
  ['a drop that does not show by whom', 3, archiveOfDrops([2], { seal: empty, after: hiding('dropped_by') })],
  [
    'a drop with a hidden column that every object has',
    3,
    archiveOfDrops([2], { seal: empty, after: hiding('constructor') }),
  ],
  [
    'an interval that does not include its begin',
    0,
    archive([sealOfSpans([span(0, 6, { to_included: true }), span(6, 12, afterBegin), span(12, 24)])]),
  ],
  [
    'an interval within another',
    0,
    archive([sealOfSpans([span(0, 18), span(6, 12, { to_included: true }), span(18, 24)])]),
  ],
  ['intervals that leave a time out', 3, archive([sealOfSpans([span(0, 6), span(12, 24)])])],
  [
    'intervals that leave out the time at which they meet',
    3,
    archive([sealOfSpans([span(0, 6), span(6, 24, afterBegin)])]),
  ],
  ['a gap in a day that is covered', 3, archive([sealOfSpans([span(0, 24)], { gaps: [span(0, 6)] })])],
  ['the same creation in two seals of a day', 0, archiveOfCreations([[24, 30]], [[24, 30]])],
  ['another creation in the second seal of a day', 3, archiveOfCreations([[24, 30]], [[24, 31]])],
  [
    'intervals before a creation in two orders',
    0,
    archiveOfCreations(
      [
        [24, 30],
        [25, 32],
      ],
      [
        [25, 32],
        [24, 30],
      ],
    ),
  ],
  [
    'intervals before a creation, and the last of them',
    0,
    archiveOfCreations(
      [
        [24, 30],
        [24, 32],
      ],
      [[24, 32]],
    ),
  ],
  [
    'intervals before a creation, and another than the last',
    3,
    archiveOfCreations(
      [
        [24, 30],
        [24, 32],
      ],
      [[24, 30]],
    ),
  ],
  ['a creation after the first sealed day', 3, archiveOfDayBefore([span(0, 24, notCreated)])],
  [
    'an end of coverage, which is no creation, in the first sealed day',
    3,
    archiveOfDayBefore([span(0, 6), span(6, 24)]),
  ],
  [
    'seals that are not in the order of their days',
    0,
    manifestAs(
      `"to": "${next}"`,
      `"to": "${later}"`,
      archiveOfSeals([empty, sealOfSpans([span(24, 48)], { of: next })], [1, 0]),
    ),
  ],
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
  ['a drop before the seal', archiveOfDrops([0])],
  ['a drop of another month', archiveOfDrops([2], { after: drop({ month: '2026-04-01' }) })],
  ['a drop of a day', archiveOfDrops([2], { after: drop({ month: '2026-05-02' }) })],
  ['a drop at no time', archiveOfDrops([2], { after: drop({ dropped_at: 'yes' }) })],
  [
    'a drop at a time with a zero as its last digit',
    archiveOfDrops([2], { after: drop({ dropped_at: '2026-05-10T00:00:00.50Z' }) }),
  ],
  ['another event as a drop', archiveOfDrops([2], { after: drop({}, 'retention.set') })],
  ['a drop, and other operations of its day', archiveOfDrops([2], { lines: `${line}\n` })],
  ['a seal that replaces another than the one before', archiveOfSeals([empty, replacing('7')])],
  ['a seal that replaces a later one', archiveOfSeals([replacing('1'), empty], [1, 0])],
  ['the same seal twice', archiveOfSeals([empty], [0, 0])],
  ['another event as a seal', archive([{ ...empty, type: 'plan.stored' }])],
  ['the seal of a project without an address', manifestAs(/"https:\S+ /, '"', archive([withProject('quiet-river')]))],
  ['a line with two receipts', amend(change(archive([empty]), /^seals/, (text) => text.replace('{', '{"other":"",')))],
];
