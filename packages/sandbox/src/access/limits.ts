import { z } from 'zod';
import { MINUTE, type Micros, SECOND } from '../store/time.ts';

const limit = z.int().positive().nullable();

export const limitsSchema = z.strictObject({
  per_minute: limit.default(700),
  per_second_per_route: limit.default(40),
  org_key_creation_per_second: limit.default(10),
});
export type Limits = z.infer<typeof limitsSchema>;

export const documentedLimits: Limits = limitsSchema.parse({});
export const noLimits: Limits = { per_minute: null, per_second_per_route: null, org_key_creation_per_second: null };

const mintRoute = 'POST /organizations/{org_id}/api_keys';

/** Counts an account's requests in fixed windows of the sandbox's clock; `allow` is false where the answer is 429. */
export function createLimitCounter(): { allow(limits: Limits, account: string, route: string, now: Micros): boolean } {
  const windows = new Map<string, { window: number; count: number }>();
  const take = (name: string, window: number, max: number | null): boolean => {
    if (max === null) return true;
    const entry = windows.get(name);
    if (entry?.window !== window) {
      windows.set(name, { window, count: 1 });
      return true;
    }
    entry.count += 1;
    return entry.count <= max;
  };
  return {
    allow(limits, account, route, now) {
      const perSecond = route === mintRoute ? limits.org_key_creation_per_second : limits.per_second_per_route;
      const inMinute = take(account, Math.floor(now / MINUTE), limits.per_minute);
      const inSecond = take(`${account} ${route}`, Math.floor(now / SECOND), perSecond);
      return inMinute && inSecond;
    },
  };
}
