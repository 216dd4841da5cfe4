import { expect, test } from 'vitest';
import {
  before,
  compareInstants,
  duration,
  isInstant,
  parseDuration,
  roundedMicros,
  schedule,
  secondOf,
} from './time.ts';

test.each([
  '2026-02-28T23:59:59Z',
  '2024-02-29T00:00:00.123456789Z',
  '2000-02-29T00:00:00Z',
  '2026-04-30T00:00:00+15:59',
  '2026-12-31T00:00:00-00:30',
  '0001-01-01T00:00:00Z',
  '0001-01-01T00:00:00-15:59',
  '9999-12-31T23:59:59.999999Z',
  '9999-12-31T23:59:59+00:01',
])('%s is an RFC 3339 time', (text) => {
  expect(isInstant(text)).toBe(true);
});

test.each([
  ['a day that its month lacks', '2026-02-29T00:00:00Z'],
  ['a day that its month lacks', '2024-02-30T00:00:00Z'],
  ['a leap day of a century', '1900-02-29T00:00:00Z'],
  ['a day that its month lacks', '2026-04-31T00:00:00Z'],
  ['a month 13', '2026-13-01T00:00:00Z'],
  ['a month 0', '2026-00-01T00:00:00Z'],
  ['a day 0', '2026-01-00T00:00:00Z'],
  ['a day 32', '2026-01-32T00:00:00Z'],
  ['an hour 24', '2026-01-01T24:00:00Z'],
  ['a minute 60', '2026-01-01T00:60:00Z'],
  ['a leap second', '2026-12-31T23:59:60Z'],
  ['a year 0', '0000-01-01T00:00:00Z'],
  ['a year 0 of UTC', '0001-01-01T00:00:00+00:01'],
  ['a year 10000 of UTC', '9999-12-31T23:59:59-00:01'],
  ['a year 10000 as Postgres rounds it', '9999-12-31T23:59:59.9999999Z'],
  ['an offset that Postgres refuses', '2026-01-01T00:00:00+16:00'],
  ['no offset', '2026-01-01T00:00:00'],
  ['a fraction without digits', '2026-01-01T00:00:00.Z'],
  ['small letters', '2026-01-01t00:00:00z'],
  ['text before it', 'x2026-01-01T00:00:00Z'],
  ['text after it', '2026-01-01T00:00:00Zx'],
  ['a date alone', '2026-01-01'],
  ['a number', 1_767_225_600_000],
  ['a list', ['2026-01-01T00:00:00Z']],
  ['nothing', null],
])('%s is no RFC 3339 time: %s', (_name, text) => {
  expect(isInstant(text)).toBe(false);
});

test.each([
  ['the same text', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 0],
  ['the same fraction with more digits', '2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.100Z', 0],
  ['another second', '2026-01-01T00:00:01Z', '2026-01-01T00:00:00.9Z', 1],
  ['a fraction and none', '2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00Z', 1],
  ['nanoseconds', '2026-01-01T00:00:00.000000002Z', '2026-01-01T00:00:00.000000001Z', 1],
  ['the same instant in another zone', '2026-01-01T01:00:00+01:00', '2026-01-01T00:00:00Z', 0],
  ['a millisecond in another zone', '2026-01-01T01:00:00.002+01:00', '2026-01-01T00:00:00.001Z', 1],
  ['a microsecond in another zone', '2026-01-01T01:00:00.000002+01:00', '2026-01-01T00:00:00.000001Z', 1],
  ['a later text that is an earlier time', '2026-01-01T00:00:00Z', '2026-01-01T00:30:00+01:00', 1],
  ['two times of one zone', '2026-01-01T00:00:00.5+01:00', '2026-01-01T00:00:00.4+01:00', 1],
])('times are compared with every digit: %s', (_name, a, b, order) => {
  expect([Math.sign(compareInstants(a, b)), Math.sign(compareInstants(b, a))]).toEqual([order, 0 - order]);
});

test.each([
  ['2026-01-31T11:00:07.5+01:00', Date.UTC(2026, 0, 31, 10, 0, 7) * 1000 + 500_000],
  ['1969-12-31T23:59:59.9999994Z', -1],
  ['1969-12-31T23:59:59.9999996Z', 0],
  ['1970-01-01T00:00:00.0000005Z', 0],
  ['1970-01-01T00:00:00.0000015Z', 2],
  ['1970-01-01T00:00:00.0000025Z', 2],
])('a time is rounded to microseconds, a half to the even number: %s', (at, micros) => {
  expect(roundedMicros(at)).toBe(micros);
});

test('a time’s second is in UTC, and an earlier time drops what is smaller than a millisecond', () => {
  expect(secondOf('2026-01-31T10:00:07.9Z')).toBe('2026-01-31T10:00:07');
  expect(secondOf('2026-01-31T11:00:07.9+01:00')).toBe('2026-01-31T10:00:07');
  expect(before('2026-01-01T00:00:00.0019Z', 1000)).toBe('2025-12-31T23:59:59.001Z');
});

test.each([
  ['365000d', 31_536_000_000_000],
  ['365001d', undefined],
  ['52143w', undefined],
  ['30m', 1_800_000],
  ['0s', 0],
  ['1234567s', undefined],
  [' 90d', undefined],
  ['90d ', undefined],
  ['90y', undefined],
])('the duration "%s" is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test('a setting is a duration above 0, or a cron expression that runs at some time; an error says what to write', () => {
  const message = 'a duration is a number above 0 and a unit: 45s, 30m, 12h, 90d, 2w; the longest is 365000d';
  expect(duration.parse('90d')).toEqual({ text: '90d', ms: 7_776_000_000 });
  for (const text of ['0s', '90', '365001d'])
    expect(duration.safeParse(text).error?.issues.map((issue) => issue.message)).toEqual([message]);
  expect(schedule.parse('15 * * * *')).toBe('15 * * * *');
  for (const text of ['0 0 30 2 *', '0 0 3 1 6 * 2020'])
    expect(schedule.safeParse(text).error?.issues.map((issue) => issue.message)).toEqual([
      'a schedule without a time from now on: its year is past, or no month has its day; change it, or remove it',
    ]);
  for (const text of ['0 3 1 6 * 2020', 'hourly', ''])
    expect(schedule.safeParse(text).error?.issues.map((issue) => issue.message)).toEqual([
      'not a cron expression; 15 minutes past each hour is "15 * * * *"',
    ]);
});
