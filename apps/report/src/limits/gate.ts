import { clientGone, Problem } from '../problem.ts';

/** How many requests of a kind run at once, and how long others wait. */
export interface GateOptions {
  most: number;
  /** The most of one token. */
  mostOfOne: number;
  /** The most that wait. */
  mostWaiting: number;
  /** How long one waits, in ms. */
  waitMs: number;
}

interface Waiter {
  token: string;
  since: number;
  enter: () => void;
  leave: (error: Error) => void;
}

/** Creates a gate. Waiters enter in their order, but past those whose token already runs as many as it may. */
export function createGate(options: GateOptions, now: () => number = performance.now.bind(performance)) {
  const { most, mostOfOne, mostWaiting, waitMs } = options;
  const running = new Map<string, number>();
  const waiting = new Set<Waiter>();
  let all = 0;
  const mayRun = (token: string) => all < most && (running.get(token) ?? 0) < mostOfOne;
  const begin = (token: string) => {
    all += 1;
    running.set(token, (running.get(token) ?? 0) + 1);
    return () => {
      all -= 1;
      const left = (running.get(token) ?? 1) - 1;
      if (left === 0) running.delete(token);
      else running.set(token, left);
      for (const next of waiting) if (mayRun(next.token)) next.enter();
    };
  };
  return {
    /**
     * Resolves once the request may run, with the function that ends it. Throws a Problem (503) for a request that waited too long or finds too
     * many waiting, and one (499) if the client goes.
     */
    async enter(token: string, signal: AbortSignal): Promise<() => void> {
      if (signal.aborted) throw clientGone();
      if (mayRun(token)) return begin(token);
      if (waiting.size >= mostWaiting) throw busy();
      const entered = Promise.withResolvers<() => void>();
      const forget = () => {
        waiting.delete(waiter);
        clearTimeout(timer);
      };
      const waiter: Waiter = {
        token,
        since: now(),
        enter: () => {
          forget();
          entered.resolve(begin(token));
        },
        leave: (error) => {
          forget();
          entered.reject(error);
        },
      };
      const timer = setTimeout(() => waiter.leave(busy()), waitMs);
      timer.unref();
      // For one that has entered, this does nothing.
      signal.addEventListener('abort', () => waiter.leave(clientGone()));
      waiting.add(waiter);
      return await entered.promise;
    },
    /** Returns how long the oldest waiter of a token that is under its own limit has waited, in ms. */
    oldestMs(): number {
      for (const { token, since } of waiting) if ((running.get(token) ?? 0) < mostOfOne) return now() - since;
      return 0;
    },
  };
}

function busy(): Problem {
  return new Problem(503, 'Busy', 'Too many requests are running; try again in a few seconds.', { 'retry-after': '5' });
}
