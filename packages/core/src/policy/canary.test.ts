import { expect, test } from 'vitest';
import { canaryStep } from './canary.ts';

const day = { nowMs: 86_400_000, waitMs: 86_400_000 };

test('R6: the first key of a group goes, and the others follow once its action was done for canary_wait', () => {
  expect(canaryStep(undefined, day)).toBe('first');
  expect(canaryStep({ atMs: null }, day)).toBe('wait');
  expect(canaryStep({ atMs: 1 }, day)).toBe('wait');
  expect(canaryStep({ atMs: 0 }, day)).toBe('follow');
});

test('R6: while the time is unknown, no key follows a canary', () => {
  expect(canaryStep({ atMs: 0 }, { ...day, nowMs: Number.NaN })).toBe('wait');
});
