import { expect, test } from 'vitest';
import { writeCsv } from './csv.ts';

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
