import type { WireOperation } from '@keywarden/core/wire';
import { expect, test } from 'vitest';
import { rowOf, withoutImpossible } from './page-checks.ts';

const unreadable = (index: number) => ({ index, id: null, why: 'odd', record: null });

test('the row of an item counts the unreadable rows above it', () => {
  const rejected = [0, 3, 4].map(unreadable);
  expect([0, 1, 2, 3].map((item) => rowOf({ rejected }, item))).toEqual([1, 2, 5, 6]);
});

test('A2: rows of impossible times are kept apart in their places among the unreadable rows', () => {
  const times = { a: '2026-01-01T00:00:02Z', b: '1999-01-01T00:00:00Z', c: '2026-01-01T00:00:01Z' };
  // Only a row's id and time matter here.
  const items = Object.entries(times).map(([id, createdAt]) => ({ id, createdAt }) as WireOperation);
  const page = {
    items,
    rejected: [1, 3].map(unreadable),
    rows: 5,
    repeated: 0,
    passedOver: [],
    cursor: null,
    requestCursor: undefined,
    dateMs: null,
    ageMs: 0,
  };
  const answered = { answeredAt: '2026-01-01T00:00:03Z', projectCreatedAt: '2025-12-01T00:00:00Z' };
  const { items: possible, rejected } = withoutImpossible(page, answered);
  expect(possible.map(({ id }) => id)).toEqual(['a', 'c']);
  expect(rejected.map(({ index, id }) => [index, id])).toEqual([
    [1, null],
    [2, 'b'],
    [3, null],
  ]);
});
