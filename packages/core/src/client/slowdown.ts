/**
 * What a 429 brought upon an account that others use, too: nothing is sent until a time, and then at a part of the pace that comes back by and by.
 * Times are ms of one clock.
 */
export interface Slowdown {
  /** Above 0 and at most 1, as of `blockedUntil`. */
  pace: number;
  blockedUntil: number;
}

/** What a slowdown comes to at a moment. */
export interface Slowness {
  /** Ms in which nothing is sent. */
  blockedMs: number;
  /** Above 0 and at most 1. */
  pace: number;
}

const recoveryMs = 300_000;
const minPace = 1 / 8;
const minBlockMs = 1000;
/** Longer than any 429 is heeded for (readRetryAfterMs): what says more was written before the clock was set back, and counts for nothing. */
const impossibleMs = 310_000;

export function slownessAt(slow: Slowdown | undefined, nowMs: number): Slowness {
  if (slow === undefined || slow.blockedUntil > nowMs + impossibleMs) return { blockedMs: 0, pace: 1 };
  const overMs = nowMs - slow.blockedUntil;
  return { blockedMs: Math.max(0, -overMs), pace: Math.min(1, slow.pace + Math.max(0, overMs) / recoveryMs) };
}

/** A 429 that was answered: of several that come together only the first halves the pace. */
export function slowDown(slow: Slowdown | undefined, nowMs: number, retryAfterMs: number): Slowdown {
  const { blockedMs, pace } = slownessAt(slow, nowMs);
  return {
    pace: blockedMs > 0 ? pace : Math.max(minPace, pace / 2),
    blockedUntil: nowMs + Math.max(blockedMs, retryAfterMs, minBlockMs),
  };
}

/** What two know of one account, taken together. */
export function joined(one: Slowdown | undefined, other: Slowdown | undefined): Slowdown | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const blockedUntil = Math.max(one.blockedUntil, other.blockedUntil);
  return { pace: Math.min(slownessAt(one, blockedUntil).pace, slownessAt(other, blockedUntil).pace), blockedUntil };
}

/** The same by a clock that is so many ms ahead. */
export function shifted(slow: Slowdown | undefined, byMs: number): Slowdown | undefined {
  return slow === undefined ? undefined : { pace: slow.pace, blockedUntil: slow.blockedUntil + byMs };
}
