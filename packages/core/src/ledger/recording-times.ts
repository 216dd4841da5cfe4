import { before, compareInstants } from '../values/index.ts';

/** Transactions that overlap end in any order, and clocks are set right. */
export const toleranceMs = 3_600_000;

/** What an event says of itself, without its content. */
export interface TimedEvent {
  type: string;
  subject: string;
  /** When the event happened, as its row says. */
  at: string;
  /** When the database recorded it, by its own clock. */
  recorded: string;
}

/** Returns whether an event was recorded within an hour of the time that its row says. */
export const isRecordedAtItsTime = ({ at, recorded }: Pick<TimedEvent, 'at' | 'recorded'>): boolean =>
  isWithinTolerance(at, recorded) && isWithinTolerance(recorded, at);

/** Returns whether a time is at most an hour after another one. Both may have microseconds. */
const isWithinTolerance = (at: string, other: string) => {
  const digits = /\.\d{3}(\d*)/.exec(at)?.[1] ?? '';
  return compareInstants(before(at, toleranceMs).replace('Z', `${digits}Z`), other) <= 0;
};

/**
 * Returns a function that tells, of events in the order of the ledger, which was not recorded within an hour of the time of its row. A later event of a row with
 * the same time changed something else.
 */
export function createLateness(): (event: TimedEvent) => boolean {
  const times = new Map<string, string>();
  return (event) => {
    const name = `${event.type} ${event.subject}`;
    const isOfSameTime = times.get(name) === event.at;
    // A ledger has mostly seals, and each has one event.
    if (event.type !== 'archive.sealed') times.set(name, event.at);
    return !isOfSameTime && !isRecordedAtItsTime(event);
  };
}

/** The times of recording of events, in the order of the ledger. */
export interface TimeOrder {
  /** Returns whether a time, RFC 3339, is more than an hour before that of an earlier event, or more than an hour after now. */
  contradicts: (recorded: string | undefined) => boolean;
  /** Returns the latest time so far, in ms; null before the first. */
  latestMs: () => number | null;
}

/** Returns an order that begins after `latestMs`. A time after `nowMs` says nothing about later events: it is false, or the clock has been set back since. */
export function createTimeOrder({ nowMs, latestMs = null }: { nowMs: number; latestMs?: number | null }): TimeOrder {
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
