import type { MintIntent, Rotation, RotationFacts, RotationState, Sighting } from '@keywarden/core/rotation';
import { daysAgo, nowMs, usedDaysAgo } from '../policy/facts.ts';

const dayMs = 86_400_000;

const live = (use: (Sighting & { state: 'live' })['use']): Sighting => ({
  state: 'live',
  use,
  presentSince: daysAgo(100),
});
/** Returns a live key that was used so many days ago. */
export const used = (days: number): Sighting => live(usedDaysAgo(days));
export const unclear: Sighting = live({ state: 'unknown' });
export const unused: Sighting = live({ state: 'never' });

/** Returns the mint of key 2, which was delivered twenty days ago, with the given changes. */
export const mintOf = (change: Partial<MintIntent> = {}): MintIntent => ({
  attempt: 1,
  name: 'bot kw-abcdefgh-1',
  creatorId: 'ada',
  listedAt: daysAgo(21),
  keyId: '2',
  outcome: 'delivered',
  deliveredAt: daysAgo(20),
  ...change,
});

/** Returns a rotation that has been in its state for five days, with the given changes of its mint. */
export const rotationOf = (state: RotationState, change: Partial<MintIntent> = {}): Rotation => ({
  state,
  since: daysAgo(5),
  why: null,
  quietForMs: 7 * dayMs,
  adoptWithinMs: 14 * dayMs,
  mints: [mintOf(change)],
});

/** Returns facts by which the old key may be retired, with the given changes. */
export const factsOf = (change: Partial<RotationFacts> = {}): RotationFacts => ({
  nowMs,
  hourPriorListedAt: daysAgo(1 / 24),
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
