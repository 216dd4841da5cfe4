import { sized } from '@keywarden/testkit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toMs } from '../values/time.ts';
import { whyLate, whyNotAdopted } from './adoption.ts';
import { decide } from './decide.ts';
import { lineageName, makeRotationId, successorName } from './name.ts';
import { whyNoOrphan } from './orphan.ts';
import { currentMint, type MintIntent, type Rotation, type RotationFacts, type Sighting } from './rotation.ts';
import { isOver, mayFollow, type RotationState, rotationStates } from './states.ts';
import { advance } from './transition.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 5, 1);
const ago = (days: number) => new Date(nowMs - days * dayMs).toISOString();

const used = (days: number): Sighting => ({
  state: 'live',
  use: { state: 'used', at: ago(days), from: '203.0.113.7' },
  presentSince: ago(100),
});
const unclear: Sighting = { state: 'live', use: { state: 'unknown' }, presentSince: ago(100) };
const unused: Sighting = { state: 'live', use: { state: 'never' }, presentSince: ago(100) };

const mintOf = (change: Partial<MintIntent> = {}): MintIntent => ({
  attempt: 1,
  name: 'bot kw-abcdefgh-1',
  creatorId: 'ada',
  listedAt: ago(21),
  keyId: '2',
  outcome: 'delivered',
  deliveredAt: ago(20),
  ...change,
});
const rotationOf = (state: RotationState, change: Partial<MintIntent> = {}): Rotation => ({
  state,
  since: ago(5),
  why: null,
  quietForMs: 7 * dayMs,
  adoptWithinMs: 14 * dayMs,
  mints: [mintOf(change)],
});
const factsOf = (change: Partial<RotationFacts> = {}): RotationFacts => ({
  nowMs,
  hourPriorListedAt: ago(1 / 24),
  old: used(10),
  successor: used(1),
  longestGapMs: 0,
  listingsSinceMint: 5,
  lost: [],
  whySuccessorUnproven: null,
  retirement: 'none',
  replicasBehind: 0,
  refusals: 0,
  wasRefusedLately: false,
  sink: null,
  mayBeOnItsWay: false,
  ...change,
});

test('T1: a successor counts as adopted if it was delivered and used since, and the old key was quiet for long enough', () => {
  expect(whyNotAdopted(rotationOf('overlapping'), factsOf())).toBeNull();
  expect(decide(rotationOf('adopted'), factsOf())).toEqual({ do: 'retire' });
});

