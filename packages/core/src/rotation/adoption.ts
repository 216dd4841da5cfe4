import { hasSeen } from '../policy/index.ts';
import { leastQuietMs } from '../policy/schema.ts';
import { daysInWords, toMs } from '../values/index.ts';
import { currentMint, type Rotation, type RotationFacts } from './rotation.ts';

/**
 * T1: returns why the old key may not be retired yet, or null if it may. Its successor must have been delivered and then seen in use. The old key
 * must have been quiet as long as configured, at least 7 days and twice its longest observed gap, counted from the delivery at the earliest. Two
 * listings an hour apart must show both keys. Anything unknown is a reason to wait.
 */
export function whyNotAdopted(rotation: Rotation, facts: RotationFacts): string | null {
  const { nowMs, old, successor } = facts;
  const mint = currentMint(rotation);
  if (nowMs === null) return 'the control plane’s time is not known well enough';
  if (mint?.deliveredAt == null) return 'its successor was not delivered';
  if (old.state !== 'live' || successor.state !== 'live') return 'the last listing does not show both keys';
  if (facts.whySuccessorUnproven !== null) return facts.whySuccessorUnproven;
  if (old.use.state === 'unknown') return 'the last use of the old key is unknown';
  if (successor.use.state === 'unknown') return 'the last use of its successor is unknown';
  const deliveredMs = toMs(mint.deliveredAt);
  if (successor.use.state === 'never' || !(toMs(successor.use.at) > deliveredMs))
    return 'no use of its successor was observed';
  if (facts.replicasBehind > 0) return `${facts.replicasBehind} of Keywarden's own processes do not use it yet`;
  const neededMs = Math.max(leastQuietMs, rotation.quietForMs, 2 * facts.longestGapMs);
  const quietMs = nowMs - Math.max(deliveredMs, old.use.state === 'used' ? toMs(old.use.at) : 0);
  if (!(quietMs >= neededMs)) {
    const left = daysInWords(neededMs - quietMs);
    return `the old key must be quiet for ${daysInWords(neededMs)}, ${left} more`;
  }
  const isSeenTwice = [old, successor].every((each) => hasSeen(facts.hourPriorListedAt, each));
  return isSeenTwice ? null : 'two listings at least an hour apart must show both keys';
}

/** Returns why a successor is late, or null if it is not. Waiting only for the old key to be quiet is not late. */
export function whyLate(rotation: Rotation, facts: RotationFacts): string | null {
  const { nowMs, old, successor, whySuccessorUnproven } = facts;
  const deliveredAt = currentMint(rotation)?.deliveredAt;
  if (nowMs === null || deliveredAt == null) return null;
  const deliveredMs = toMs(deliveredAt);
  const endMs = deliveredMs + rotation.adoptWithinMs;
  if (nowMs <= endMs) return null;
  if (whySuccessorUnproven !== null) return whySuccessorUnproven;
  const within = daysInWords(rotation.adoptWithinMs);
  // An unknown use is not late, unless it stays unknown.
  if (successor.use === undefined || successor.use.state === 'unknown' || old.use?.state === 'unknown')
    return nowMs > endMs + rotation.adoptWithinMs ? 'the last use of one of the keys is unknown' : null;
  if (successor.use.state === 'never' || toMs(successor.use.at) <= deliveredMs)
    return `no use of its successor was observed within ${within}`;
  if (old.use?.state !== 'used' || toMs(old.use.at) <= endMs) return null;
  const from = old.use.from === null || old.use.from === '' ? '' : ` from ${old.use.from}`;
  return `the old key was used${from} at ${old.use.at}, more than ${within} after its successor was delivered`;
}
