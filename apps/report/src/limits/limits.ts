import { AsyncLocalStorage } from 'node:async_hooks';
import { clientNetwork } from '@keywarden/core/values';
import { isCluster, type Reader, readOver } from '@keywarden/db/report';
import type { Sql } from '@keywarden/db/store';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { pathOf } from '../parameters.ts';
import { Problem } from '../problem.ts';
import { createGate } from './gate.ts';

/** Figures over any time, searches by text, and pages that are made of many queries. */
const heavyPaths = /^\/(v1\/(operations\/buckets|coverage|evidence)|coverage|evidence|$)/;
const heavyParameters = ['as_of', 'q'];

/** How long a request waits for others, in ms, before it is refused. */
const waitMs = { light: 5000, heavy: 10_000 };
/** A report whose requests wait longer than this is not ready, in ms. */
const overloadedMs = 2000;

export type Limits = ReturnType<typeof createLimits>;

/** Creates the limits of requests. Light ones share `light`, and those that may read much `heavy`, so that they delay no light one. */
export function createLimits(requestsPerMinute: number, { light, heavy }: { light: Sql; heavy: Sql }) {
  const gates = {
    light: createGate({ most: 32, mostOfOne: 8, mostWaiting: 200, waitMs: waitMs.light }),
    heavy: createGate({ most: 4, mostOfOne: 2, mostWaiting: 100, waitMs: waitMs.heavy }),
  };
  const rate = new RateLimiterMemory({ points: requestsPerMinute, duration: 60 });
  const scope = new AsyncLocalStorage<Reader>();
  const unlimited = readOver(light);
  // Each read takes the reader of its request.
  const reader: Reader = {
    get select() {
      return (scope.getStore() ?? unlimited).select;
    },
    get selectDistinct() {
      return (scope.getStore() ?? unlimited).selectDistinct;
    },
    execute: (statement) => (scope.getStore() ?? unlimited).execute(statement),
    isCluster: async () => await isCluster(light),
  };
  return {
    /** Reads for the current request: over the pool of its class, and canceled when the client goes. */
    reader,
    /** Reads of work that several requests share: as a heavy request, and not canceled when one of their clients goes. */
    sharedReader: readOver(heavy),
    /** Runs the work of a request of a token. Throws a Problem (429) over the token's rate, or (503) if the report is busy. */
    async run<T>(request: Request, token: string, work: () => Promise<T>): Promise<T> {
      const most = `This token has sent more than ${requestsPerMinute} requests`;
      await countOne(rate, token, { title: 'Too many requests', most });
      const kind = classOf(request.url);
      const leave = await gates[kind].enter(token, request.signal);
      try {
        return await scope.run(kind === 'light' ? unlimited : readOver(heavy, request.signal), work);
      } finally {
        leave();
      }
    },
    /** Returns why the report takes no more requests; null if it does. */
    whyOverloaded: () =>
      gates.light.oldestMs() > overloadedMs ? 'requests wait longer than they should: the report is overloaded' : null,
  };
}

/** Returns the class of a request by its address. */
export function classOf(url: string): 'light' | 'heavy' {
  const { searchParams } = new URL(url);
  return heavyPaths.test(pathOf(url)) || heavyParameters.some((name) => searchParams.has(name)) ? 'heavy' : 'light';
}

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

/** Counts one of a client. `most` says what it has sent too many of, with their number. Throws a Problem (429) for more within a minute. */
async function countOne(
  rate: RateLimiterMemory,
  client: string,
  { title, most }: { title: string; most: string },
): Promise<void> {
  try {
    await rate.consume(client);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    const seconds = String(Math.max(1, Math.ceil(error.msBeforeNext / 1000)));
    throw new Problem(429, title, `${most} within a minute; wait ${seconds} s.`, { 'retry-after': seconds });
  }
}
