import { expect, test } from 'vitest';
import { createRandom } from '../store/random.ts';
import { drawOutcome, nextStatus, type Outcome, type Status } from './transitions.ts';

const outcomes: Outcome[] = ['finish', 'retry', 'error', 'cancel', 'skip'];

function course(outcome: Outcome): Status[] {
  const statuses: Status[] = ['scheduling'];
  for (let failures = 0; ; ) {
    const next = nextStatus(statuses.at(-1) ?? 'scheduling', outcome, failures);
    if (next === null) return statuses;
    if (next === 'failed') failures += 1;
    statuses.push(next);
  }
}

test('each outcome is one legal course, and together they reach every status', () => {
  expect(outcomes.map(course)).toEqual([
    ['scheduling', 'running', 'finished'],
    ['scheduling', 'running', 'failed', 'running', 'finished'],
    ['scheduling', 'running', 'error'],
    ['scheduling', 'running', 'cancelling', 'cancelled'],
    ['scheduling', 'skipped'],
  ]);
  expect(new Set(outcomes.flatMap(course)).size).toBe(8);
});

test('trouble is the share of operations that do not finish directly, and every kind of trouble occurs', () => {
  const random = createRandom(5);
  const drawn = Array.from({ length: 2000 }, () => drawOutcome(random, 0.5));
  expect(new Set(drawn)).toEqual(new Set(outcomes));
  const straight = drawn.filter((outcome) => outcome === 'finish').length;
  expect(straight).toBeGreaterThan(900);
  expect(straight).toBeLessThan(1100);
  expect(drawOutcome(random, 0)).toBe('finish');
});
