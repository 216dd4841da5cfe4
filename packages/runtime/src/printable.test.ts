import { expect, test } from 'vitest';
import { printable, printableCell, printableJson, writeCsv } from './printable.ts';

test('characters that hide, move or forge text on a terminal are shown as their number', () => {
  expect(printable('a\u001b[2K\u001b[1Ab')).toBe(String.raw`a\u{1b}[2K\u{1b}[1Ab`);
  expect(printable('\u202Eevil\u2066\u200B\uFEFF\u0085\u009b2J')).toBe(
    String.raw`\u{202e}evil\u{2066}\u{200b}\u{feff}\u{85}\u{9b}2J`,
  );
  expect(printable('\r\u2028')).toBe(String.raw`\u{d}\u{2028}`);
});

test('escaped JSON keeps its value', () => {
  const value = { name: '\u009b2J\u202E\u{E0001}' };
  expect(printableJson(value)).toMatch(/^[\n -~]*$/);
  expect(JSON.parse(printableJson(value))).toEqual(value);
});

test('every letter and line feed is kept; a table cell has one line', () => {
  const text = 'schlüssel Ключ 鍵 🔑 é\n\tnext';
  expect(printable(text)).toBe(text);
  expect(printableCell('one\n\ttwo')).toBe(String.raw`one\n\ttwo`);
});

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-2', "'-2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', '"\'\t=1"'],
  [' =1', "' =1"],
  ['＝1', "'＝1"],
  ['a,"b"\r\n', '"a,""b""\r\n"'],
  [-5, '-5'],
  [null, ''],
])('a spreadsheet does not run %j as a formula', (value, cell) => {
  expect(writeCsv([[value]])).toBe(`${cell}\r\n`);
  expect(writeCsv([[value]], { lineEnd: '\n' })).toBe(`${cell}\n`);
});
