import { sha256 } from '@keywarden/core/values';
import { expect, test } from 'vitest';
import { event } from './falsehoods.ts';
import { coverage, receiptsOf, useOwnEvidence } from './own-evidence.ts';
import { evidenceOf, linesOfRows, type OwnEvent } from './own-ledger.ts';

// Small archives of evidence with real receipts, and rows that differ from these in one thing alone.

const { verify, verifyTable } = useOwnEvidence();

/** An incident of a key, its row, and the event of its end. */
const opened: OwnEvent = {
  type: 'incident.opened',
  subject: 'incident/1',
  content: {
    number: '1',
    kind: 'orphan',
    scope: '',
    key: 'https://plane.example user:1 12',
    key_number: '7',
    detail: '{}',
    opened_at: '2026-05-10T00:00:00Z',
  },
};
const closed: OwnEvent = {
  type: 'incident.closed',
  subject: 'incident/1',
  content: { number: '1', closed_at: '2026-05-10T00:00:00Z', closed_by: 'ada', note: 'seen' },
};
const incident = {
  id: '1',
  kind: 'orphan',
  scope: null,
  key: { number: '7', id: '12' },
  detail: {},
  opened_at: '2026-05-10T00:00:00Z',
  state: 'open',
  plan_id: null,
  closed_at: null,
  closed_by: null,
  note: null,
};
const withContent = (of: OwnEvent, change: OwnEvent['content']) => ({ ...of, content: { ...of.content, ...change } });

test('each file of an archive is proven, or named as what nothing proves', async () => {
  const texts = { 'other.ndjson': '', 'other.csv': 'name\r\n', 'more.ndjson': '', 'alone.csv': '' };
  const files = { ...coverage, 'x-incidents.ndjson': linesOfRows([incident]), ...texts };
  const found = await verify({ ...evidenceOf(files, receiptsOf([opened])), 'summary.md': 'all is well' });
  expect(found).toEqual({
    rank: 1,
    proven: [
      'the tree of 1 event of keywarden/own is signed with its key',
      '1 governance events are in the ledger, up to event 0',
      'the tables are compared with the events from 2026-05-01T00:00:00Z to 2026-06-01T00:00:00Z',
      '1 CSV files have exactly the rows of the tables beside them',
      'x-incidents.ndjson: 1 row as the ledger recorded',
    ],
    unproven: [
      'coverage/operations.ndjson: the seals of the archive name no gap',
      'the ledger has the gaps of sealed days only, and only those are compared: coverage/operations.ndjson',
      'the ledger does not have what these are computed from: other.ndjson, more.ndjson',
      'these repeat other files, and are not compared with them: alone.csv, manifest.json, summary.md',
    ],
    wrong: [],
  });
});

test('a single field that no event has is named', async () => {
  const { unproven } = await verifyTable('incidents', [{ ...incident, more: 'x' }], [opened]);
  expect(unproven).toContain('these fields are not compared with the ledger, more: x-incidents.ndjson');
});

test.each([
  ['that ends before it begins', { to: '2026-04-01T00:00:00Z' }, 'its period ends before it begins'],
  ['of no time', { to: '2026-05-01T00:00:00Z' }, 'its period ends before it begins'],
  ['that begins at a day', { from: '2026-05-01' }, 'its manifest.json has an unknown form'],
  ['that ends with a year', { to: '9999' }, 'its manifest.json has an unknown form'],
])('an archive of a period %s is refused', async (_what, period, why) => {
  expect(await verify(evidenceOf(coverage, receiptsOf([event(1, 'x')]), period))).toMatchObject({
    rank: 2,
    wrong: [why],
  });
});

test('a receipt that an archive has twice is refused', async () => {
  const events = [event(1, 'x'), event(2, 'y')];
  expect((await verify(evidenceOf(coverage, receiptsOf(events, [0, 1])))).wrong).toEqual([]);
  expect((await verify(evidenceOf(coverage, receiptsOf(events, [0, 0, 1])))).wrong).toEqual([
    'ledger/receipts.ndjson is not in the order of the ledger',
  ]);
});

