import { whyLate, whyNotAdopted } from './adoption.ts';
import { currentMint, type Rotation, type RotationFacts } from './rotation.ts';
import type { RotationState } from './states.ts';

/** What comes next. `move` needs nothing but its row; `isIncident` where a person must look. */
export type Step =
  | { do: 'mint' | 'ask_sink' | 'retire' }
  | { do: 'move'; to: RotationState; why: string | null; isIncident: boolean }
  | { do: 'wait'; why: string };

/** After so many successors whose secrets were lost, something is wrong that another will not mend. */
const mostAttempts = 3;

/** Decides the next step of a rotation. Pure; every answer is a step that its state allows. */
export function decide(rotation: Rotation, facts: RotationFacts): Step {
  const { state } = rotation;
  switch (state) {
    case 'planned':
      return facts.old.state === 'gone' ? move('failed', 'the old key is gone') : { do: 'mint' };
    case 'minting':
      return settleMint(facts);
    case 'minted':
      return { do: 'ask_sink' };
    case 'delivered':
      return awaitListing(facts);
    case 'overlapping':
    case 'stalled':
      return awaitAdoption(rotation, facts);
    case 'adopted':
      return retireOrGoBack(rotation, facts);
    case 'retiring':
      return settleRetirement(facts);
    case 'orphaned':
      return afterOrphan(rotation, facts);
    case 'retired':
    case 'failed':
      return wait('it is over');
    default:
      return state satisfies never;
  }
}

const wait = (why: string): Step => ({ do: 'wait', why });

const move = (to: RotationState, why: string | null = null, isIncident = false): Step => ({
  do: 'move',
  to,
  why,
  isIncident,
});

/** The answer to the mint was lost: what it made bears the intent's name. */
function settleMint({ lost, listingsSinceMint }: RotationFacts): Step {
  if (lost.length > 0) return move('orphaned', 'the answer with its secret was lost');
  if (listingsSinceMint >= 2) return move('planned', 'two listings show that nothing was minted');
  return wait('a successor may have been minted; the next listings tell');
}

function awaitListing(facts: RotationFacts): Step {
  if (facts.successor.state === 'live') return facts.old.state === 'gone' ? oldIsGone(facts) : move('overlapping');
  if (facts.successor.state === 'gone') return successorIsGone();
  return wait('no listing has shown its successor yet');
}

function awaitAdoption(rotation: Rotation, facts: RotationFacts): Step {
  if (facts.successor.state === 'gone') return successorIsGone();
  if (facts.old.state === 'gone') return oldIsGone(facts);
  const why = whyNotAdopted(rotation, facts);
  if (why === null) return move('adopted');
  const late = rotation.state === 'stalled' ? null : whyLate(rotation, facts);
  return late === null ? wait(why) : move('stalled', late, true);
}

function successorIsGone(): Step {
  return move('failed', 'somebody has revoked its successor, which its sink still has', true);
}

/** Not by us. Who does not use the successor yet has no key that lives. */
function oldIsGone({ successor }: RotationFacts): Step {
  return move('retired', 'somebody else has revoked the old key', successor.use?.state === 'never');
}

function retireOrGoBack(rotation: Rotation, facts: RotationFacts): Step {
  if (facts.successor.state === 'gone') return successorIsGone();
  if (facts.old.state === 'gone') return oldIsGone(facts);
  const why = whyNotAdopted(rotation, facts);
  return why === null ? { do: 'retire' } : move('overlapping', why);
}

function settleRetirement({ old, retirement }: RotationFacts): Step {
  if (old.state === 'gone') return move('retired');
  if (retirement === 'open') return wait('whether the old key is revoked is not settled; the next listings tell');
  return move('adopted', 'the old key was not revoked');
}

/** Another is minted once the orphan is gone. */
function afterOrphan(rotation: Rotation, { lost, successor }: RotationFacts): Step {
  const isThere = lost.length > 0 || successor.state === 'live' || successor.state === 'missing';
  if (isThere) return wait('its orphan is to be revoked first');
  const attempts = currentMint(rotation)?.attempt ?? 0;
  if (attempts < mostAttempts) return move('planned', 'its orphan is gone');
  return move('failed', `the secrets of ${attempts} successors were lost`);
}
