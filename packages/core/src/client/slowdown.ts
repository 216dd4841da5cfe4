/**
 * The slowdown of an account after a 429; other clients may use the account too. Nothing is sent until `blockedUntil`, and then at a part of the pace
 * that gradually recovers. Times are ms of one clock.
 */
export interface Slowdown {
  /** Above 0 and at most 1, as of `blockedUntil`. */
  pace: number;
  blockedUntil: number;
}

/** The effect of a slowdown at a moment. */
export interface Slowness {
  /** How many ms nothing may be sent. */
  blockedMs: number;
  /** Above 0 and at most 1. */
  pace: number;
}

const recoveryMs = 300_000;
const minPace = 1 / 8;
const minBlockMs = 1000;
/** Longer than the maximum wait after a 429 (readRetryAfterMs). A later time was written before the clock was set back and is ignored. */
const impossibleMs = 310_000;

export function slownessAt(slow: Slowdown | undefined, nowMs: number): Slowness {
  if (slow === undefined || slow.blockedUntil > nowMs + impossibleMs) return { blockedMs: 0, pace: 1 };
  const overMs = nowMs - slow.blockedUntil;
  return { blockedMs: Math.max(0, -overMs), pace: Math.min(1, slow.pace + Math.max(0, overMs) / recoveryMs) };
}

/** Returns the slowdown after a 429. Of several 429s that come together, only the first halves the pace. */
export function slowDown(slow: Slowdown | undefined, nowMs: number, retryAfterMs: number): Slowdown {
  const { blockedMs, pace } = slownessAt(slow, nowMs);
  return {
    pace: blockedMs > 0 ? pace : Math.max(minPace, pace / 2),
    blockedUntil: nowMs + Math.max(blockedMs, retryAfterMs, minBlockMs),
  };
}

/** Returns the join of two slowdowns of one account, as strict as both. */
export function joined(one: Slowdown | undefined, other: Slowdown | undefined): Slowdown | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const blockedUntil = Math.max(one.blockedUntil, other.blockedUntil);
  return { pace: Math.min(slownessAt(one, blockedUntil).pace, slownessAt(other, blockedUntil).pace), blockedUntil };
}

/** Returns the same slowdown by a clock that is `byMs` ahead. */
export function shifted(slow: Slowdown | undefined, byMs: number): Slowdown | undefined {
  return slow === undefined ? undefined : { pace: slow.pace, blockedUntil: slow.blockedUntil + byMs };
}
