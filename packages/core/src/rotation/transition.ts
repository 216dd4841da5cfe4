import { currentMint, type MintIntent, type Rotation, type SinkAnswer } from './rotation.ts';
import { isOver, mayFollow, type RotationState } from './states.ts';

/** A transition that follows from the facts alone. `outcome` is the outcome of the last mint. */
export interface Move {
  to: RotationState;
  why: string | null;
  /** True if a person must look. */
  isIncident: boolean;
  outcome?: NonNullable<MintIntent['outcome']>;
}

/** An event of a rotation. */
export type RotationEvent<Mint extends MintIntent = MintIntent> =
  | { event: 'decided'; move: Move }
  /** The intent to mint is about to be committed. */
  | { event: 'mint_begun'; mint: Mint }
  /** The control plane answered with the successor's id. `sinkPath` is the file for its secret. */
  | { event: 'minted'; keyId: string; sinkPath?: string }
  | { event: 'mint_refused'; why: string; isFinal: boolean }
  | { event: 'delivery_ended'; answer: SinkAnswer; why: string | null }
  | { event: 'retirement_begun' }
  | { event: 'retirement_overdue'; why: string | null }
  | { event: 'retired' }
  | { event: 'orphan_kept'; why: string | null }
  | { event: 'given_up'; by: string };

/** What must be recorded in one transaction with a transition. */
export interface Effects {
  /** Whether the last mint was begun or changed. */
  mint: 'begun' | 'changed' | null;
  sinkPath: string | null;
  /** Opens an incident of the old key, or closes the open one with this note. */
  incident: { opens: true } | { opens: false; note: string } | null;
  givenUpBy: string | null;
}

/**
 * Returns a rotation after an event at a time (RFC 3339), and what to record with it. Pure. Throws for an event that the rotation's state does not
 * permit, which is a bug in the caller.
 */
export function advance<Mint extends MintIntent, R extends Rotation<Mint>>(
  rotation: R,
  event: RotationEvent<Mint>,
  at: string,
): { rotation: R; effects: Effects } {
  const move = toMove(event);
  const { to, why } = move;
  if (!mayFollow(rotation.state, to)) throw new Error(`a rotation cannot go from ${rotation.state} to ${to}`);
  const keyId = event.event === 'minted' ? event.keyId : null;
  const last = currentMint(rotation);
  // A rotation that ends may leave its secret in the sink, so its key stays in the lineage.
  const isUnsettled = isOver(to) && last?.keyId != null && last.outcome === null;
  const outcome = move.outcome ?? (isUnsettled ? 'unclear' : undefined);
  const isChanged = last !== undefined && (outcome !== undefined || keyId !== null);
  const changed = isChanged
    ? [...rotation.mints.slice(0, -1), changeMint(last, { outcome, keyId, at })]
    : rotation.mints;
  const mints = event.event === 'mint_begun' ? [...rotation.mints, event.mint] : changed;
  return {
    rotation: { ...rotation, state: to, since: at, why, mints },
    effects: {
      mint: event.event === 'mint_begun' ? 'begun' : isChanged ? 'changed' : null,
      sinkPath: event.event === 'minted' ? (event.sinkPath ?? null) : null,
      incident: incidentAfter(rotation.state, move, event),
      givenUpBy: event.event === 'given_up' ? event.by : null,
    },
  };
}

/** Returns the mint after an event. If it is unclear whether a secret arrived, adoption is counted from now. */
function changeMint<Mint extends MintIntent>(
  mint: Mint,
  { outcome, keyId, at }: { outcome: Move['outcome']; keyId: string | null; at: string },
): Mint {
  const isDelivered = outcome === 'delivered' || outcome === 'unclear';
  return {
    ...mint,
    keyId: mint.keyId ?? keyId,
    outcome: outcome ?? mint.outcome,
    deliveredAt: mint.deliveredAt ?? (isDelivered ? at : null),
  };
}

function incidentAfter(from: RotationState, { to, isIncident }: Move, event: RotationEvent): Effects['incident'] {
  if (isIncident) return { opens: true };
  if (!isOver(to) && (from !== 'stalled' || to === 'adopted')) return null;
  return { opens: false, note: event.event === 'given_up' ? `given up by ${event.by}` : 'the rotation continued' };
}

/** Returns the transition to a state. */
export const moveTo = (to: RotationState, why: string | null = null, isIncident = false): Move => ({
  to,
  why,
  isIncident,
});

function toMove(event: RotationEvent): Move {
  switch (event.event) {
    case 'decided':
      return event.move;
    case 'mint_begun':
      return moveTo('minting');
    case 'minted':
      return moveTo('minted');
    case 'mint_refused':
      return moveTo(event.isFinal ? 'failed' : 'planned', event.why, event.isFinal);
    case 'delivery_ended':
      return deliveryMove(event.answer, event.why);
    case 'retirement_begun':
      return moveTo('retiring');
    case 'retirement_overdue':
      return moveTo('stalled', event.why, true);
    case 'retired':
      return moveTo('retired');
    case 'orphan_kept':
      return moveTo('failed', `its orphan stays: ${event.why}`);
    case 'given_up':
      return moveTo('failed', `given up by ${event.by}`);
    default:
      return event satisfies never;
  }
}

/**
 * Returns the transition that follows from a sink's answer. has: the successor is delivered. lacks: its secret is lost, and it is an orphan. unknown:
 * both keys stay until the sink answers, the successor is seen in use, or a person has looked.
 */
export function deliveryMove(answer: SinkAnswer, why: string | null = null): Move {
  const because = why === null ? '' : `: ${why}`;
  switch (answer) {
    case 'has':
      return { ...moveTo('delivered'), outcome: 'delivered' };
    case 'lacks':
      return { ...moveTo('orphaned', `its secret did not reach its sink${because}`), outcome: 'lost' };
    case 'unknown': {
      const reason = `it is unknown whether its sink has the secret of its successor${because}`;
      return { ...moveTo('stalled', reason, true), outcome: 'unclear' };
    }
    default:
      return answer satisfies never;
  }
}
