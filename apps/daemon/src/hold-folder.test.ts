import { chmodSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { holdFolder } from './hold-folder.ts';

const newFolder = () => mkdtempSync(join(tmpdir(), 'hold-folder-'));

test('one holder at a time holds a folder, and leaves its empty lock file alone', () => {
  const folder = newFolder();
  for (let count = 0; count < 2; count += 1) {
    const release = holdFolder(folder, 'It is held.');
    expect(() => holdFolder(folder, 'It is held.')).toThrow(/^It is held\.$/);
    release();
  }
  expect(readdirSync(folder)).toEqual(['lock']);
});

/** Does work as a user without privileges. */
function withoutPrivileges(work: () => void): void {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('a lock file that a process cannot write holds no folder, because several could hold it', () => {
  const folder = newFolder();
  chmodSync(folder, 0o777);
  writeFileSync(join(folder, 'lock'), '');
  chmodSync(join(folder, 'lock'), 0o444);
  withoutPrivileges(() => {
    expect(() => holdFolder(folder, 'It is held.')).toThrow(/lock cannot be locked \(/);
  });
});
