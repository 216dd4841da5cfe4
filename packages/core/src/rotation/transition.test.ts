import { expect, test } from 'vitest';
import { type MintIntent, type Rotation, wantsSink } from './rotation.ts';
import { followers, type RotationState } from './states.ts';
import { advance, type RotationEvent } from './transition.ts';

const at = '2026-06-01T00:00:00Z';
const earlier = '2026-05-01T00:00:00Z';
const mint: MintIntent = {
  attempt: 1,
  name: 'bot kw-abcdefgh-1',
  creatorId: 'ada',
  listedAt: earlier,
  keyId: null,
  outcome: null,
  deliveredAt: null,
};
const rotationIn = (state: RotationState, mints: MintIntent[] = [mint]): Rotation => ({
  state,
  since: earlier,
  why: 'as before',
  quietForMs: 0,
  adoptWithinMs: 0,
  mints,
});
const states = Object.keys(followers) as RotationState[];

const unended = states.filter((each) => !['retired', 'failed', 'retiring'].includes(each));

/** Every event, the states that permit it, and the state that follows. */
const events: [RotationEvent, RotationState[], RotationState][] = [
  [{ event: 'mint_begun', mint: { ...mint, attempt: 2 } }, ['planned'], 'minting'],
  [{ event: 'minted', keyId: '2', sinkPath: '/keys/bot' }, ['minting'], 'minted'],
  [{ event: 'mint_refused', why: 'busy', isFinal: false }, ['minting', 'orphaned'], 'planned'],
  [{ event: 'mint_refused', why: 'no such owner', isFinal: true }, unended, 'failed'],
  [{ event: 'delivery_ended', answer: 'has', why: null }, ['minted', 'stalled'], 'delivered'],
  [{ event: 'delivery_ended', answer: 'lacks', why: 'full' }, ['minting', 'minted', 'stalled'], 'orphaned'],
  [{ event: 'retirement_begun' }, ['adopted'], 'retiring'],
  [
    { event: 'retirement_overdue', why: null },
    ['minted', 'delivered', 'overlapping', 'adopted', 'retiring'],
    'stalled',
  ],
  [{ event: 'retired' }, ['delivered', 'overlapping', 'stalled', 'adopted', 'retiring'], 'retired'],
  [{ event: 'orphan_kept', why: null }, unended, 'failed'],
  [{ event: 'given_up', by: 'ada' }, unended, 'failed'],
];

/** Returns the state after an event, or the error that the state machine throws. */
function stateAfter(state: RotationState, event: RotationEvent): string {
  try {
    return advance(rotationIn(state), event, at).rotation.state;
  } catch (error) {
    return String(error);
  }
}

test.each(events)('%o succeeds in the states that permit it, and throws in all others', (event, permitted, to) => {
  const expected = (state: RotationState) =>
    permitted.includes(state) ? to : `Error: a rotation cannot go from ${state} to ${to}`;
  expect(states.map((state) => stateAfter(state, event))).toEqual(states.map(expected));
});

