import { createDayHasher } from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import { archiveOf, createKey, type OwnEvent, sealOf, signEvents } from './own-ledger.ts';
import { amend, type Files } from './packs.ts';

// What the holder of the ledger's key can sign although it is not true, or can be read in different ways.

export const day = '2026-05-01';
export const key = createKey();
export const event = (number: number, value: string): OwnEvent => ({
  type: 'plan.rejected',
  subject: `plan_rejection/${number}`,
  content: { number: String(number), reason: value },
});
export const empty = sealOf(1, { day, operations: 0 });
export const full = sealOf(1, { day, operations: 2, root: 'ab'.repeat(32) });

export const archive = (seals: OwnEvent[], operations = ''): Files => {
  const signed = signEvents(seals, [key]);
  const files = archiveOf(
    day,
    seals.map((_seal, index) => signed.receipt(index)),
  );
  return amend({ ...files, 'operations/00001.ndjson': operations });
};

const withContent = (change: Record<string, string | null>): OwnEvent => ({
  ...empty,
  content: { ...empty.content, ...change },
});
const covered = `[{"from":"${day}T00:00:00Z","from_included":true,"to":"2026-05-02T00:00:00Z","to_included":false}]`;
const coveredAs = (from: string, to: string) => withContent({ covered: covered.replace(from, to) });
/** A seal whose intervals are not in the order of time. */
export const unsorted = withContent({
  covered: JSON.stringify(
    [
      [`${day}T12:00:00Z`, '2026-05-02T00:00:00Z'],
      [`${day}T00:00:00Z`, `${day}T12:00:00Z`],
    ].map(([from, to]) => ({ from, from_included: true, to, to_included: false })),
  ),
});
const [noon, midnight] = [`${day}T12:00:00Z`, '2026-05-02T00:00:00Z'];
/** A seal of a day with an empty interval at noon, which the interval before includes. */
export const withEmptyInterval = withContent({
  covered: JSON.stringify([
    { from: `${day}T00:00:00Z`, from_included: true, to: noon, to_included: true },
    { from: noon, from_included: true, to: noon, to_included: false },
    { from: noon, from_included: false, to: midnight, to_included: false },
  ]),
});
/** A seal of a day whose first instant an interval of its own includes. */
export const withStartApart = withContent({
  covered: JSON.stringify([
    { from: `${day}T00:00:00Z`, from_included: false, to: midnight, to_included: false },
    { from: `${day}T00:00:00Z`, from_included: true, to: `${day}T00:00:00Z`, to_included: true },
  ]),
});
const gap = `[{"from":"${day}T00:00:00Z","from_included":true,"reason":"gap","to":"${day}T02:00:00Z","to_included":false}]`;
const gapAs = (from: string, to: string) => withContent({ gaps: gap.replace(from, to) });