test.each<[string, Partial<RotationFacts>, RegExp]>([
  ['an untrusted clock', { nowMs: null }, /time is not known/],
  ['a successor that was never used', { successor: unused }, /no use of its successor/],
  ['a successor that was used only before its delivery', { successor: used(20.5) }, /no use of its successor/],
  ['an old key used 6 days ago', { old: used(6) }, /quiet for 7 days/],
  ['an old key whose longest gap is 30 days', { longestGapMs: 30 * dayMs }, /quiet for 60 days/],
  ['a last use that went backwards', { old: unclear }, /unknown/],
  ['a successor whose last use went backwards', { successor: unclear }, /unknown/],
  ['an old key that the last listing lacks', { old: { state: 'missing' } }, /does not show both/],
  ['a single listing', { hourPriorListedAt: null }, /two listings/],
  ['a Keywarden process that still uses the old key', { replicasBehind: 1 }, /1 of Keywarden's own processes/],
])('T1: %s keeps the old key', (_name, change, why) => {
  expect(whyNotAdopted(rotationOf('overlapping'), factsOf(change))).toMatch(why);
  expect(decide(rotationOf('adopted'), factsOf(change))).not.toEqual({ do: 'retire' });
});

test('T1: the old key’s quiet time starts at the delivery at the earliest, so that a dormant key also gets it in full', () => {
  expect(whyNotAdopted(rotationOf('overlapping', { deliveredAt: ago(6) }), factsOf({ old: used(300) }))).toMatch(
    /7 days/,
  );
});

test('T1: the old key must be quiet for 7 days, also if its rotation asks for less', () => {
  const rotation = { ...rotationOf('overlapping'), quietForMs: dayMs };
  expect(whyNotAdopted(rotation, factsOf({ old: used(6) }))).toMatch(/quiet for 7 days/);
  expect(whyNotAdopted(rotation, factsOf({ old: used(7) }))).toBeNull();
});

test('a rotation is late if its successor is unused or its old key still used, but not while it waits for quiet', () => {
  const rotation = rotationOf('overlapping');
  expect(whyLate(rotation, factsOf({ successor: unused }))).toBe('no use of its successor was observed within 14 days');
  expect(whyLate(rotation, factsOf({ old: used(1) }))).toMatch(/old key was used from 203.0.113.7/);
  expect(whyLate(rotation, factsOf({ longestGapMs: 300 * dayMs }))).toBeNull();
  expect(whyLate(rotationOf('overlapping', { deliveredAt: ago(13) }), factsOf({ successor: unused }))).toBeNull();
  expect(decide(rotation, factsOf({ successor: unused }))).toMatchObject({ to: 'stalled', isIncident: true });
});

test('a stalled rotation resumes when its successor is adopted after all', () => {
  expect(decide(rotationOf('stalled'), factsOf())).toMatchObject({ to: 'adopted' });
  expect(decide(rotationOf('stalled'), factsOf({ successor: unused }))).toMatchObject({ do: 'wait' });
});

test('a rotation whose successor two listings do not show stalls at once, and resumes when one does', () => {
  const facts = factsOf({ successor: { state: 'unlisted' }, listingsSinceMint: 1 });
  expect(decide(rotationOf('delivered'), facts)).toMatchObject({ do: 'wait' });
  const twice = { ...facts, listingsSinceMint: 2 };
  expect(decide(rotationOf('delivered'), twice)).toMatchObject({ to: 'stalled', isIncident: true });
  expect(decide(rotationOf('stalled'), twice)).toMatchObject({ do: 'wait' });
  expect(decide(rotationOf('stalled'), factsOf({ listingsSinceMint: 3 }))).toMatchObject({ to: 'adopted' });
});

test('a rotation whose successor one listing does not show, after others did, waits for the next one', () => {
  const facts = factsOf({ successor: { state: 'missing' } });
  expect(decide(rotationOf('delivered'), facts)).toMatchObject({ do: 'wait' });
});

test('an orphan that no listing shows does not hold its lineage forever, and opens an incident', () => {
  const facts = factsOf({ successor: { state: 'unlisted' } });
  const lately = { ...rotationOf('orphaned', { outcome: 'lost' }), since: ago(13) };
  expect(decide(lately, facts)).toMatchObject({ do: 'wait' });
  expect(decide({ ...lately, since: ago(15) }, facts)).toMatchObject({ to: 'failed', isIncident: true });
});

const orphan = {
  id: '2',
  name: 'bot kw-abcdefgh-1',
  creatorId: 'ada',
  createdAt: ago(21),
  firstSeenAt: ago(21),
  use: { state: 'never' } as const,
};

test('T2: an orphan was never used, is ours and younger than the intent, and no sink has it', () => {
  expect(whyNoOrphan(mintOf(), orphan, { sink: 'lacks' })).toBeNull();
});

test.each([
  ['another name', { name: 'bot' }],
  ['another creator', { creatorId: 'eve' }],
  ['a creation before the intent', { createdAt: ago(22) }],
  ['a listing that showed it before', { firstSeenAt: ago(22) }],
  ['a creation hours after the intent', { createdAt: ago(20.9) }],
  ['another answer to the intent', { id: '3' }],
  ['a use', { use: { state: 'used', at: ago(1), from: null } as const }],
  ['an unknown use', { use: { state: 'unknown' } as const }],
])('T2: a key with %s is not an orphan', (_name, change) => {
  expect(whyNoOrphan(mintOf(), { ...orphan, ...change }, { sink: 'lacks' })).not.toBeNull();
});

test('T2: a use by Keywarden itself while it minted its own key leaves an orphan, and a later or an unknown use does not', () => {
  const own = { sink: 'lacks', ownUseUntil: ago(19) } as const;
  const usedAt = (days: number) => ({ ...orphan, use: { state: 'used', at: ago(days), from: null } as const });
  expect(whyNoOrphan(mintOf(), usedAt(19), own)).toBeNull();
  expect(whyNoOrphan(mintOf(), usedAt(18), own)).toBe('it was used');
  expect(whyNoOrphan(mintOf(), { ...orphan, use: { state: 'unknown' } }, own)).toBe('it was used');
});

test.each(['has', 'unknown'] as const)('T2: a key whose sink answers %s is not an orphan', (sink) => {
  expect(whyNoOrphan(mintOf(), orphan, { sink })).not.toBeNull();
});

const days = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.double({ min: 0, max: 60, noNaN: true }));
const sighting: fc.Arbitrary<Sighting> = fc.oneof(
  fc.constantFrom('missing', 'gone', 'unlisted').map((state): Sighting => ({ state: state as 'gone' })),
  {
    weight: 4,
    arbitrary: fc
      .record({ use: fc.oneof({ weight: 4, arbitrary: days }, fc.constantFrom('never', 'unknown')), since: days })
      .map(
        ({ use, since }): Sighting => ({
          state: 'live',
          use: typeof use === 'number' ? { state: 'used', at: ago(use), from: null } : { state: use as 'never' },
          presentSince: ago(since),
        }),
      ),
  },
);
const anyRotation = fc.record({
  since: days.map(ago),
  why: fc.constant(null),
  state: fc.constantFrom(...rotationStates, 'adopted', 'adopted', 'adopted', 'adopted'),
  quietForMs: fc.nat(20).map((count) => count * dayMs),
  adoptWithinMs: fc.integer({ min: 0, max: 60 }).map((count) => count * dayMs),
  mints: fc.array(
    fc
      .record({ keyId: fc.constantFrom(null, '2'), at: fc.option(days, { freq: 8 }) })
      .map(({ keyId, at }) => mintOf({ keyId, deliveredAt: at === null ? null : ago(at) })),
    { minLength: 1, maxLength: 4 },
  ),
});
const anyFacts: fc.Arbitrary<RotationFacts> = fc.record({
  nowMs: fc.constantFrom(nowMs, nowMs, nowMs, null),
  hourPriorListedAt: fc.option(fc.constantFrom(0, 1, 5, 30).map(ago), { freq: 8 }),
  old: sighting,
  successor: sighting,
  longestGapMs: fc.constantFrom(0, 0, 3, 10, 40).map((count) => count * dayMs),
  listingsSinceMint: fc.nat(3),
  lost: fc.array(fc.constant('9'), { maxLength: 2 }),
  whySuccessorUnproven: fc.constantFrom(null, null, null, 'it has changed'),
  retirement: fc.constantFrom('none', 'open', 'ended'),
  refusals: fc.constantFrom(0, 0, 0, 3),
  wasRefusedLately: fc.boolean(),
  sink: fc.constantFrom(null, 'has', 'lacks', 'unknown'),
  mayBeOnItsWay: fc.boolean(),
  replicasBehind: fc.constantFrom(0, 0, 0, 1),
});