test('a mint is added after earlier ones, gets its id once, and counts as delivered from then on', () => {
  const begun = advance(rotationIn('planned'), { event: 'mint_begun', mint: { ...mint, attempt: 2 } }, at);
  expect(begun.rotation.mints.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(begun.effects.mint).toBe('begun');
  const minted = advance(begun.rotation, { event: 'minted', keyId: '2', sinkPath: '/keys/bot' }, at);
  expect(minted.rotation.mints[1]).toMatchObject({ keyId: '2', outcome: null, deliveredAt: null });
  expect(minted.effects).toEqual({ mint: 'changed', sinkPath: '/keys/bot', incident: null, givenUpBy: null });
  const delivered = advance(minted.rotation, { event: 'delivery_ended', answer: 'has', why: null }, at);
  expect(delivered.rotation.mints).toMatchObject([
    { attempt: 1, keyId: null, outcome: null },
    { attempt: 2, keyId: '2', outcome: 'delivered', deliveredAt: at },
  ]);
});

test('a lost secret has no delivery time; an unclear one has one, and opens an incident', () => {
  const lost = advance(rotationIn('minted'), { event: 'delivery_ended', answer: 'lacks', why: 'full' }, at);
  expect(lost.rotation.mints).toMatchObject([{ outcome: 'lost', deliveredAt: null }]);
  expect(lost.rotation.why).toBe('its secret did not reach its sink: full');
  expect(lost.effects.incident).toBeNull();
  const unclear = advance(rotationIn('minted'), { event: 'delivery_ended', answer: 'unknown', why: 'slow' }, at);
  expect(unclear.rotation.mints).toMatchObject([{ outcome: 'unclear', deliveredAt: at }]);
  expect(unclear.effects.incident).toEqual({ opens: true });
  // A secret that is found later keeps its first time.
  const found = advance(
    unclear.rotation,
    { event: 'delivery_ended', answer: 'has', why: null },
    '2026-07-01T00:00:00Z',
  );
  expect(found.rotation.mints).toMatchObject([{ outcome: 'delivered', deliveredAt: at }]);
  expect(found.effects.incident).toEqual({ opens: false, note: 'the rotation continued' });
});

test('an incident closes with its rotation, and names who gave it up', () => {
  const { effects, rotation } = advance(rotationIn('stalled'), { event: 'given_up', by: 'ada' }, at);
  expect(effects).toMatchObject({ incident: { opens: false, note: 'given up by ada' }, givenUpBy: 'ada' });
  expect(rotation.why).toBe('given up by ada');
  expect(advance(rotationIn('retiring'), { event: 'retired' }, at).effects.incident).toMatchObject({ opens: false });
});

test('an incident stays open while a resumed rotation has not revoked the old key; a kept orphan and a late retirement say why', () => {
  const adopted = { event: 'decided', move: { to: 'adopted', why: null, isIncident: false } } as const;
  expect(advance(rotationIn('stalled'), adopted, at).effects.incident).toBeNull();
  const overdue = advance(rotationIn('adopted'), { event: 'retirement_overdue', why: 'refused' }, at);
  expect([overdue.rotation.why, overdue.effects.incident]).toEqual(['refused', { opens: true }]);
  const kept = advance(rotationIn('orphaned'), { event: 'orphan_kept', why: 'it was used' }, at);
  expect(kept.rotation.why).toBe('its orphan stays: it was used');
});

test('a rotation that ends leaves a settled mint as it is; one whose secret may be in its sink becomes unclear', () => {
  const ended = (mints: MintIntent[]) => {
    const { rotation, effects } = advance(rotationIn('minted', mints), { event: 'given_up', by: 'ada' }, at);
    return { mints: rotation.mints, mint: effects.mint };
  };
  const minted = { ...mint, keyId: '2' };
  const settled = { ...minted, outcome: 'delivered', deliveredAt: earlier } as const;
  for (const mints of [[], [mint], [settled]]) expect(ended(mints)).toEqual({ mints, mint: null });
  const unclear = { ...minted, outcome: 'unclear', deliveredAt: at };
  expect(ended([mint, minted])).toEqual({ mints: [mint, unclear], mint: 'changed' });
  const refused = advance(rotationIn('minting', [minted]), { event: 'mint_refused', why: 'busy', isFinal: false }, at);
  expect(refused.rotation.mints).toEqual([minted]);
});

test('the sink is asked about a secret that may be in it: of a successor that was just minted, or whose delivery is unclear', () => {
  const wants = (state: RotationState, outcome: MintIntent['outcome']) =>
    wantsSink(rotationIn(state, [{ ...mint, outcome }]));
  const asked = [wants('minted', null), wants('stalled', 'unclear')];
  const notAsked = [
    wants('stalled', 'delivered'),
    wants('overlapping', 'unclear'),
    wantsSink(rotationIn('stalled', [])),
  ];
  expect([...asked, ...notAsked]).toEqual([true, true, false, false, false]);
});

test('an event does not change the rotation object that it was given', () => {
  const before = rotationIn('minted');
  advance(before, { event: 'delivery_ended', answer: 'has', why: null }, at);
  expect(before).toEqual(rotationIn('minted'));
});
