/** Transactions that overlap end in any order, and clocks are set right. */
const toleranceMs = 3_600_000;

/** Returns whether an event was recorded within an hour of the time that its row says. */
export const isRecordedAtItsTime = ({ at, recorded }: { at: string; recorded: string }): boolean =>
  Math.abs(Date.parse(recorded) - Date.parse(at)) <= toleranceMs;

/**
 * Returns a function that tells, of events in the order of the ledger, which was not recorded within an hour of the time of its row. Later events of a row keep
 * its time, so only the first of each kind counts.
 */
export function createLateness(): (event: { type: string; subject: string; at: string; recorded: string }) => boolean {
  const seen = new Set<string>();
  return ({ type, subject, ...times }) => {
    const name = `${type} ${subject}`;
    const isLater = seen.has(name);
    // A ledger has mostly seals, and each has one event.
    if (type !== 'archive.sealed') seen.add(name);
    return !isLater && !isRecordedAtItsTime(times);
  };
}

/** The times of recording of events, in the order of the ledger. */
export interface TimeOrder {
  /** Returns whether a time, RFC 3339, is more than an hour before that of an earlier event, or more than an hour after now. */
  contradicts: (recorded: string | undefined) => boolean;
  /** Returns the latest time so far, in ms; null before the first. */
  latestMs: () => number | null;
}

/**
 * Returns an order that begins after `latestMs`. A time after `nowMs` says nothing about later events: it is false, or the clock has been set back since.
 */
export function createTimeOrder({
  nowMs = Number.POSITIVE_INFINITY,
  latestMs = null,
}: {
  nowMs?: number;
  latestMs?: number | null | undefined;
} = {}): TimeOrder {
  let latest = latestMs === null || latestMs > nowMs ? Number.NEGATIVE_INFINITY : latestMs;
  return {
    contradicts: (recorded) => {
      const ms = Date.parse(recorded ?? '');
      const isInOrder = ms >= latest - toleranceMs && ms <= nowMs + toleranceMs;
      // The latest time so far: many small steps back are a long one.
      if (ms > latest && ms <= nowMs) latest = ms;
      return !isInOrder;
    },
    latestMs: () => (Number.isFinite(latest) ? latest : null),
  };
}