/** Seals that are none. */
export const falseSeals: [string, OwnEvent][] = [
  ['a number that is not that of its subject', withContent({ number: '9' })],
  ['the number 0', { ...withContent({ number: '0' }), subject: 'operation_seal/0' }],
  ['itself as the one before', withContent({ replaces: '1' })],
  ['none as the one before', withContent({ replaces: '0' })],
  ['fewer operations than none', withContent({ operations: '-1' })],
  ['a time before the end of its day', withContent({ sealed_at: '2026-05-01T23:59:59Z' })],
  ['coverage from a time that is not in UTC', coveredAs(`${day}T00:00:00Z`, `${day}T02:00:00+02:00`)],
  ['coverage until a time that is not in UTC', coveredAs('2026-05-02T00:00:00Z', '2026-05-02T02:00:00+02:00')],
  ['a number of operations in another form', withContent({ operations: '00' })],
  ['a reason that no coverage has', coveredAs('"to":', '"reason":"lost","to":')],
  ['a member of an interval twice', coveredAs('"to":', '"to":"2026-05-01T01:00:00Z","to":')],
  ['a copied member of an interval', coveredAs('"to_included":false', '"to_included":false,"to_included":false')],
  ['a member of an interval in another case', coveredAs('"from":', '"FROM":')],
  ['an interval that ends at no time', coveredAs('2026-05-02T00', '2026-05-01T24')],
  ['intervals in another form', withContent({ gaps: '[ ]' })],
  ['no list of gaps', withContent({ gaps: 'null' })],
  ['a member more', withContent({ other: '1' })],
  ['a member of an interval more', coveredAs('"to":', '"other":"1","to":')],
  ['a time with a zero as its last digit', coveredAs('2026-05-02T00:00:00Z', '2026-05-02T00:00:00.50Z')],
  ['a sealing at a time with a zero as its last digit', withContent({ sealed_at: '2026-05-10T00:00:00.50Z' })],
  ['a gap without words as its reason', gapAs('"gap"', '""')],
  ['a gap from a time that is not in UTC', gapAs(`${day}T00:00:00Z`, `${day}T02:00:00+02:00`)],
  ['a gap until a time that is not in UTC', gapAs('02:00:00Z', '02:00:00+01:00')],
  ['more operations than a day has', withContent({ operations: '1000000000000000' })],
  ['a root in another form', withContent({ root: 'AB'.repeat(32) })],
  ['a recording before its day has ended', { ...empty, recorded: '2026-05-01T23:30:00Z' }],
];

const first = event(1, 'yes');
const edited = (from: string | RegExp, to: string): OwnEvent => ({
  ...first,
  editContent: (text) => text.replace(from, to),
});
const withLeaf = (from: string | RegExp, to: string): OwnEvent => ({
  ...first,
  editLeaf: (text) => text.replace(from, to),
});

