import { clientNetwork } from '@keywarden/core/values';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from '../problem.ts';

/** The most wrong tokens of one network (an IPv4 address, or 64 bits of an IPv6 address) per minute. */
export const mostFailures = 10;

/**
 * Creates a counter of wrong tokens per network, in this process. A valid token is never counted or refused: other clients may share its network,
 * for example behind a proxy that REPORT_PROXY does not name.
 */
export function createFailureLimit() {
  const limiter = new RateLimiterMemory({ points: mostFailures, duration: 60, blockDuration: 60 });
  return {
    /** Counts a wrong token. Throws a Problem (429) if the network has sent too many. */
    async count(address: string): Promise<void> {
      try {
        await limiter.consume(clientNetwork(address));
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        const seconds = String(Math.max(1, Math.ceil(error.msBeforeNext / 1000)));
        const detail = `This network has sent more than ${mostFailures} wrong tokens within a minute; wait ${seconds} s.`;
        throw new Problem(429, 'Too many wrong tokens', detail, { 'retry-after': seconds });
      }
    },
  };
}

export type FailureLimit = ReturnType<typeof createFailureLimit>;
