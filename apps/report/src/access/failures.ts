import { RateLimiterMemory } from 'rate-limiter-flexible';
import { Problem } from '../problem.ts';

/** The most wrong tokens per address and minute. After that the address is blocked for a minute. */
export const mostFailures = 10;

/** Creates a counter of wrong tokens per address, in this process. */
export function createFailureLimit() {
  const limiter = new RateLimiterMemory({ points: mostFailures, duration: 60, blockDuration: 60 });
  return {
    /** Throws a Problem (429) while the address is blocked. Even a valid token is not checked then. */
    async check(address: string): Promise<void> {
      const counted = await limiter.get(address);
      if (counted === null || counted.consumedPoints < mostFailures) return;
      const seconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
      throw new Problem(
        429,
        'Too many wrong tokens',
        `This address has sent ${mostFailures} wrong tokens; wait ${seconds} s.`,
        {
          'retry-after': String(seconds),
        },
      );
    },
    async count(address: string): Promise<void> {
      // It rejects once the count is over the limit; the next check reports that.
      await limiter.consume(address).catch(() => undefined);
    },
  };
}

export type FailureLimit = ReturnType<typeof createFailureLimit>;
