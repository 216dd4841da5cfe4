/**
 * The state of a rotation.
 * planned: nothing is done yet.
 * minting: the intent to mint is committed.
 * minted: the successor's id is known, its secret is in memory.
 * delivered: its sink has the secret.
 * overlapping: both keys live.
 * adopted: the successor is used and the old key is quiet.
 * retiring: the old key is being revoked.
 * retired: the old key is gone.
 * orphaned: the successor's secret is lost.
 * stalled: the successor is not adopted in time, or it is unknown whether its sink has it.
 * failed: the rotation is over, and the old key stays.
 */
export type RotationState = (typeof rotationStates)[number];

export const rotationStates = [
  'planned',
  'minting',
  'minted',
  'delivered',
  'overlapping',
  'adopted',
  'retiring',
  'retired',
  'failed',
  'orphaned',
  'stalled',
] as const;

/** The state of a rotation that opens. */
export const firstState = 'planned' satisfies RotationState;

/** The states that may follow each state. */
export const followers: Record<RotationState, readonly RotationState[]> = {
  planned: ['minting', 'failed'],
  minting: ['minted', 'planned', 'orphaned', 'failed'],
  minted: ['delivered', 'orphaned', 'stalled'],
  delivered: ['overlapping', 'stalled', 'retired', 'failed'],
  overlapping: ['adopted', 'stalled', 'retired', 'failed'],
  stalled: ['delivered', 'orphaned', 'adopted', 'retired', 'failed'],
  adopted: ['retiring', 'overlapping', 'stalled', 'retired', 'failed'],
  retiring: ['retired', 'adopted', 'stalled'],
  orphaned: ['planned', 'failed'],
  retired: [],
  failed: [],
};

/** Returns whether a rotation may go from one state to another. A person may give up any open rotation, unless its old key is being revoked. */
export function mayFollow(from: RotationState, to: RotationState): boolean {
  return followers[from].includes(to) || (to === 'failed' && !isOver(from) && from !== 'retiring');
}

export function isOver(state: RotationState): boolean {
  return followers[state].length === 0;
}
