import { sized } from '@keywarden/testkit';
import { daysAgo as ago, nowMs } from '@keywarden/testkit/policy/facts';
import { factsOf, mintOf, rotationOf, unclear, unused, used } from '@keywarden/testkit/rotation/facts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toMs } from '../values/time.ts';
import { whyNotAdopted } from './adoption.ts';
import { decide } from './decide.ts';
import { isSuccessorName, lineageName, makeRotationId, rotationIdIn, successorName } from './name.ts';
import { whyNoOrphan } from './orphan.ts';
import { currentMint, type Rotation, type RotationFacts, type Sighting } from './rotation.ts';
import { isOver, mayFollow, rotationStates } from './states.ts';
import { advance } from './transition.ts';

const dayMs = 86_400_000;

test('T1: a successor counts as adopted if it was delivered and used since, and the old key was quiet for long enough', () => {
  expect(whyNotAdopted(rotationOf('overlapping'), factsOf())).toBeNull();
  expect(decide(rotationOf('adopted'), factsOf())).toEqual({ do: 'retire' });
});

test.each<[string, Partial<RotationFacts>, RegExp]>([
  ['an untrusted clock', { nowMs: null }, /time is not known/],
  ['a successor that was never used', { successor: unused }, /no use of its successor/],
  ['a successor that was used only before its delivery', { successor: used(20.5) }, /no use of its successor/],
  ['a successor that was used only at its delivery', { successor: used(20) }, /no use of its successor/],
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

test('T1: a successor that was not delivered, or not minted, keeps the old key', () => {
  const undelivered = 'its successor was not delivered';
  expect(whyNotAdopted(rotationOf('overlapping', { deliveredAt: null }), factsOf())).toBe(undelivered);
  expect(whyNotAdopted({ ...rotationOf('overlapping'), mints: [] }, factsOf())).toBe(undelivered);
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
  expect(whyNoOrphan(mintOf({ keyId: null }), orphan, { sink: 'lacks' })).toBeNull();
  expect(whyNoOrphan(mintOf(), { ...orphan, createdAt: ago(21 - 1 / 24) }, { sink: 'lacks' })).toBeNull();
});

test.each([
  ['another name', { name: 'bot' }, 'it has another name'],
  ['another creator', { creatorId: 'eve' }, 'someone else created it'],
  ['a creation before the intent', { createdAt: ago(22) }, 'it is older than our intent to mint it'],
  ['a listing that showed it before', { firstSeenAt: ago(22) }, 'a listing before our intent to mint it shows it'],
  ['a creation hours after the intent', { createdAt: ago(20.9) }, 'it was created long after our intent to mint it'],
  ['another answer to the intent', { id: '3' }, 'the response to its intent named another key'],
  ['a use', { use: { state: 'used', at: ago(1), from: null } as const }, 'it was used'],
  ['an unknown use', { use: { state: 'unknown' } as const }, 'it was used'],
])('T2: a key with %s is not an orphan', (_name, change, why) => {
  expect(whyNoOrphan(mintOf(), { ...orphan, ...change }, { sink: 'lacks' })).toBe(why);
});

test('T2: a use by Keywarden itself while it minted its own key leaves an orphan, and a later or an unknown use does not', () => {
  const own = { sink: 'lacks', ownUseUntil: ago(19) } as const;
  const usedAt = (days: number) => ({ ...orphan, use: { state: 'used', at: ago(days), from: null } as const });
  expect(whyNoOrphan(mintOf(), usedAt(19), own)).toBeNull();
  expect(whyNoOrphan(mintOf(), usedAt(18), own)).toBe('it was used');
  expect(whyNoOrphan(mintOf(), { ...orphan, use: { state: 'unknown' } }, own)).toBe('it was used');
});

test.each([
  ['has', 'its sink has it'],
  ['unknown', 'it is unknown whether its sink has it'],
] as const)('T2: a key whose sink answers %s is not an orphan', (sink, why) => {
  expect(whyNoOrphan(mintOf(), orphan, { sink })).toBe(why);
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
        expect(rotationIdIn(first)).toBe(id);
        expect(first.isWellFormed()).toBe(name.isWellFormed());
        expect(isSuccessorName(` ${first.normalize('NFD')}`, name)).toBe(true);
        expect(isSuccessorName(first, `other ${name}`)).toBe(false);
        const second = successorName(first, { id: 'zzzzzzzz', attempt: 1 });
        expect(lineageName(second)).toBe(lineageName(first));
      },
    ),
    { numRuns: sized(1000) },
  );
});

test('successor names are readable, and are cut to 64 characters', () => {
  const suffixed = (name: string) => successorName(name, { id: 'a1b2c3d4', attempt: 1 });
  expect(suffixed('ci deploy')).toBe('ci deploy kw-a1b2c3d4-1');
  expect(suffixed('  ci deploy  ')).toBe('ci deploy kw-a1b2c3d4-1');
  expect(suffixed('x'.repeat(64))).toBe(`${'x'.repeat(50)} kw-a1b2c3d4-1`);
  expect(successorName('ci deploy kw-a1b2c3d4-1', { id: 'e5f6g7h8', attempt: 2 })).toBe('ci deploy kw-e5f6g7h8-2');
});

test('a successor’s name gives its rotation’s id, which has eight characters for eight random bytes', () => {
  expect(makeRotationId(() => Uint8Array.of(0, 1, 9, 10, 31, 32, 63, 255))).toBe('019az0zz');
  expect(rotationIdIn(' ci deploy kw-a1b2c3d4-1 ')).toBe('a1b2c3d4');
  expect(rotationIdIn('ci deploy kw-a1b2c3d4')).toBeNull();
  expect(isSuccessorName('ci deploy', 'ci deploy')).toBe(false);
  expect(rotationIdIn('tkw-a1b2c3d4-1')).toBeNull();
  // The lineage's name is blank.
  expect(rotationIdIn(successorName(' ', { id: 'a1b2c3d4', attempt: 1 }))).toBe('a1b2c3d4');
});
