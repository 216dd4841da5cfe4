import { expect, test } from 'vitest';
import { isSuddenDrop } from './suspect.ts';

const idsOf = (rows: number) => Array.from({ length: rows }, (_, index) => String(index));
const isSudden = (lost: number, kept: number, ids = idsOf(kept)) => isSuddenDrop({ lost, kept, ids });

test('A7: a list is suspect if it lacks at least four known rows and more than it still shows, or if it is empty', () => {
  expect([isSudden(4, 3), isSudden(4, 4), isSudden(3, 2), isSudden(500, 499)]).toEqual([true, false, false, true]);
  expect([isSudden(1, 0), isSudden(0, 0)]).toEqual([true, false]);
});

test('A7: a list that lacks any row is suspect if it has a number of rows at which services cut lists off', () => {
  for (const rows of [100, 150, 200, 250, 400, 500, 1000])
    expect([rows, isSudden(1, rows), isSudden(0, rows)]).toEqual([rows, true, false]);
  for (const rows of [50, 99, 101, 149, 225]) expect([rows, isSudden(1, rows)]).toEqual([rows, false]);
  // Repeated rows count as the service counts them, and once.
  expect(isSudden(1, 149, [...idsOf(149), '0'])).toBe(true);
  expect(isSudden(1, 150, [...idsOf(150), '0'])).toBe(true);
});
