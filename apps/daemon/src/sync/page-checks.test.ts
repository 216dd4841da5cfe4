import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { expect, test } from 'vitest';
import { withoutRepeated } from './page-checks.ts';

const at = (number: number, second: number, change = {}) =>
  makeWireOperation(number, { createdAt: `2026-05-01T00:00:0${second}Z`, ...change });

const above = [at(5, 9), at(4, 5), at(3, 5)];

test.each([
  { title: 'the rows that the page above ended with are stored', rows: [at(4, 5), at(3, 5), at(2, 1)], kept: [2] },
  { title: 'so are they below a row that came since', rows: [at(6, 7), at(4, 5), at(3, 5), at(2, 1)], kept: [6, 2] },
  { title: 'and where nothing is below them', rows: [at(4, 5), at(3, 5)], kept: [] },
  { title: 'a row that has changed stays', rows: [at(4, 5), at(3, 5, { status: 'failed' })], kept: [4, 3] },
  { title: 'a field that is not known counts', rows: [at(4, 5), at(3, 5, { extra: { new: 1 } })], kept: [4, 3] },
  { title: 'rows of the instant in another order stay', rows: [at(3, 5), at(4, 5)], kept: [3, 4] },
  {
    title: 'rows that are one time in the store stay together, because it keeps fewer digits',
    rows: [at(6, 5, { createdAt: '2026-05-01T00:00:05.0000001Z' }), at(4, 5), at(3, 5), at(2, 1)],
    kept: [6, 4, 3, 2],
  },
  {
    title: 'so do rows on both sides of a second that are one time in the store',
    rows: [at(4, 5), at(3, 5), at(2, 5, { createdAt: '2026-05-01T00:00:04.9999999Z' })],
    kept: [4, 3, 2],
  },
  {
    title: 'so do rows of one instant in different zones',
    rows: [at(4, 5), at(3, 5), at(2, 5, { createdAt: '2026-05-01T01:00:05.0+01:00' })],
    kept: [4, 3, 2],
  },
  { title: 'more rows of the instant stay together', rows: [at(4, 5), at(3, 5), at(2, 5)], kept: [4, 3, 2] },
  { title: 'fewer rows stay', rows: [at(3, 5), at(2, 1)], kept: [3, 2] },
  { title: 'other rows stay', rows: [at(2, 1)], kept: [2] },
  { title: 'rows above that instant alone stay', rows: [at(5, 9)], kept: [5] },
  { title: 'there may be none', rows: [], kept: [] },
])('of a page, $title', ({ rows, kept }) => {
  expect(withoutRepeated(rows, above)).toEqual(rows.filter(({ id }) => kept.some((each) => id === at(each, 0).id)));
  expect(withoutRepeated(rows, [])).toEqual(rows);
});
