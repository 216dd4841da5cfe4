import { sha256 } from '@keywarden/core/values';
import { expect, test } from 'vitest';
import { event } from './falsehoods.ts';
import { useOwnEvidence } from './own-evidence.ts';
import type { OwnEvent } from './own-ledger.ts';

// The rows of rotations in an archive of evidence, with the receipts of their transitions.

const { verifyTable } = useOwnEvidence();

const salt = 'ab'.repeat(32);
const movedAt = (sequence: number) => `2026-05-10T00:00:0${sequence}Z`;
/** A transition of a rotation, why it happened, and whether its receipt shows that. */
const moved = (sequence: number, state: string, isShown = true): OwnEvent => ({
  type: 'rotation.moved',
  subject: `rotation_event/${sequence}`,
  recorded: movedAt(sequence),
  content: {
    rotation_number: '1',
    sequence: String(sequence),
    state,
    at: movedAt(sequence),
    why: { salted: sha256(`${salt}:why:${state}`) },
  },
  ...(isShown ? { salt, personal: { why: state } } : {}),
});
const begun: OwnEvent = {
  type: 'rotation.begun',
  subject: 'rotation/1',
  content: {
    number: '1',
    id: 'r1',
    rule: 'old',
    sink: 's',
    via: 'report',
    opened_at: '2026-05-10T00:00:00Z',
    requested_by: null,
    key: 'https://plane.example user:1 12',
    key_number: '7',
  },
};
const states = ['minting', 'minted', 'failed'];
const moves = states.map((state, index) => ({ state, at: movedAt(index + 1), why: state }));
const rotation = {
  id: 'r1',
  rule: 'old',
  sink: 's',
  via: 'report',
  opened_at: '2026-05-10T00:00:00Z',
  requested_by: null,
  key: { number: '7', control_plane: 'https://plane.example', scope: 'user:1', id: '12' },
  state: 'failed',
  why: 'failed',
  since: movedAt(3),
  events: moves,
  given_up_by: null,
};

test('each transition of a rotation is what the ledger recorded, in the order of their sequence', async () => {
  const [one, two, three] = states.map((state, index) => moved(index + 1, state)) as [OwnEvent, OwnEvent, OwnEvent];
  for (const events of [
    [begun, one, two, three],
    [begun, two, one, three],
  ])
    expect((await verifyTable('rotations', [rotation], events)).proven).toContain(
      'x-rotations.ndjson: 1 row as the ledger recorded',
    );
  for (const change of [{ why: 'x' }, { why: null }, { state: 'x' }, { at: movedAt(9) }]) {
    const events = moves.map((move, index) => (index === 0 ? { ...move, ...change } : move));
    const { wrong } = await verifyTable('rotations', [{ ...rotation, events }], [begun, one, two, three]);
    expect([change, wrong]).toEqual([change, ['x-rotations.ndjson: the row r1 differs from the ledger in events']]);
  }
});

test('why an earlier transition of a rotation happened is not proven, if its receipt does not show it', async () => {
  const events = [begun, ...states.map((state, index) => moved(index + 1, state, index > 0))];
  const { proven, unproven, wrong } = await verifyTable('rotations', [rotation], events);
  expect([proven, wrong]).toEqual([expect.arrayContaining(['x-rotations.ndjson: 0 rows as the ledger recorded']), []]);
  expect(unproven).toContain('x-rotations.ndjson: the receipts do not show the personal data of 1 row');
});

test('a rotation that no receipt shows as given up was given up a moment ago', async () => {
  const later = { ...event(1, 'x'), recorded: '2026-05-10T01:00:00Z' };
  const events = [begun, ...states.map((state, index) => moved(index + 1, state)), later];
  const of = async (ended_at: string) =>
    (await verifyTable('rotations', [{ ...rotation, given_up_by: 'bob', ended_at }], events)).wrong;
  expect(await of('2026-05-10T00:50:00Z')).toEqual([]);
  expect(await of('2026-05-10T00:49:59Z')).toEqual([
    'x-rotations.ndjson: the row r1 differs from the ledger in ended_at',
  ]);
});
