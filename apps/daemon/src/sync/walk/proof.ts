import { before, compareInstants, dayMs } from '@keywarden/core/values';
import type { Proof } from '@keywarden/db/daemon';
import type { WalkedPage } from './walk.ts';

/** Less than any six months: operations this young are certainly still served. */
export const servedMs = 180 * dayMs;

/**
 * Returns what a page proves, as times (A2). The newest times are not proved yet: rows may become visible late (A8). The list's end proves
 * everything that the control plane still serves (A9), from the project's creation. If the creation is too long ago, the proof starts at
 * the oldest row. It starts at the previous walk instead if nothing that this walk left out can have been pruned since.
 */
export function proofOf(
  {
    operations,
    beganAt,
    answeredAt,
    below,
    isEnd,
    provedFrom,
  }: Pick<WalkedPage, 'operations' | 'beganAt' | 'answeredAt' | 'below' | 'isEnd' | 'provedFrom'>,
  { createdAt, walkedAt, settleMs }: { createdAt: string; walkedAt: string | null; settleMs: number },
): Proof | null {
  const settled = before(beganAt, settleMs);
  const end = below === null || compareInstants(below, settled) > 0 ? settled : below;
  if (!isEnd) return { from: provedFrom, isFromIncluded: false, below: end };
  const servedFrom = before(answeredAt, servedMs);
  if (compareInstants(createdAt, servedFrom) >= 0) return { from: createdAt, isFromIncluded: true, below: end };
  const starts = operations.map((each) => each.createdAt);
  if (walkedAt !== null && compareInstants(before(walkedAt, settleMs), servedFrom) >= 0)
    starts.push(before(walkedAt, settleMs));
  const [from] = starts.toSorted(compareInstants);
  return from === undefined ? null : { from, isFromIncluded: true, below: end };
}
