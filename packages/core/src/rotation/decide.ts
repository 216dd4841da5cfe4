import { daysInWords, toMs } from '../values/index.ts';
import { whyLate, whyNotAdopted } from './adoption.ts';
import { currentMint, type Rotation, type RotationFacts } from './rotation.ts';
import { isOver } from './states.ts';
import { deliveryMove, type Move, moveTo } from './transition.ts';

/** The next step. `move` needs only its row; `isIncident` is true if a person must look. */
export type Step = { do: 'mint' | 'retire' } | ({ do: 'move' } & Move) | { do: 'wait'; why: string };

/** After this many lost secrets of successors the rotation fails, because another attempt will not help. */
const mostLost = 3;

/** After this many refusals to revoke an old key an incident is opened, and Keywarden retries once a day. */
const mostRefusals = 3;

/**
 * Decides the next step of a rotation. Pure; the rotation's state allows every returned step. Nothing is decided while the control plane's time is unknown:
 * the times of a rotation's states decide when its old key is retired.
 */
export function decide(rotation: Rotation, facts: RotationFacts): Step {
  const { state } = rotation;
  if (facts.nowMs === null && !isOver(state)) return wait('the control plane’s time is not known well enough');
  switch (state) {
    case 'planned':
      return begin(rotation, facts);
    case 'minting':
      return settleMint(rotation, facts);
    case 'minted':
      return settleDelivery(rotation, facts);
    case 'delivered':
      return awaitListing(rotation, facts);
    case 'overlapping':
      return awaitAdoption(rotation, facts);
    case 'stalled':
      return settleStall(rotation, facts);
    case 'adopted':
      return retireOrGoBack(rotation, facts);
    case 'retiring':
      return settleRetirement(rotation, facts);
    case 'orphaned':
      return afterOrphan(rotation, facts);
    case 'retired':
    case 'failed':
      return wait('the rotation has ended');
    default:
      return state satisfies never;
  }
}

const wait = (why: string): Step => ({ do: 'wait', why });

const move = (...to: Parameters<typeof moveTo>): Extract<Step, { do: 'move' }> => ({ do: 'move', ...moveTo(...to) });

/** Mints, or fails when overdue. Until a successor is minted, the rotation only keeps the policy from revoking the key, and that must end. */
function begin(rotation: Rotation, { old, nowMs }: RotationFacts): Step {
  if (old.state === 'gone') return move('failed', 'the old key is gone');
  if (!isOverdue(rotation, nowMs)) return { do: 'mint' };
  return move('failed', `nothing was minted for ${daysInWords(rotation.adoptWithinMs)}`, true);
}

/** Returns whether the rotation is in its state for longer than adoption may take. It then opens an incident: none waits forever. */
export function isOverdue(
  { since, adoptWithinMs }: Pick<Rotation, 'since' | 'adoptWithinMs'>,
  nowMs: number | null,
): boolean {
  return nowMs !== null && nowMs - toMs(since) > adoptWithinMs;
}

/** Settles a mint whose response was lost. A key that it created has the intent's name. */
function settleMint(rotation: Rotation, { lost, listingsSinceMint, nowMs }: RotationFacts): Step {
  if (lost.length > 0) return { ...move('orphaned', 'the response with its secret was lost'), outcome: 'lost' };
  if (listingsSinceMint >= 2) return move('planned', 'two listings show that nothing was minted');
  if (isOverdue(rotation, nowMs)) return move('failed', 'no listing shows whether a successor was minted', true);
  return wait('a successor may have been minted; the next listings show it');
}

/** Settles a delivery when a process ended between the minting and the sink's result. */
function settleDelivery(rotation: Rotation, { sink, mayBeOnItsWay, nowMs }: RotationFacts): Step {
  if (mayBeOnItsWay) return wait('its secret may still be on its way to its sink');
  if (sink !== null) return { do: 'move', ...deliveryMove(sink) };
  if (!isOverdue(rotation, nowMs)) return wait('its sink could not be checked');
  return { ...move('stalled', 'its sink could not be checked', true), outcome: 'unclear' };
}

