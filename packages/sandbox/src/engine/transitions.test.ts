import { expect, test } from 'vitest';
import { createRandom } from '../store/random.ts';
import { drawFate, type Fate, nextStatus, type Status } from './transitions.ts';

const fates: Fate[] = ['finish', 'retry', 'error', 'cancel', 'skip'];

function course(fate: Fate): Status[] {
  const statuses: Status[] = ['scheduling'];
  for (let failures = 0; ; ) {
    const next = nextStatus(statuses.at(-1) ?? 'scheduling', fate, failures);
    if (next === null) return statuses;
    if (next === 'failed') failures += 1;
    statuses.push(next);
  }
}

test('each fate is one legal course, and together they show every status that there is', () => {
  expect(fates.map(course)).toEqual([
    ['scheduling', 'running', 'finished'],
    ['scheduling', 'running', 'failed', 'running', 'finished'],
    ['scheduling', 'running', 'error'],
    ['scheduling', 'running', 'cancelling', 'cancelled'],
    ['scheduling', 'skipped'],
  ]);
  expect(new Set(fates.flatMap(course)).size).toBe(8);
});

test('trouble is the share of operations that do not go straight to their end, and every kind of it is reached', () => {
  const random = createRandom(5);
  const drawn = Array.from({ length: 2000 }, () => drawFate(random, 0.5));
  expect(new Set(drawn)).toEqual(new Set(fates));
  const straight = drawn.filter((fate) => fate === 'finish').length;
  expect(straight).toBeGreaterThan(900);
  expect(straight).toBeLessThan(1100);
  expect(drawFate(random, 0)).toBe('finish');
});
