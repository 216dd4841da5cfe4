import { createMemoryStore, type LimiterStore } from './limiter-store.ts';
import { type Budget, budgetsOf } from './limits.ts';
import type { Time } from './wait.ts';

/** Holds requests back so that an account stays inside its share of the limits. */
export interface Limiter {
  /** Resolves when the request may be sent; rejects when the signal aborts first. Waiting routes alternate. */
  wait(route: string, signal?: AbortSignal): Promise<void>;
  /** Counts a request that was sent before its account was known. */
  record(route: string): Promise<void>;
  /**
   * Records a 429 from the control plane, which other clients of the account may have caused. All limiters that share the store wait for
   * `retryAfterMs`, at least a second. Their pace halves and recovers within five minutes.
   */
  limited(retryAfterMs: number): void;
  /** Returns how many requests are left of the account's share of a minute, or null if nothing is counted. */
  left(): Promise<number | null>;
}

export const noLimiter: Limiter = {
  wait: () => Promise.resolve(),
  record: () => Promise.resolve(),
  limited: () => undefined,
  left: () => Promise.resolve(null),
};

export interface LimiterOptions {
  /** The account that the limits belong to: base URL and account id. */
  account: string;
  /** The part of the limits to use, above 0 and at most 1. The console and other tools need the rest. */
  share: number;
  time: Time;
  /** The store that all limiters of an account share; by default the limiter has its own. */
  store?: LimiterStore | undefined;
}

/**
 * Returns a limiter that uses the generic cell rate algorithm and a log of each window. The log is needed because a burst plus the full rate would
 * exceed a sliding window. Routes alternate request by request, so that a long walk does not delay a revocation.
 */
export function createLimiter({ account, share, time, store = createMemoryStore() }: LimiterOptions): Limiter {
  if (!(share > 0 && share <= 1)) throw new RangeError(`share must be above 0 and at most 1, and ${share} is not`);
  // A minute of an account has the same budget for all routes.
  const [perMinute] = budgetsOf(account, '', share);
  const queues = new Map<string, PromiseWithResolvers<void>[]>();
  let isPumping = false;
  let wake = new AbortController();

  const budgets = (route: string): readonly Budget[] =>
    budgetsOf(account, route, share * store.slowness(account, time.now()).pace);

  /** Starts one waiter of each route that has room. Returns the ms until the next one may start. */
  const grantPermits = async (): Promise<number> => {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const route of Array.from(queues.keys())) {
      // Checked for each route: a 429 may have been recorded during the previous one.
      const { blockedMs } = store.slowness(account, time.now());
      if (blockedMs > 0) return blockedMs;
      const delayMs = await store.take(budgets(route), time.now(), queues.get(route)?.length ?? 1);
      if (delayMs > 0) {
        nextMs = Math.min(nextMs, delayMs);
        continue;
      }
      nextMs = 0;
      // Read after the await: the waiter may have left. Its permit is then unused, which cannot cause a 429.
      const queue = queues.get(route);
      queue?.shift()?.resolve();
      // The route that was just served moves to the end.
      queues.delete(route);
      if (queue !== undefined && queue.length > 0) queues.set(route, queue);
    }
    return nextMs;
  };

  const pump = async (): Promise<void> => {
    isPumping = true;
    try {
      while (queues.size > 0) {
        // Created before the permits are granted, so that a waiter that joins or leaves meanwhile ends the sleep.
        wake = new AbortController();
        const delayMs = await grantPermits();
        if (delayMs === 0) continue;
        await time.sleep(delayMs, wake.signal).catch(() => undefined); // woken: a waiter joined or left
      }
    } catch (error) {
      for (const waiter of [...queues.values()].flat()) waiter.reject(error);
      queues.clear();
    } finally {
      isPumping = false;
    }
  };

  return {
    async wait(route, signal) {
      signal?.throwIfAborted();
      const queue = queues.get(route) ?? [];
      const waiter = Promise.withResolvers<void>();
      const leave = () => {
        // It may have its permit already.
        if (!queue.includes(waiter)) return;
        queue.splice(queue.indexOf(waiter), 1);
        if (queue.length === 0 && queues.get(route) === queue) queues.delete(route);
        wake.abort();
        waiter.reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      queue.push(waiter);
      queues.set(route, queue);
      if (!isPumping) void pump();
      else if (queue.length === 1) wake.abort();
      await waiter.promise.finally(() => signal?.removeEventListener('abort', leave));
    },
    async left() {
      return Math.max(0, await store.left([perMinute], time.now()));
    },
    async record(route) {
      await store.add(budgets(route), time.now());
    },
    limited(retryAfterMs) {
      // This process applies the 429 at once. If the store cannot share it, each other replica gets a 429 of its own.
      void Promise.resolve(store.limited(perMinute, time.now(), retryAfterMs)).catch(() => undefined);
    },
  };
}
