import { createMemoryStore, type LimiterStore } from './limiter-store.ts';
import { type Budget, budgetsOf } from './limits.ts';
import type { Time } from './time.ts';

/** Holds requests back so that an account stays inside its share of the limits. */
export interface Limiter {
  /** Resolves when the request may be sent; rejects when the signal aborts first. Routes that wait take turns. */
  wait(route: string, signal?: AbortSignal): Promise<void>;
  /** Counts a request that was sent before its account was known. */
  record(route: string): Promise<void>;
  /**
   * Hears that the control plane answered 429: others of the account use it too. All limiters that share the store wait for `retryAfterMs`, a
   * second at least, and their pace halves and comes back within five minutes.
   */
  limited(retryAfterMs: number): void;
  /** How many requests are left of the account's share of a minute; null where nothing is counted. */
  left(): Promise<number | null>;
}

export const noLimiter: Limiter = {
  wait: () => Promise.resolve(),
  record: () => Promise.resolve(),
  limited: () => undefined,
  left: () => Promise.resolve(null),
};

export interface LimiterOptions {
  /** Whose limits these are: base URL and account id. */
  account: string;
  /** The part of the limits to use, above 0 and at most 1. The console and other tools need the rest. */
  share: number;
  time: Time;
  /** Shared by all limiters of an account; one of its own when absent. */
  store?: LimiterStore;
}

interface Waiter {
  start(): void;
  stop(reason: unknown): void;
}

/**
 * A limiter by the generic cell rate algorithm, with a log of each window beside it: bursts and full rate together would overrun
 * a sliding window. One request of each route goes in turn, so that a long walk does not hold up a revocation.
 */
export function createLimiter({ account, share, time, store = createMemoryStore() }: LimiterOptions): Limiter {
  if (!(share > 0 && share <= 1)) throw new RangeError(`share must be above 0 and at most 1, and ${share} is not`);
  const queues = new Map<string, Waiter[]>();
  let isPumping = false;
  let wake = new AbortController();

  const budgets = (route: string): readonly Budget[] =>
    budgetsOf(account, route, share * store.slowness(account, time.now()).pace);

  /** Lets one waiter of each route go that may; answers with the ms until the next may. */
  const grantPermits = async (): Promise<number> => {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const route of Array.from(queues.keys())) {
      // For each: the turn of the one before may have brought word of a 429.
      const { blockedMs } = store.slowness(account, time.now());
      if (blockedMs > 0) return blockedMs;
      const delayMs = await store.take(budgets(route), time.now(), queues.get(route)?.length ?? 1);
      if (delayMs > 0) {
        nextMs = Math.min(nextMs, delayMs);
        continue;
      }
      nextMs = 0;
      // Looked up after the wait: who stood there may have gone, and then the turn is lost, which costs nobody a 429.
      const queue = queues.get(route);
      queue?.shift()?.start();
      // The route that had its turn stands last.
      queues.delete(route);
      if (queue !== undefined && queue.length > 0) queues.set(route, queue);
    }
    return nextMs;
  };

  const pump = async (): Promise<void> => {
    isPumping = true;
    try {
      while (queues.size > 0) {
        // Made before the turns: who comes or goes meanwhile must not be slept through.
        wake = new AbortController();
        const delayMs = await grantPermits();
        if (delayMs === 0 || queues.size === 0) continue;
        await time.sleep(delayMs, wake.signal).catch(() => undefined); // woken: somebody came or went
      }
    } catch (error) {
      for (const waiter of [...queues.values()].flat()) waiter.stop(error);
      queues.clear();
    } finally {
      isPumping = false;
    }
  };

  return {
    wait(route, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const queue = queues.get(route) ?? [];
        const leave = () => {
          queue.splice(queue.indexOf(waiter), 1);
          if (queue.length === 0 && queues.get(route) === queue) queues.delete(route);
          wake.abort();
          reject(signal?.reason);
        };
        const listenNoMore = () => signal?.removeEventListener('abort', leave);
        const waiter: Waiter = {
          start() {
            listenNoMore();
            resolve();
          },
          stop(reason) {
            listenNoMore();
            reject(reason);
          },
        };
        signal?.addEventListener('abort', leave, { once: true });
        queue.push(waiter);
        queues.set(route, queue);
        if (!isPumping) void pump();
        else if (queue.length === 1) wake.abort();
      });
    },
    async left() {
      const [perMinute] = budgetsOf(account, '', share);
      return Math.max(0, await store.left([perMinute], time.now()));
    },
    async record(route) {
      await store.add(budgets(route), time.now());
    },
    limited(retryAfterMs) {
      const [perMinute] = budgetsOf(account, '', share);
      // This process knows at once; if the others cannot be told they hear a 429 of their own.
      void Promise.resolve(store.limited(perMinute, time.now(), retryAfterMs)).catch(() => undefined);
    },
  };
}
