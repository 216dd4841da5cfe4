import { RateLimiterMemory } from 'rate-limiter-flexible';
import { Problem } from '../problem.ts';

/** Wrong tokens that an address may show in a minute; then it waits one. */
export const mostFailures = 10;

/** Counts wrong tokens by address, in this process. */
export function createFailureLimit() {
  const limiter = new RateLimiterMemory({ points: mostFailures, duration: 60, blockDuration: 60 });
  return {
    /** Throws a Problem (429) while the address has shown too many: not even a good token is looked at then. */
    async check(address: string): Promise<void> {
      const counted = await limiter.get(address);
      if (counted === null || counted.consumedPoints < mostFailures) return;
      const seconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
      throw new Problem(
        429,
        'Too many wrong tokens',
        `This address has shown ${mostFailures} wrong tokens; wait ${seconds} s.`,
        {
          'retry-after': String(seconds),
        },
      );
    },
    async count(address: string): Promise<void> {
      // It rejects where the count is over the limit, which the next check tells.
      await limiter.consume(address).catch(() => undefined);
    },
  };
}

export type FailureLimit = ReturnType<typeof createFailureLimit>;
