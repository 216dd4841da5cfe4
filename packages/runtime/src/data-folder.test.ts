import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDataFile, putDataFileAside, readDataFile, writeDataFile, writeDataFileIf } from './data-folder.ts';

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('only the owner of the process can read the data folder and its files, which hold secrets', () => {
  const above = join(mkdtempSync(join(tmpdir(), 'keywarden-data-')), 'new');
  const folder = join(above, 'data');
  writeDataFile(folder, 'token', 'kwr_first');
  expect(createDataFile(folder, 'key', 'a secret')).toBe(true);
  expect([above, folder, join(folder, 'token'), join(folder, 'key')].map(modeOf)).toEqual(['700', '700', '600', '600']);
});

test('a file of the data folder that exists is not created again, and nothing else stays beside it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-data-'));
  expect(createDataFile(folder, 'key', 'first')).toBe(true);
  expect(createDataFile(folder, 'key', 'second')).toBe(false);
  expect(readDataFile(folder, 'key')).toBe('first');
  writeDataFile(folder, 'key', 'third');
  expect(readDataFile(folder, 'key')).toBe('third');
  expect(readdirSync(folder)).toEqual(['key']);
});

test('a file of the data folder that is put aside replaces no other one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-data-'));
  for (const text of ['first', 'second', 'first', 'third']) {
    writeDataFile(folder, 'key', text);
    putDataFileAside(folder, 'key', 'of-a');
    putDataFileAside(folder, 'key', 'of-a');
  }
  const names = readdirSync(folder).toSorted();
  expect(names.map((name) => [name, readDataFile(folder, name)])).toEqual([
    ['key.of-a', 'first'],
    ['key.of-a.2', 'second'],
    ['key.of-a.3', 'third'],
  ]);
});

test('a process that is paused right before it replaces a file does not write over a later text', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-data-'));
  const isNewer = (number: number) => number > Number(readDataFile(folder, 'number') ?? 0);
  const write = (number: number, meanwhile = () => {}) =>
    writeDataFileIf(folder, 'number', String(number), () => {
      const wanted = isNewer(number);
      meanwhile();
      return wanted;
    });
  write(1);
  let hasWritten = false;
  write(2, () => {
    if (!hasWritten) writeDataFileIf(folder, 'number', '3', () => isNewer(3));
    hasWritten = true;
  });
  expect(readDataFile(folder, 'number')).toBe('3');
  expect(readdirSync(folder)).toEqual(['number']);
});

test('a file that is written on a condition leaves the unfinished files of other names alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-data-'));
  // As another process has it while it puts the file aside.
  const others = ['number.of-a', 'number.of-a.2', 'numbers', 'a.number'].map((name) => `${name}.${randomUUID()}`);
  const left = `number.${randomUUID()}`;
  for (const name of [...others, left]) writeFileSync(join(folder, name), '1');
  writeDataFileIf(folder, 'number', '2', () => true);
  expect(readdirSync(folder).toSorted()).toEqual(['number', ...others].toSorted());
});