test('an event whose row has another time than its recording is named', async () => {
  const late = { ...opened, editLeaf: (text: string) => text.replace(/"at":"[^"]+"/, '"at":"2026-05-02T00:00:00Z"') };
  const at = { opened_at: '2026-05-02T00:00:00Z' };
  const { rank, unproven } = await verifyTable('incidents', [{ ...incident, ...at }], [withContent(late, at)]);
  expect([rank, unproven]).toEqual([
    1,
    expect.arrayContaining([expect.stringMatching(/^the time of incident\/1: 2026-05-02T00:00:00Z, because/)]),
  ]);
});

test('only an incident from before the period may have no row, as in archives of earlier versions', async () => {
  const of = async (opened_at: string, change: Partial<OwnEvent> = {}) =>
    await verifyTable('incidents', [], [{ ...withContent(opened, { opened_at }), ...change }]);
  const lacks = 'x-incidents.ndjson: it has no row of incident/1, which the ledger has in the period';
  expect((await of('2026-04-30T23:59:59Z')).unproven).toContain(
    `${lacks} from before it, as in archives of earlier versions`,
  );
  expect((await of('2026-05-01T00:00:00Z')).wrong).toEqual([lacks]);
});

test('a row may lack its event if its time is at most ten minutes before the last event', async () => {
  const later = { ...event(1, 'x'), recorded: '2026-05-10T00:10:00Z' };
  const of = async (opened_at: string) => await verifyTable('incidents', [{ ...incident, opened_at }], [later]);
  expect(await of('2026-05-10T00:00:00Z')).toMatchObject({ rank: 1, wrong: [] });
  expect((await of('2026-05-09T23:59:59.999Z')).wrong).toEqual([
    'x-incidents.ndjson: the row 1 differs from the ledger in opened_at',
  ]);
});

test.each<[string, object, OwnEvent['content'], string]>([
  ['no key', { key: null }, {}, 'key'],
  ['the key of an incident without one', {}, { key: null, key_number: null }, 'key'],
  ['no kind in the place of an empty one', { kind: null }, { kind: '' }, 'kind'],
  ['a kind that its event does not have', {}, { kind: null }, 'kind'],
  ['a key of another scope as the same one', { key: { number: '7', id: '1 12' } }, {}, 'key'],
])('an incident with %s differs from its event', async (_what, row, content, field) => {
  const { wrong } = await verifyTable('incidents', [{ ...incident, ...row }], [withContent(opened, content)]);
  expect(wrong).toEqual([`x-incidents.ndjson: the row 1 differs from the ledger in ${field}`]);
});

test('a row has null for what an event of an earlier version does not have', async () => {
  const { kind: _kind, ...content } = opened.content;
  const of = async (kind: string | null) =>
    await verifyTable('incidents', [{ ...incident, kind }], [{ ...opened, content }]);
  expect(await of(null)).toMatchObject({ rank: 1, wrong: [] });
  expect((await of('orphan')).wrong).toEqual(['x-incidents.ndjson: the row 1 differs from the ledger in kind']);
});

test('a row has also the fields whose values a receipt does not show', async () => {
  const end = withContent(closed, { note: { salted: sha256('hidden') } });
  const { note: _note, ...row } = { ...incident, closed_at: '2026-05-10T00:00:00Z', closed_by: 'ada', state: 'closed' };
  expect(await verifyTable('incidents', [{ ...row, note: 'x' }], [opened, end])).toMatchObject({ rank: 1, wrong: [] });
  expect((await verifyTable('incidents', [row], [opened, end])).wrong).toEqual([
    'x-incidents.ndjson: the row 1 differs from the ledger in note',
  ]);
});

const intended: OwnEvent = {
  type: 'revocation.intended',
  subject: 'revocation_intent/5',
  content: {
    number: '5',
    plan_id: 'p-1',
    connection: 'main',
    policy_sha256: null,
    judged_at: '2026-05-10T00:00:00Z',
    created_at: '2026-05-10T00:00:00Z',
    key: 'https://plane.example user:1 12',
    key_number: '7',
    approval_number: null,
    rotation_number: null,
  },
};
const revocation = {
  id: '5',
  plan_id: 'p-1',
  connection: 'main',
  policy_sha256: null,
  judged_at: '2026-05-10T00:00:00Z',
  intended_at: '2026-05-10T00:00:00Z',
  cause: 'plan',
  outcome: 'open',
  used_in_flight: false,
  ended_at: null,
  key: { number: '7', control_plane: 'https://plane.example', scope: 'user:1', id: '12' },
  approved_by: null,
  via: null,
  rotation_id: null,
};

test('an incident has the plan of its revocation', async () => {
  const events = [withContent(opened, { intent_number: '5' }), intended];
  const of = async (plan_id: string | null, given = events) => {
    const files = {
      ...coverage,
      'x-incidents.ndjson': linesOfRows([{ ...incident, plan_id }]),
      'x-revocations.ndjson': linesOfRows([revocation]),
    };
    return (await verify(evidenceOf(files, receiptsOf(given)))).wrong;
  };
  const differs = ['x-incidents.ndjson: the row 1 differs from the ledger in plan_id'];
  expect(await of('p-1')).toEqual([]);
  expect([await of('p-2'), await of(null)]).toEqual([differs, differs]);
  expect(await of('p-1', [withContent(opened, { intent_number: null }), intended])).toEqual(differs);
});

test('an incident that ended before the period has no row', async () => {
  const early = { opened_at: '2026-04-01T00:00:00Z' };
  const of = async (closed_at: string) =>
    await verifyTable('incidents', [], [withContent(opened, early), withContent(closed, { closed_at })]);
  const row = expect.stringContaining('it has no row of incident/1');
  expect((await of('2026-04-30T23:59:59Z')).unproven).not.toContainEqual(row);
  expect((await of('2026-05-01T00:00:00Z')).unproven).toContainEqual(row);
});

test('an incident may have another detail while it is open, or if it was closed a moment ago', async () => {
  const later = { ...event(1, 'x'), recorded: '2026-05-12T00:00:00Z' };
  const of = async (closed_at: string | null) => {
    const end = closed_at === null ? {} : { closed_at, closed_by: 'ada', note: 'seen', state: 'closed' };
    const ends = closed_at === null ? [] : [withContent(closed, { closed_at })];
    return await verifyTable('incidents', [{ ...incident, detail: { why: 'x' }, ...end }], [opened, ...ends, later]);
  };
  for (const at of [null, '2026-05-11T23:55:00Z'])
    expect([at, await of(at)]).toEqual([
      at,
      expect.objectContaining({
        unproven: expect.arrayContaining(['x-incidents.ndjson: 1 row without a receipt']),
        wrong: [],
      }),
    ]);
  expect((await of('2026-05-11T23:45:00Z')).wrong).toEqual([
    'x-incidents.ndjson: the row 1 differs from the ledger in detail',
  ]);
});

test('an end that no receipt shows is of a moment ago', async () => {
  const later = { ...event(1, 'x'), recorded: '2026-05-12T00:00:00Z' };
  for (const [table, start, row, field] of [
    ['incidents', opened, { ...incident, closed_by: 'ada', note: 'seen', state: 'closed' }, 'closed_at'],
    ['revocations', intended, { ...revocation, outcome: 'revoked' }, 'ended_at'],
  ] as const) {
    const of = async (at: string) => (await verifyTable(table, [{ ...row, [field]: at }], [start, later])).wrong;
    expect(await of('2026-05-11T23:55:00Z')).toEqual([]);
    expect(await of('2026-05-11T23:45:00Z')).toEqual([
      `x-${table}.ndjson: the row ${row.id} differs from the ledger in ${field}`,
    ]);
  }
});
