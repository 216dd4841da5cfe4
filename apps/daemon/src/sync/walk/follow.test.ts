import { expect, test } from 'vitest';
import { planWalk } from './follow.ts';

const floor = '2026-05-01T00:00:00Z';
const at = (depth: number) => ({
  id: String(depth),
  createdAt: `2026-04-${String(30 - (depth % 29)).padStart(2, '0')}T00:00:00Z`,
  depth,
});
const plan = (recent: number, depths: number[]) => planWalk({ floor, recent, open: depths.map(at), maxLimit: 1000 });

test('with nothing open a walk is one page that reaches below the floor', () => {
  expect(plan(0, [])).toEqual({ floor, firstLimit: 100 });
  expect(plan(400, [])).toEqual({ floor, firstLimit: 520 });
  expect(plan(5000, [])).toEqual({ floor, firstLimit: 1000 });
});

test('A4: an open operation within the same page is reached by the walk, one far below is requested by its id', () => {
  expect(plan(50, [300])).toMatchObject({ floor: at(300).createdAt });
  expect(plan(50, [3000])).toEqual({ floor, firstLimit: 100 });
});

test('A4: many open operations far below justify a long walk, down to where it saves requests', () => {
  expect(
    plan(
      50,
      Array.from({ length: 9 }, (_, index) => 2500 + index),
    ).floor,
  ).toBe(at(2508).createdAt);
  expect(plan(50, [300, 50_000]).floor).toBe(at(300).createdAt);
});
