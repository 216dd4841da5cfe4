import { z } from 'zod';
import { MINUTE, type Micros, SECOND } from '../store/time.ts';

const limit = z.int().positive().nullable();

export const limitsSchema = z.strictObject({
  per_minute: limit.default(700),
  per_second_per_route: limit.default(40),
  org_key_creation_per_second: limit.default(10),
  /** How requests are counted: in windows that begin on the minute and the second, or over the past minute and the past second. */
  windows: z.enum(['fixed', 'sliding']).default('fixed'),
});
export type Limits = z.infer<typeof limitsSchema>;

export const documentedLimits: Limits = limitsSchema.parse({});
export const noLimits: Limits = limitsSchema.parse({
  per_minute: null,
  per_second_per_route: null,
  org_key_creation_per_second: null,
});

export function areOff(limits: Limits): boolean {
  const { per_minute: minute, per_second_per_route: route, org_key_creation_per_second: mint } = limits;
  return minute === null && route === null && mint === null;
}

const mintRoute = 'POST /organizations/{org_id}/api_keys';

/** Returns a counter of an account's requests by the sandbox's clock. It returns false if the response is 429. Refused requests count too. */
export function createLimitCounter() {
  const seen = new Map<string, Micros[]>();
  const take = (name: string, { max, since, now }: { max: number | null; since: Micros; now: Micros }): boolean => {
    if (max === null) return true;
    // Counts above `max` need not be distinguished: the newest requests decide about the next one.
    const recent = [...(seen.get(name) ?? []), now].filter((at) => at > since).slice(-max - 1);
    seen.set(name, recent);
    return recent.length <= max;
  };
  return (limits: Limits, account: string, route: string, now: Micros): boolean => {
    const start = (length: Micros) => (limits.windows === 'fixed' ? now - (now % length) - 1 : now - length);
    const perSecond = route === mintRoute ? limits.org_key_creation_per_second : limits.per_second_per_route;
    const inMinute = take(account, { max: limits.per_minute, since: start(MINUTE), now });
    const inSecond = take(`${account} ${route}`, { max: perSecond, since: start(SECOND), now });
    return inMinute && inSecond;
  };
}