/** T1 stated again, independently: everything that must hold when an old key is revoked. */
function mayRetire(rotation: Rotation, { old, successor, ...facts }: RotationFacts): boolean {
  const delivered = currentMint(rotation)?.deliveredAt;
  if (facts.nowMs === null || delivered == null || old.state !== 'live' || successor.state !== 'live') return false;
  if (successor.use.state !== 'used' || toMs(successor.use.at) <= toMs(delivered) || old.use.state === 'unknown')
    return false;
  const busy = [toMs(delivered), ...(old.use.state === 'used' ? [toMs(old.use.at)] : [])];
  const quiet = busy.every((ms) =>
    [7 * dayMs, rotation.quietForMs, 2 * facts.longestGapMs].every((needed) => nowMs - ms >= needed),
  );
  const { hourPriorListedAt: prior } = facts;
  const seen = prior !== null && [old, successor].every((each) => toMs(each.presentSince) <= toMs(prior));
  return quiet && seen && facts.whySuccessorUnproven === null && facts.replicasBehind === 0;
}

test('T1: for any rotation and any facts, an old key is revoked exactly when T1 allows it', () => {
  let retired = 0;
  const draws = sized(10_000);
  fc.assert(
    fc.property(anyRotation, anyFacts, (rotation, facts) => {
      const step = decide(rotation, facts);
      if (step.do === 'retire') retired += 1;
      const isRefused = facts.refusals >= 3 && facts.wasRefusedLately;
      expect(step.do === 'retire').toBe(rotation.state === 'adopted' && mayRetire(rotation, facts) && !isRefused);
    }),
    { numRuns: draws, seed: 7 },
  );
  expect(retired).toBeGreaterThan(draws / 1000);
});

test('the rotation’s state allows every decision, and an ended rotation stays ended', () => {
  fc.assert(
    fc.property(anyRotation, anyFacts, (rotation, facts) => {
      const step = decide(rotation, facts);
      const next = { mint: 'minting', retire: 'retiring' } as const;
      const to = step.do === 'move' ? step.to : step.do === 'wait' ? null : next[step.do];
      const isAllowed = to === null || mayFollow(rotation.state, to);
      expect(isAllowed).toBe(true);
      const moved =
        step.do === 'move' ? advance(rotation, { event: 'decided', move: step }, ago(0)).rotation.state : to;
      expect(moved).toBe(to);
      expect(isOver(rotation.state) && step.do !== 'wait').toBe(false);
      expect(step.do !== 'mint' || (rotation.state === 'planned' && facts.old.state !== 'gone')).toBe(true);
    }),
    { numRuns: sized(5000) },
  );
});

test('a successor name of any letters has 1 to 64 characters, ends in the rotation’s id, and gives its lineage’s name back', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 64, unit: 'grapheme' }),
      fc.integer({ min: 1, max: 9 }),
      (name, attempt) => {
        const id = makeRotationId((count) => new Uint8Array(count).map((_byte, index) => index * 37 + name.length));
        const first = successorName(name, { id, attempt });
        expect(first.length).toBeLessThanOrEqual(64);
        expect(first.endsWith(`kw-${id}-${attempt}`)).toBe(true);
        expect(first.isWellFormed()).toBe(name.isWellFormed());
        const second = successorName(first, { id: 'zzzzzzzz', attempt: 1 });
        expect(lineageName(second)).toBe(lineageName(first));
      },
    ),
    { numRuns: sized(1000) },
  );
});

test('successor names are readable', () => {
  expect(successorName('ci deploy', { id: 'a1b2c3d4', attempt: 1 })).toBe('ci deploy kw-a1b2c3d4-1');
  expect(successorName('ci deploy kw-a1b2c3d4-1', { id: 'e5f6g7h8', attempt: 2 })).toBe('ci deploy kw-e5f6g7h8-2');
});
