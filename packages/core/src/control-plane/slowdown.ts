/**
 * What a 429 brought upon an account that others use, too: nothing is sent until a time, and then at a part of the pace that comes back by and by.
 * Times are ms of one clock.
 */
export interface Slowdown {
  /** Above 0 and at most 1, as of `at`. */
  pace: number;
  at: number;
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
/** The longest that a 429 is heeded for (readRetryAfterMs): what says more was written before the clock was set back. */
const maxBlockMs = 300_000;

export function slownessAt(slow: Slowdown | undefined, nowMs: number): Slowness {
  if (slow === undefined) return { blockedMs: 0, pace: 1 };
  const at = Math.min(slow.at, nowMs + maxBlockMs);
  return {
    blockedMs: Math.min(maxBlockMs, Math.max(0, slow.blockedUntil - nowMs)),
    pace: Math.min(1, slow.pace + Math.max(0, nowMs - at) / recoveryMs),
  };
}

/** A 429 that was answered: of several that come together only the first halves the pace. */
export function slowDown(slow: Slowdown | undefined, nowMs: number, retryAfterMs: number): Slowdown {
  const { blockedMs, pace } = slownessAt(slow, nowMs);
  const blockedUntil = nowMs + Math.max(blockedMs, retryAfterMs, minBlockMs);
  const isNew = slow === undefined || blockedMs === 0;
  return { pace: isNew ? Math.max(minPace, pace / 2) : slow.pace, at: blockedUntil, blockedUntil };
}
