import { daysAgo } from '@keywarden/testkit/policy/facts';
import { factsOf, mintOf, rotationOf, unclear, unused, used } from '@keywarden/testkit/rotation/facts';
import { expect, test } from 'vitest';
import { whyLate } from './adoption.ts';
import { decide, type Step } from './decide.ts';
import type { MintIntent, RotationFacts, Sighting } from './rotation.ts';
import type { RotationState } from './states.ts';

/** Returns a step as text: the next state, the mint's outcome, a `!` if a person must look, and the reason. */
function inWords(step: Step): string {
  if (step.do === 'wait') return `wait: ${step.why}`;
  if (step.do !== 'move') return step.do;
  const outcome = step.outcome === undefined ? '' : ` (${step.outcome})`;
  return `${step.to}${outcome}${step.isIncident ? '!' : ''}${step.why === null ? '' : `: ${step.why}`}`;
}

/** Facts, with changes of the rotation's mint, or all of its mints, and of the days that it has been in its state. */
type Given = Partial<RotationFacts> & { mint?: Partial<MintIntent>; mints?: MintIntent[]; days?: number };

const missing: Sighting = { state: 'missing' };
const gone: Sighting = { state: 'gone' };
const unlisted: Sighting = { state: 'unlisted' };
const refusedThrice = { refusals: 3, wasRefusedLately: true };
const lost = (count: number) => Array.from({ length: count }, () => mintOf({ keyId: null, outcome: 'lost' }));

const unproven = 'its id belonged to another key';
const noUse = 'no use of its successor was observed';
const isGone = 'someone revoked its successor, which its sink still has';
const isRevoked = 'someone else revoked the old key';
const isUnclear = 'the old key is gone, and whether Keywarden or someone else revoked it is not known';
const isRefused = 'the control plane refuses to revoke the old key';

test.each<[RotationState, [Given, string][]]>([
  [
    'planned',
    [
      [{}, 'mint'],
      [{ days: 14 }, 'mint'],
      [{ days: 15 }, 'failed!: nothing was minted for 14 days'],
      [{ old: gone, days: 15 }, 'failed: the old key is gone'],
      [{ nowMs: null }, 'wait: the control plane’s time is not known well enough'],
    ],
  ],
  [
    'minting',
    [
      [{ lost: ['9'], listingsSinceMint: 2 }, 'orphaned (lost): the response with its secret was lost'],
      [{ listingsSinceMint: 2, days: 15 }, 'planned: two listings show that nothing was minted'],
      [{ listingsSinceMint: 1 }, 'wait: a successor may have been minted; the next listings show it'],
      [{ listingsSinceMint: 1, days: 15 }, 'failed!: no listing shows whether a successor was minted'],
    ],
  ],
  [
    'minted',
    [
      [{ sink: 'lacks', mayBeOnItsWay: true }, 'wait: its secret may still be on its way to its sink'],
      [{ sink: 'has' }, 'delivered (delivered)'],
      [{ sink: 'lacks' }, 'orphaned (lost): its secret did not reach its sink'],
      [{ sink: 'unknown' }, 'stalled (unclear)!: it is unknown whether its sink has the secret of its successor'],
      [{}, 'wait: its sink could not be checked'],
      [{ days: 15 }, 'stalled (unclear)!: its sink could not be checked'],
    ],
  ],
  [
    'delivered',
    [
      [{}, 'overlapping'],
      [{ old: gone }, `retired: ${isRevoked}`],
      [{ successor: gone }, `failed!: ${isGone}`],
      [{ successor: unlisted, listingsSinceMint: 1 }, 'wait: no listing has shown its successor yet'],
      [{ successor: unlisted, listingsSinceMint: 2 }, 'stalled!: two listings do not show its successor'],
      [{ successor: missing }, 'wait: no listing has shown its successor yet'],
      [{ successor: missing, days: 15 }, 'stalled!: no listing shows its successor'],
    ],
  ],
  [
    'overlapping',
    [
      [{}, 'adopted'],
      [{ mint: { outcome: 'unclear' } }, 'adopted (delivered)'],
      [{ successor: gone }, `failed!: ${isGone}`],
      [{ old: gone }, `retired: ${isRevoked}`],
      // Without a proven use of the successor, the clients may have no key.
      [{ old: gone, successor: unused }, `retired!: ${isRevoked}`],
      [{ old: gone, successor: unclear }, `retired!: ${isRevoked}`],
      [{ old: gone, successor: used(20) }, `retired!: ${isRevoked}`],
      [{ old: gone, mint: { deliveredAt: null } }, `retired!: ${isRevoked}`],
      [{ old: gone, successor: missing }, 'wait: the next listing shows whether its successor exists'],
      [{ old: used(6) }, 'wait: the old key must be quiet for 7 days, 1 day more'],
      [{ whySuccessorUnproven: unproven, mint: { deliveredAt: daysAgo(14) } }, `wait: ${unproven}`],
      [{ whySuccessorUnproven: unproven }, `stalled!: ${unproven}`],
      [{ successor: used(20), mint: { deliveredAt: daysAgo(14) } }, `wait: ${noUse}`],
      [{ successor: unused }, `stalled!: ${noUse} within 14 days`],
    ],
  ],
  [
    'stalled',
    [
      [{}, 'adopted'],
      [{ successor: unused }, `wait: ${noUse}`],
      [{ successor: unlisted, listingsSinceMint: 2 }, 'wait: the last listing does not show both keys'],
      [{ sink: 'has' }, 'delivered (delivered): its sink has the secret'],
      [{ sink: 'lacks' }, 'orphaned (lost): its secret did not reach its sink'],
      [{ sink: 'unknown' }, 'adopted'],
      [refusedThrice, `wait: ${isRefused}`],
      [{ ...refusedThrice, refusals: 2 }, 'adopted'],
      [{ ...refusedThrice, wasRefusedLately: false }, 'adopted'],
      [{ ...refusedThrice, old: gone }, `retired: ${isRevoked}`],
      [{ retirement: 'none', old: gone, successor: unused }, `retired!: ${isRevoked}`],
      [{ retirement: 'ended', refusals: 1, old: gone, successor: unused }, `retired!: ${isUnclear}`],
      [{ retirement: 'ended' }, 'adopted'],
      // Keywarden itself may have revoked it.
      [{ retirement: 'open', old: gone }, 'retired: the old key is gone'],
      [{ retirement: 'ended', old: gone, successor: unused }, 'retired: the old key is gone'],
    ],
  ],
  [
    'adopted',
    [
      [{}, 'retire'],
      [{ old: used(6) }, 'overlapping: the old key must be quiet for 7 days, 1 day more'],
      [{ successor: gone }, `failed!: ${isGone}`],
      [{ old: gone }, `retired: ${isRevoked}`],
      [refusedThrice, `stalled!: ${isRefused}`],
      [{ ...refusedThrice, refusals: 2 }, 'retire'],
      [{ ...refusedThrice, wasRefusedLately: false }, 'retire'],
    ],
  ],
  [
    'retiring',
    [
      [{ old: gone, retirement: 'open' }, 'retired'],
      [
        { old: missing, retirement: 'open' },
        'wait: it is unknown whether the old key is revoked; the next listings show it',
      ],
      [
        { retirement: 'open', days: 14 },
        'wait: it is unknown whether the old key is revoked; the next listings show it',
      ],
      [{ retirement: 'open', days: 15 }, 'stalled!: no listing shows whether the old key is revoked'],
      [{ old: gone, retirement: 'open', days: 15 }, 'retired'],
      [{ old: missing, retirement: 'ended' }, 'adopted: the old key was not revoked'],
    ],
  ],
  [
    'orphaned',
    [
      [{ successor: gone }, 'planned: its orphan is gone'],
      [{ successor: gone, days: 15 }, 'planned: its orphan is gone'],
      [{ successor: unlisted }, 'wait: its orphan must be revoked first'],
      [{ successor: unlisted, days: 15 }, 'failed!: its orphan may still exist'],
      [{ lost: ['9'], mints: lost(1) }, 'wait: its orphan must be revoked first'],
      [{ successor: unlisted, mints: [mintOf(), ...lost(2)] }, 'planned: its orphan is gone'],
      [{ successor: unlisted, mints: lost(3) }, 'failed!: the secrets of 3 successors were lost'],
    ],
  ],
  ['retired', [[{ nowMs: null }, 'wait: the rotation has ended']]],
  ['failed', [[{ nowMs: null }, 'wait: the rotation has ended']]],
])('the steps of a rotation that is %s', (state, rows) => {
  const stepsOf = ({ mint, mints, days = 5, ...facts }: Given) => {
    const rotation = { ...rotationOf(state, mint), since: daysAgo(days), ...(mints && { mints }) };
    return inWords(decide(rotation, factsOf(facts)));
  };
  expect(rows.map(([given]) => stepsOf(given))).toEqual(rows.map(([, step]) => step));
});

