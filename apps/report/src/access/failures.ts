import { clientNetwork } from '@keywarden/core/values';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { countOne } from '../limits/limits.ts';

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
      const most = `This network has sent more than ${mostFailures} wrong tokens`;
      await countOne(limiter, clientNetwork(address), { title: 'Too many wrong tokens', most });
    },
  };
}

export type FailureLimit = ReturnType<typeof createFailureLimit>;
