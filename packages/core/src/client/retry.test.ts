import { expect, test } from 'vitest';
import { type Failure, type Method, readRetryAfterMs, retryDelayMs } from './retry.ts';

/** Returns all delays of a failure that never ends, without jitter. */
function delays(failure: Failure, method: Method, retryAfterMs = 0): number[] {
  const found: number[] = [];
  for (let attempt = 1; attempt < 20; attempt += 1) {
    const delay = retryDelayMs(failure, { method, attempt, retryAfterMs, random: () => 1 });
    if (delay === undefined) return found;
    found.push(delay);
  }
  return found;
}

const lost: Failure = { status: null, wasSent: true };

test.each<[string, Failure, Method, number[]]>([
  ['423 on a read', { status: 423 }, 'GET', [100, 200, 400, 800]],
  ['423 on a write', { status: 423 }, 'POST', [100, 200, 400, 800]],
  ['429 on a write', { status: 429 }, 'POST', [500, 1000, 2000, 4000, 8000, 16_000, 32_000]],
  ['503 on a write', { status: 503 }, 'POST', [500, 1000, 2000, 4000, 8000, 16_000, 32_000]],
  ['500 on a read', { status: 500 }, 'GET', [200, 400, 800]],
  ['500 on a write', { status: 500 }, 'POST', []],
  ['a lost answer to a read', lost, 'GET', [200, 400, 800]],
  ['a lost answer to a write', lost, 'POST', []],
  ['an answer to a read that is whole and of another kind', { status: null, wasSent: true, isWhole: true }, 'GET', []],
  ['423 on a revocation', { status: 423 }, 'DELETE', []],
  ['429 on a revocation', { status: 429 }, 'DELETE', []],
  ['503 on a revocation', { status: 503 }, 'DELETE', []],
  ['401', { status: 401 }, 'GET', []],
  ['404', { status: 404 }, 'GET', []],
  ['a redirect', { status: 302 }, 'GET', []],
])('the retry table: %s', (_name, failure, method, expected) => {
  expect(delays(failure, method)).toEqual(expected);
});

test.each([
  [429, 250],
  [423, 100],
])('the shortest first delay after %i is %i ms', (status, shortestMs) => {
  const delayMs = retryDelayMs({ status }, { method: 'GET', attempt: 1, retryAfterMs: 0, random: () => 0 });
  expect(delayMs).toBe(shortestMs);
});

test('Retry-After is a floor, in seconds or as a date', () => {
  expect(delays({ status: 423 }, 'GET', 700)).toEqual([700, 700, 700, 800]);
  expect(readRetryAfterMs('3', 0)).toBe(3000);
  expect(readRetryAfterMs('3 ', 0)).toBe(3000);
  expect(readRetryAfterMs('Thu, 01 Jan 1970 00:00:10 GMT', 4000)).toBe(6000);
  expect(readRetryAfterMs('Thu, 01 Jan 1970 00:00:10 GMT', 12_000)).toBe(0);
  // Five minutes at most, as `slowdown.ts` expects.
  expect(['301', '9'.repeat(400)].map((header) => readRetryAfterMs(header, 0))).toEqual([300_000, 300_000]);
  expect(readRetryAfterMs('soon', 0)).toBe(0);
  expect(readRetryAfterMs('3s', 0)).toBe(0);
  expect(readRetryAfterMs(null, 0)).toBe(0);
});
