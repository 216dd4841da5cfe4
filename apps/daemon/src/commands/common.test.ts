import { expect, test } from 'vitest';
import { parseUntil } from './common.ts';

const until = (text: string) => parseUntil(text, { now: '2027-03-01T12:00:00Z', what: 'an exemption' });

test.each([
  ['2027-03-31', '2027-04-01T00:00:00.000Z'],
  ['2027-03-01', '2027-03-02T00:00:00.000Z'],
  ['2027-03-31T10:00:00Z', '2027-03-31T10:00:00.000Z'],
  ['2027-03-31T10:00:00+02:00', '2027-03-31T08:00:00.000Z'],
  ['90d', '2027-05-30T12:00:00.000Z'],
])('%s ends at %s, in any zone of the machine', (text, end) => {
  expect(until(text)).toBe(end);
});

test.each(['2027-02-31', '2027-03-31 10:00', '2027-03-31T10:00', 'tomorrow', '2027'])('%s is refused', (text) => {
  expect(() => until(text)).toThrow(/is neither a date nor a duration/);
});

test('what has ended already is refused', () => {
  expect(() => until('2027-02-28')).toThrow(/must end in the future/);
});

test.each([
  ['9999-12-31', /is after the year 9998/],
  ['999999w', /is neither a date nor a duration of at most 365000d/],
])('%s is refused: no column has such a year', (text, says) => {
  expect(() => until(text)).toThrow(says);
});
