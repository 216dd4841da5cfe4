/** Transactions that overlap end in any order, and clocks are set right. */
const toleranceMs = 3_600_000;

/**
 * Returns a function that takes the times of recording of events, as RFC 3339, in the order of the ledger. It returns whether such a time contradicts that order:
 * it is more than an hour before an earlier event's, or more than an hour after `nowMs`. A time after `nowMs` is not compared with later ones.
 */
export function createTimeOrder(nowMs = Number.POSITIVE_INFINITY): (recorded: string | undefined) => boolean {
  let latestMs = Number.NEGATIVE_INFINITY;
  return (recorded) => {
    const ms = Date.parse(recorded ?? '');
    const isInOrder = ms >= latestMs - toleranceMs && ms <= nowMs + toleranceMs;
    // The latest time so far: many small steps back are a long one.
    if (ms > latestMs && ms <= nowMs + toleranceMs) latestMs = ms;
    return !isInOrder;
  };
}
