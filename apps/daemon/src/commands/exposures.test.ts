import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMarkFile } from '@keywarden/db/daemon';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listExposures } from './exposures.ts';

let dataFolder: string;
beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-exposures-'));
});
afterEach(() => rmSync(dataFolder, { recursive: true }));

const remote = 'postgres://app:secret@db.internal/keywarden';

test('a private folder and an encrypted connection, or one that stays on this machine, are no exposure', () => {
  expect(listExposures(dataFolder, { url: remote, isEncrypted: true })).toEqual([]);
  expect(listExposures(dataFolder, { url: 'postgres://app@127.0.0.1/x', isEncrypted: false })).toEqual([]);
  writeFileSync(join(dataFolder, reportMarkFile), 'mark');
  expect(listExposures(dataFolder, { url: undefined, isEncrypted: false })).toEqual([]);
});

test('a clear-text connection, a shared folder and one that others can enter are each one sentence without the password', () => {
  chmodSync(dataFolder, 0o750);
  writeFileSync(join(dataFolder, reportMarkFile), 'mark');
  const found = listExposures(dataFolder, { url: remote, isEncrypted: false });
  expect(found).toEqual([
    expect.stringContaining('other users of this machine can enter the data folder'),
    'the connection to the database at db.internal is not encrypted; add sslmode=verify-full to DATABASE_URL',
    expect.stringContaining('the report uses the data folder'),
  ]);
  expect(found.join()).not.toContain('secret');
});