test('a rotation is late when the time for adoption is over and something other than quiet is missing', () => {
  const late = (facts: Partial<RotationFacts>, deliveredDaysAgo = 20) =>
    whyLate(rotationOf('overlapping', { deliveredAt: daysAgo(deliveredDaysAgo) }), factsOf(facts));
  const noUseWithin = `${noUse} within 14 days`;
  const wasUsed = (days: number, from = '') =>
    `the old key was used${from} at ${daysAgo(days)}, more than 14 days after its successor was delivered`;
  const oldUsed = (from: string | null): Sighting => ({
    state: 'live',
    use: { state: 'used', at: daysAgo(1), from },
    presentSince: daysAgo(100),
  });
  const cases: [string | null, string | null][] = [
    [late({ successor: unused }), noUseWithin],
    [late({ successor: used(20) }), noUseWithin],
    [late({ old: used(5) }), wasUsed(5, ' from 203.0.113.7')],
    [late({ old: oldUsed(null) }), wasUsed(1)],
    [late({ old: oldUsed('') }), wasUsed(1)],
    // The last moment within the time for adoption, and the first after it.
    [late({ old: used(6) }), null],
    [late({ successor: unused }, 14), null],
    [late({ old: unused }), null],
    [late({ old: missing }), null],
    // An unknown use is late only when it stays unknown for as long again.
    ...[{ old: unclear }, { successor: unclear }, { successor: missing }].flatMap((facts): typeof cases => [
      [late(facts, 28), null],
      [late(facts, 29), 'the last use of one of the keys is unknown'],
    ]),
    [late({ whySuccessorUnproven: unproven }), unproven],
    [late({ nowMs: null, successor: unused }), null],
    [whyLate(rotationOf('overlapping', { deliveredAt: null }), factsOf({ successor: unused })), null],
    [whyLate({ ...rotationOf('planned'), mints: [] }, factsOf({ successor: unused })), null],
  ];
  expect(cases.map(([found]) => found)).toEqual(cases.map(([, expected]) => expected));
});
