import type { Budget } from './limits.ts';
import { type Slowdown, type Slowness, slowDown, slownessAt } from './slowdown.ts';

/**
 * Counts the requests of an account. Replicas that share one store share one budget, so each call must be one atomic step of the store. Times are
 * milliseconds since 1970, of one clock.
 */
export interface LimiterStore {
  /**
   * Counts one request against each budget if all have room, otherwise against none. Returns 0, or the ms after which to try again. `waiting` is the
   * number of requests that wait for the same permit, including this one.
   */
  take: (budgets: readonly Budget[], nowMs: number, waiting: number) => Promise<number> | number;
  /** Counts a request that was already sent. */
  add: (budgets: readonly Budget[], nowMs: number) => Promise<void> | void;
  /** Returns how many more requests fit into the windows that end now. */
  left: (budgets: readonly Budget[], nowMs: number) => Promise<number> | number;
  /** Records that the control plane answered 429 for the account of a budget. */
  limited: (account: Budget, nowMs: number, retryAfterMs: number) => Promise<void> | void;
  /** Returns how slow the account is after a 429, from what this process has already read. */
  slowness: (account: string, nowMs: number) => Slowness;
}

interface Count {
  /** The time of each request in the window, oldest first. */
  times: number[];
  /** The theoretical arrival time of the generic cell rate algorithm: when the next request is due at an even pace. */
  arrival: number;
}

/** Returns a store for the clients of one process. */
export function createMemoryStore(): LimiterStore {
  const counts = new Map<string, Count>();
  const slow = new Map<string, Slowdown>();
  const countOf = ({ key, windowMs, burst, intervalMs }: Budget, nowMs: number): Count => {
    const count = counts.get(key) ?? { times: [], arrival: 0 };
    counts.set(key, count);
    const first = count.times.findIndex((at) => at > nowMs - windowMs);
    count.times.splice(0, first === -1 ? count.times.length : first);
    if ((count.times.at(-1) ?? nowMs) > nowMs) {
      // The clock was set back: later times count as now.
      count.times = count.times.map((at) => Math.min(at, nowMs));
      count.arrival = Math.min(count.arrival, nowMs + burst * intervalMs);
    }
    return count;
  };
  const add = (budgets: readonly Budget[], nowMs: number) => {
    for (const budget of budgets) {
      const count = countOf(budget, nowMs);
      count.times.push(nowMs);
      count.arrival = Math.max(count.arrival, nowMs) + budget.intervalMs;
    }
  };
  return {
    add,
    left: (budgets, nowMs) => Math.min(...budgets.map((budget) => budget.max - countOf(budget, nowMs).times.length)),
    take(budgets, nowMs) {
      const delayMs = Math.max(...budgets.map((budget) => delayOf(budget, countOf(budget, nowMs), nowMs)));
      if (delayMs > 0) return delayMs;
      add(budgets, nowMs);
      return 0;
    },
    limited: ({ key }, nowMs, retryAfterMs) => void slow.set(key, slowDown(slow.get(key), nowMs, retryAfterMs)),
    slowness: (account, nowMs) => slownessAt(slow.get(account), nowMs),
  };
}

/** Absorbs rounding errors. */
const negligibleMs = 1e-6;

function delayOf({ max, windowMs, burst, intervalMs }: Budget, { times, arrival }: Count, nowMs: number): number {
  const oldest = times[times.length - max];
  const window = oldest === undefined ? 0 : oldest + windowMs - nowMs;
  const pace = Math.max(arrival, nowMs) - (burst - 1) * intervalMs - nowMs;
  const delayMs = Math.max(window, pace);
  return delayMs < negligibleMs ? 0 : delayMs;
}
