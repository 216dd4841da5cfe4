import type { Time } from './time.ts';

/** The documented limits of an account, in requests. */
const perMinute = 700;
const perSecondPerRoute = 40;
const keyCreationPerSecond = 10;
/** Requests that may come at once. The rate is lowered by as much, so that no window of a minute holds more than the limit. */
const burst = 20;

/** Holds requests back so that an account stays inside its share of the limits. */
export interface Limiter {
  /** Resolves when the request may be sent; rejects when the signal aborts first. */
  wait(route: string, signal?: AbortSignal): Promise<void>;
}

export const noLimiter: Limiter = { wait: () => Promise.resolve() };

/** A limiter by the generic cell rate algorithm: one theoretical arrival time for the account, one a route. */
export function createLimiter({ share, time }: { share: number; time: Time }): Limiter {
  const arrivals = new Map<string, number>();
  const account = { intervalMs: 60_000 / ((perMinute - burst) * share), burst: Math.max(1, Math.floor(burst * share)) };
  const take = (name: string, { intervalMs, burst: size }: { intervalMs: number; burst: number }): number => {
    const now = time.now();
    const arrival = Math.max(arrivals.get(name) ?? 0, now);
    arrivals.set(name, arrival + intervalMs);
    return Math.max(0, arrival - (size - 1) * intervalMs - now);
  };
  return {
    async wait(route, signal) {
      const perSecond = route === 'POST /organizations/{org_id}/api_keys' ? keyCreationPerSecond : perSecondPerRoute;
      const delayMs = Math.max(take('', account), take(route, { intervalMs: 1000 / (perSecond * share), burst: 1 }));
      if (delayMs > 0) await time.sleep(delayMs, signal);
    },
  };
}
