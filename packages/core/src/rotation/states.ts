/**
 * Where a rotation stands. planned: nothing is done yet. minting: the intent to mint is committed. minted: the successor's id is known, its
 * secret in memory. delivered: its sink has it. overlapping: both keys live. adopted: the successor is used and the old key quiet. retiring:
 * the old key is being revoked. retired: it is gone. orphaned: the successor's secret is lost. stalled: the successor is not adopted in time,
 * or nobody can tell whether its sink has it. failed: it is over, and the old key stays.
 */
export type RotationState =
  | 'planned'
  | 'minting'
  | 'minted'
  | 'delivered'
  | 'overlapping'
  | 'adopted'
  | 'retiring'
  | 'retired'
  | 'failed'
  | 'orphaned'
  | 'stalled';

/** The states that each state may be followed by. */
export const followers: Record<RotationState, readonly RotationState[]> = {
  planned: ['minting', 'failed'],
  minting: ['minted', 'planned', 'orphaned', 'failed'],
  minted: ['delivered', 'orphaned', 'stalled'],
  delivered: ['overlapping', 'stalled', 'retired', 'failed'],
  overlapping: ['adopted', 'stalled', 'retired', 'failed'],
  stalled: ['delivered', 'orphaned', 'adopted', 'retired', 'failed'],
  adopted: ['retiring', 'overlapping', 'stalled', 'retired', 'failed'],
  retiring: ['retired', 'adopted'],
  orphaned: ['planned', 'failed'],
  retired: [],
  failed: [],
};

/** Whether a rotation may go from one state to another. Any that is open may be given up by a person, unless its old key is being revoked. */
export function mayFollow(from: RotationState, to: RotationState): boolean {
  return followers[from].includes(to) || (to === 'failed' && !isOver(from) && from !== 'retiring');
}

export function isOver(state: RotationState): boolean {
  return followers[state].length === 0;
}