function awaitListing(rotation: Rotation, facts: RotationFacts): Step {
  const { successor, old, nowMs, listingsSinceMint } = facts;
  if (successor.state === 'live') return old.state === 'gone' ? oldIsGone(rotation, facts) : move('overlapping');
  if (successor.state === 'gone') return successorIsGone();
  // The sink has its secret in the place of one that works.
  if (successor.state === 'unlisted' && listingsSinceMint >= 2)
    return move('stalled', 'two listings do not show its successor', true);
  if (isOverdue(rotation, nowMs)) return move('stalled', 'no listing shows its successor', true);
  return wait('no listing has shown its successor yet');
}

function awaitAdoption(rotation: Rotation, facts: RotationFacts): Step {
  if (facts.successor.state === 'gone') return successorIsGone();
  if (facts.old.state === 'gone') return oldIsGone(rotation, facts);
  const why = whyNotAdopted(rotation, facts);
  if (why === null)
    return currentMint(rotation)?.outcome === 'unclear'
      ? { ...move('adopted'), outcome: 'delivered' }
      : move('adopted');
  const late = rotation.state === 'stalled' ? null : whyLate(rotation, facts);
  return late === null ? wait(why) : move('stalled', late, true);
}

/** Resumes the rotation automatically when the reason for its stall is settled. */
function settleStall(rotation: Rotation, facts: RotationFacts): Step {
  if (facts.sink === 'has') return { ...move('delivered', 'its sink has the secret'), outcome: 'delivered' };
  if (facts.sink === 'lacks') return { do: 'move', ...deliveryMove('lacks') };
  if (facts.refusals >= mostRefusals && facts.wasRefusedLately && facts.old.state !== 'gone') return wait(refused);
  const mayHaveRevoked = facts.retirement !== 'none' && facts.refusals === 0;
  if (facts.old.state === 'gone' && mayHaveRevoked) return move('retired', 'the old key is gone');
  return awaitAdoption(rotation, facts);
}

const refused = 'the control plane refuses to revoke the old key';

function successorIsGone(): Step {
  return move('failed', 'someone revoked its successor, which its sink still has', true);
}

/** Settles an old key that Keywarden is not known to have revoked. Clients that do not use the successor yet then have no live key. */
function oldIsGone(rotation: Rotation, { successor, retirement }: RotationFacts): Step {
  if (successor.use === undefined) return wait('the next listing shows whether its successor exists');
  const deliveredAt = currentMint(rotation)?.deliveredAt;
  const isUsed = successor.use.state === 'used' && deliveredAt != null && toMs(successor.use.at) > toMs(deliveredAt);
  // An answer that refused an attempt may have been false.
  const why =
    retirement === 'none'
      ? 'someone else revoked the old key'
      : 'the old key is gone, and whether Keywarden or someone else revoked it is not known';
  return move('retired', why, !isUsed);
}

function retireOrGoBack(rotation: Rotation, facts: RotationFacts): Step {
  if (facts.successor.state === 'gone') return successorIsGone();
  if (facts.old.state === 'gone') return oldIsGone(rotation, facts);
  const why = whyNotAdopted(rotation, facts);
  if (why !== null) return move('overlapping', why);
  return facts.refusals >= mostRefusals && facts.wasRefusedLately ? move('stalled', refused, true) : { do: 'retire' };
}

function settleRetirement(rotation: Rotation, { old, retirement, nowMs }: RotationFacts): Step {
  if (old.state === 'gone') return move('retired');
  if (retirement !== 'open') return move('adopted', 'the old key was not revoked');
  // Its scope may never be listed again, and a person can only give a stalled rotation up.
  if (isOverdue(rotation, nowMs)) return move('stalled', 'no listing shows whether the old key is revoked', true);
  return wait('it is unknown whether the old key is revoked; the next listings show it');
}

/** Mints another successor once the orphan is gone. An orphan that no listing has shown yet is not gone. */
function afterOrphan(rotation: Rotation, { lost, successor, nowMs }: RotationFacts): Step {
  const isKnown = currentMint(rotation)?.keyId != null;
  const isThere = lost.length > 0 || (isKnown && successor.state !== 'gone');
  // The rotation ends; the separate handling of orphans still covers this one.
  if (isThere && isOverdue(rotation, nowMs)) return move('failed', 'its orphan may still exist', true);
  if (isThere) return wait('its orphan must be revoked first');
  const losses = rotation.mints.filter(({ outcome }) => outcome === 'lost').length;
  if (losses < mostLost) return move('planned', 'its orphan is gone');
  return move('failed', `the secrets of ${losses} successors were lost`, true);
}
