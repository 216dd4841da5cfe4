import { expect, test } from 'vitest';
import type { Interval } from '../coverage/coverage.ts';
import { coverageOf } from './day-coverage.ts';

const at = (day: number) => `2026-05-0${day}T00:00:00Z`;
const interval = (from: number, to: number, isToIncluded: boolean): Interval => ({
  from: at(from),
  to: at(to),
  from_included: true,
  to_included: isToIncluded,
});

/** Returns the parts that are of 3 May. */
function partsOf({
  known = [],
  createdAt = at(1),
  endedAt = null,
}: {
  known?: Interval[];
  createdAt?: string;
  endedAt?: string | null;
}) {
  const coverage = {
    control_plane: 'https://plane.example',
    organization_id: 'o',
    project_id: 'p',
    name: 'p',
    created_at: createdAt,
    walked_at: at(5),
    gone_at: null,
    last_listed_at: at(5),
    known,
    unknown: [],
  };
  return coverageOf({ number: '1', endedAt, coverage }, '2026-05-03').covered;
}

test.each([
  ['that ended on an earlier day', interval(1, 2, true), []],
  ['that ends with the first instant', interval(1, 3, true), [interval(3, 3, true)]],
  ['that ends before the first instant', interval(1, 3, false), []],
  ['that ends with the first instant of the next day', interval(3, 4, true), [interval(3, 4, false)]],
  ['that begins with the first instant of the next day', interval(4, 5, true), []],
])('a day has its own part of an interval, up to its midnight: one %s', (_what, known, parts) => {
  expect(partsOf({ known: [known] })).toEqual(parts);
});

test('a project that was created or deleted at midnight is absent on no part of the day before', () => {
  expect(partsOf({ createdAt: at(4) })).toEqual([]);
  expect(partsOf({ endedAt: at(4) })).toEqual([]);
  expect(partsOf({ endedAt: at(3) })).toMatchObject([{ from: at(3), to: at(4), reason: 'deleted' }]);
});
