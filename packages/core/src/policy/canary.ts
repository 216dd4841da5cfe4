/** The key of a group that an automatic action takes first. `atMs` is when its action was done, in ms; null until then. */
export interface Canary {
  atMs: number | null;
}

/**
 * R6: returns what an automatic action may do with a key of a group. first: the group has no canary, and this key may become it. wait: the canary's
 * action is not done, or not yet for `waitMs`. follow: the canary's action was done for that long. An unknown time (`nowMs` is NaN) waits.
 */
export function canaryStep(
  canary: Canary | undefined,
  { nowMs, waitMs }: { nowMs: number; waitMs: number },
): 'first' | 'wait' | 'follow' {
  if (canary === undefined) return 'first';
  return canary.atMs !== null && nowMs - canary.atMs >= waitMs ? 'follow' : 'wait';
}
