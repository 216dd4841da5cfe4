import { expect, test } from 'vitest';
import { type Failure, readRetryAfterMs, retryDelayMs } from './retry.ts';

/** All delays of a failure that never ends, with no jitter taken off. */
function delays(failure: Failure, isWrite: boolean, retryAfterMs = 0): number[] {
  const found: number[] = [];
  for (let attempt = 1; attempt < 20; attempt += 1) {
    const delay = retryDelayMs(failure, { isWrite, attempt, retryAfterMs, random: () => 1 });
    if (delay === undefined) return found;
    found.push(delay);
  }
  return found;
}

const lost: Failure = { status: null, wasSent: true };

test.each<[string, Failure, boolean, number[]]>([
  ['423 on a read', { status: 423 }, false, [100, 200, 400, 800]],
  ['423 on a write', { status: 423 }, true, [100, 200, 400, 800]],
  ['429 on a write', { status: 429 }, true, [500, 1000, 2000, 4000, 8000, 16_000, 32_000]],
  ['503 on a write', { status: 503 }, true, [500, 1000, 2000, 4000, 8000, 16_000, 32_000]],
  ['500 on a read', { status: 500 }, false, [200, 400, 800]],
  ['500 on a write', { status: 500 }, true, []],
  ['a lost answer to a read', lost, false, [200, 400, 800]],
  ['a lost answer to a write', lost, true, []],
  ['401', { status: 401 }, false, []],
  ['404', { status: 404 }, false, []],
  ['a redirect', { status: 302 }, false, []],
])('the retry table: %s', (_name, failure, isWrite, expected) => {
  expect(delays(failure, isWrite)).toEqual(expected);
});

test('Retry-After is a floor, in seconds or as a date', () => {
  expect(delays({ status: 423 }, false, 700)).toEqual([700, 700, 700, 800]);
  expect(readRetryAfterMs('3', 0)).toBe(3000);
  expect(readRetryAfterMs('Thu, 01 Jan 1970 00:00:10 GMT', 4000)).toBe(6000);
  expect(readRetryAfterMs('soon', 0)).toBe(0);
  expect(readRetryAfterMs(null, 0)).toBe(0);
});
