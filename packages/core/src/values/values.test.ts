import { expect, test } from 'vitest';
import { addDays, dayMs, dayNumbered, dayOf, daysOf, monthOf, monthsOf, startOfDay } from './days.ts';
import { canonicalJson, endOfString, sha256 } from './json.ts';
import { countOf, daysInWords, someOf, toCamel } from './words.ts';

test('days are those of UTC', () => {
  expect(dayOf('2026-05-01T23:59:59.999Z')).toBe('2026-05-01');
  expect(dayOf('2026-05-02T01:00:00+02:00')).toBe('2026-05-01');
  expect(startOfDay('2026-05-01')).toBe('2026-05-01T00:00:00Z');
  expect([addDays('2026-02-28', 1), addDays('2026-03-01', -1)]).toEqual(['2026-03-01', '2026-02-28']);
  expect([dayNumbered(0), dayNumbered(31)]).toEqual(['1970-01-01', '1970-02-01']);
  expect(monthOf('2026-05-31')).toBe('2026-05');
});

test('a range has its first day, and not its last', () => {
  expect(daysOf({ from: '2026-02-27', to: '2026-03-02' })).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  expect(daysOf({ from: '2026-02-27', to: '2026-02-27' })).toEqual([]);
  expect(daysOf({ from: '2026-02-27', to: '2026-02-01' })).toEqual([]);
  expect(monthsOf({ from: '2026-01-30', to: '2026-03-01' })).toEqual(['2026-01', '2026-02']);
});

test('canonical JSON has its names in order; what JSON cannot hold is an error', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'é' }], a: 1e21 })).toBe('{"a":1e+21,"b":[1,{"c":"é","d":null}]}');
  expect(() => canonicalJson({ a: Number.NaN })).toThrow('NaN');
  expect(() => canonicalJson(() => 1)).toThrow('the value cannot be written as JSON');
  expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test.each([
  [String.raw`"ab" "c"`, 0, 4],
  [String.raw`"ab" "c"`, 5, 8],
  [String.raw`"a\"b" "c"`, 0, 6],
  [String.raw`"a\\" "c"`, 0, 5],
  [String.raw`"a\\\"b" "c"`, 0, 8],
  ['"" "c"', 0, 2],
  [String.raw`"a\"`, 0, 4],
  ['"ab', 0, 3],
])('the string of JSON in %s that begins at %d ends before %d', (text, from, end) => {
  expect(endOfString(text, from)).toBe(end);
});

test('numbers, names and times in words', () => {
  expect([0, 1, 2].map((count) => countOf(count, 'key'))).toEqual(['0 keys', '1 key', '2 keys']);
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  expect([someOf(names.slice(1)), someOf(names), someOf(names, 2)]).toEqual([
    'b, c, d, e, f',
    'a, b, c, d, e and 1 more',
    'a, b and 4 more',
  ]);
  expect([dayMs - 1, dayMs, 3 * dayMs - 1].map(daysInWords)).toEqual(['less than a day', '1 day', '2 days']);
  expect(['plan_id', 'id', 'last_used_from_addr', 'a_1'].map(toCamel)).toEqual([
    'planId',
    'id',
    'lastUsedFromAddr',
    'a1',
  ]);
});