/** Events that prove nothing. */
export const falseEvents: [string, OwnEvent][] = [
  ['another version', withLeaf('"v":"1"', '"v":"2"')],
  ['an actor that is an object', withLeaf('"actor":null', '"actor":{}')],
  ['an actor that is not of its row', withLeaf('"actor":null', `"actor":"${'ab'.repeat(32)}"`)],
  ['another content', withLeaf(/"content":"\w{4}/, '"content":"0000')],
  ['an empty actor', withLeaf('"actor":null', '"actor":""')],
  ['an empty type', withLeaf(/"type":"[^"]+"/, '"type":""')],
  ['an empty subject', withLeaf(/"subject":"[^"]+"/, '"subject":""')],
  ['no actor', withLeaf('"actor":null,', '')],
  ['a member twice', withLeaf('"v":"1"', '"v":"1","v":"1"')],
  ['a member more', withLeaf('"v":"1"', '"v":"1","w":"1"')],
  ['a time that is not of its row', withLeaf('"at":"2026-05-10', '"at":"2026-05-09')],
  ['a time of its row that is none', withLeaf(/"at":"[^"]+"/, '"at":"yes"')],
  [
    'a recording at no time',
    { ...event(1, '2026-05-10T00:00:00Z'), editLeaf: (text) => text.replace(/"recorded":"[^"]+"/, '"recorded":"yes"') },
  ],
  ['a day that no month has', { ...first, recorded: '2026-02-30T00:00:00Z' }],
  ['an hour that no day has', { ...first, recorded: '2026-05-10T24:00:00Z' }],
  ['a time in small letters', { ...first, recorded: '2026-05-10t00:00:00z' }],
  ['a time in the future', { ...first, recorded: '2226-05-10T00:00:00Z' }],
  ['a number in its content', edited('"yes"', '1000')],
  ['a number in another form', edited('"yes"', '1e3')],
  ['a negative nothing', edited('"yes"', '-0')],
  ['a hash in capitals in its content', edited('"yes"', `{"sha256":"${'AB'.repeat(32)}"}`)],
  ['an object in its content', edited('"yes"', '{"other":"yes"}')],
  ['a hash with another member in its content', edited('"yes"', `{"other":"yes","sha256":"${'ab'.repeat(32)}"}`)],
  ['members that are not sorted', edited(/^\{("number":"1"),(.+)\}$/, '{$2,$1}')],
  ['half a character', edited('yes', '\\ud800')],
  ['a letter that is escaped', edited('yes', '\\u0079es')],
  ['another escape of a character', edited('yes', '\\u000a')],
  ['spaces', edited(':', ': ')],
  ['a hash with a digit more in its content', edited('"yes"', `{"sha256":"${'ab'.repeat(32)}0"}`)],
  ['a column that no table has', edited('"number"', '"__proto__"')],
  ['a column with a capital letter', edited('"number"', '"Number"')],
  ['a column with a dash', edited('"number"', '"number-"')],
  ['columns that are sorted by their bytes', edited(/^.+$/, '{"\ufb01":"1","\u{1f600}":"2"}')],
];

const salt = 'ab'.repeat(32);
/** Returns an event with personal data, and with what its receipt shows of them. */
const personalEvent = (shown: Pick<OwnEvent, 'salt' | 'personal'>, recorded = `${salt}:by:ada`): OwnEvent => ({
  ...first,
  content: { ...first.content, by: { salted: sha256(recorded) } },
  ...shown,
});
/** An event with a time and an actor of its row: once its receipt shows the actor's name, and once it does not. */
export const [personal, hidden] = [{ by: 'ada' }, {}].map((shown): OwnEvent => {
  const event = personalEvent({ salt, personal: shown });
  const at = '2026-05-09T23:30:00Z';
  return {
    ...event,
    content: { ...event.content, reason: at },
    editLeaf: (text) => text.replace(/"at":"[^"]+"/, `"at":"${at}"`).replace('null', `"${sha256(`${salt}:by:ada`)}"`),
  };
}) as [OwnEvent, OwnEvent];

falseEvents.push(
  [
    'another actor than the person of its row',
    { ...personal, editLeaf: (text) => text.replace('"actor":null', `"actor":"${sha256('eve')}"`) },
  ],
  ['another person', personalEvent({ salt, personal: { by: 'eve' } })],
  ['another salt', personalEvent({ salt: 'cd'.repeat(32), personal: { by: 'ada' } })],
  ['a person without a salt', personalEvent({ personal: { by: 'ada' } }, ':by:ada')],
  ['a person in a column that is not personal', personalEvent({ salt, personal: { reason: 'ada' } })],
  ['a person in no column', personalEvent({ salt, personal: { by: 'ada', via: 'eve' } })],
  [
    'a part of the value in its salt',
    personalEvent({ salt: `${salt}:by:eve`, personal: { by: 'ada' } }, `${salt}:by:eve:by:ada`),
  ],
  ['a part of the salt in its name', personalEvent({ salt: '', personal: { by: 'ada' } }, ':by:ada')],
);

const signed = (events: OwnEvent[], signer = key, origin?: string) =>
  signEvents(events, [signer], undefined, origin).receipt(0);
const two = signed([first, event(2, 'x')]);
const editedReceipt = (from: string | RegExp, to: string) => two.replace(from, to);
const [, shownOfOther = ''] = /^(extra .+)$/m.exec(signed([event(1, 'no')])) ?? [];
const [, sibling = ''] = /\nindex 0\n(.+)\n/.exec(two) ?? [];
const signature = two.split('\n').at(-2) ?? '';
const withoutPersonal = two.replace(/^extra .+$/m, (text) => {
  const shown = Buffer.from(text.slice('extra '.length), 'base64').toString();
  return `extra ${Buffer.from(shown.replace('"personal":{}', '"personal":null')).toString('base64')}`;
});

/** Receipts of real trees that prove nothing. */
export const falseReceipts: [string, string][] = [
  ['null as its personal data', withoutPersonal],
  ['the event of another tree', editedReceipt(/^extra .+$/m, shownOfOther)],
  ['another place', editedReceipt('index 0', 'index 1')],
  ['a place behind its tree', editedReceipt('index 0', 'index 2')],
  ['a place in another form', editedReceipt('index 0', 'index 00')],
  ['another heading', editedReceipt('proof@v1', 'proof@v2')],
  ['another name of its place', editedReceipt('index 0', 'place 0')],
  ['a hash less', editedReceipt(`${sibling}\n`, '')],
  ['a hash more', editedReceipt(`${sibling}\n`, `${sibling}\n${sibling}\n`)],
  ['a hash that is cut', editedReceipt(sibling, sibling.slice(0, -4))],
  ['another size of its tree', editedReceipt('own\n2\n', 'own\n3\n')],
  ['no signature', editedReceipt(`${signature}\n`, '')],
  ['a wrong signature beside the right one', `${two}${signature.replace(/.{8}=*$/, 'AAAAAAA=')}\n`],
  ['the signature of another key', signed([first], createKey())],
  ['the tree of another ledger', signed([first], key, 'keywarden/other')],
  ['an extra that is cut', editedReceipt(/^(extra .+?)....$/m, '$1')],
];

/** Events with texts that look as if they were written in another way. */
export const trueEvents: OwnEvent[] = [
  '\u2028\u2029\b\f\n\r\t\u001f\u007f',
  '\\u2028 \\\\u0008 \\n',
  '<&>"ä\u{1f600}',
].map((value) => event(1, value));

const row = {
  id: '00000000-0000-4000-8000-000000000001',
  project_id: 'quiet-river',
  branch_id: 'br-1',
  endpoint_id: null,
  action: 'start\u2028 \\u0008',
  status: '',
  failures_count: 0,
  error: null,
  retry_at: null,
  created_at: `${day}T00:00:01.5Z`,
  updated_at: `${day}T00:00:02Z`,
  total_duration_ms: -12,
  extra: { a: [1, 'b'] },
  seen_at: `${day}T00:00:03Z`,
};
/** An operation as an export writes it. */
export const line = JSON.stringify(row).replace('"a":', '"a": ');
const hasher = createDayHasher('quiet-river', () => 9);
hasher.add(line);
export const sealedRow = sealOf(1, { day, operations: 1, root: hasher.end().get(day)?.root ?? '' });

/** An archive of one operation, with the lines of its operations. */
export const archiveOfRow = (lines = `${line}\n`): Files => archive([sealedRow], lines);

/** Lines that are not the operation which was sealed. */
export const falseLines: [string, string][] = [
  ['another end of the line', `${line}\r\n`],
  ['a text where the seal has an empty one', `${line.replace('"status":""', '"status":5')}\n`],
  ['a number as text', `${line.replace('-12', '"-12"')}\n`],
  ['a member twice', `${line.replace('"status":""', '"status":"","status":""')}\n`],
  ['another member', `${line.replace('{', '{"actor":null,')}\n`],
  ['a member less', `${line.replace('"error":null,', '')}\n`],
  ['a member in another case', `${line.replace('"error"', '"Error"')}\n`],
  ['another project', `${line.replace('quiet-river', 'bold-moon')}\n`],
  ['another day', `${line.replace('2026-05-01T00:00:01.5Z', '2026-05-02T00:00:01.5Z')}\n`],
  ['a time of another place', `${line.replace('2026-05-01T00:00:02Z', '2026-05-01T02:00:02+02:00')}\n`],
  ['a line twice', `${line}\n${line}\n`],
  ['an empty line', `${line}\n\n`],
  ['another status', `${line.replace('"status":""', '"status":"x"')}\n`],
  ['an id without a dash', `${line.replace('0000-4000', '00004000')}\n`],
];

/** Lists of files that show two histories of the ledger, each as the events of its tree. */
export const histories: [string, OwnEvent[][]][] = [
  ['trees of one size', [[first], [event(1, 'no')]]],
  [
    'events at one place',
    [
      [first, event(2, 'x')],
      [event(1, 'no'), event(2, 'x'), event(3, 'y')],
    ],
  ],
];

/** A day that was sealed again with fewer operations. */
export const fewer: OwnEvent[] = [full, sealOf(2, { day, operations: 0, replaces: '1' })];

export const receiptOf = (events: OwnEvent[], index = 0): string => signEvents(events, [key]).receipt(index);
