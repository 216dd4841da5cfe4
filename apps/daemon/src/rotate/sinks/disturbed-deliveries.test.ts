import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileSink } from './file.ts';

// What other processes do between the last check of a delivery and its end.

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keywarden-sink-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, 'key-7');
const secret = 'napi_this_is_the_secret_of_the_test';
const { signal } = new AbortController();

test('T3: a secret that must not be written any more is in no file, and replaces none', async () => {
  const sink = fileSink(path());
  await sink.deliver('napi_former', '11', { signal, whyNotWrite: () => Promise.resolve(null) });
  const files = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const before = files();
  const counts: number[] = [];
  const whyNotWrite = () => {
    counts.push(files().length);
    return Promise.resolve('another process has taken over the rotations');
  };
  expect(await sink.deliver(secret, '12', { signal, whyNotWrite })).toEqual({
    isDelivered: false,
    why: 'another process has taken over the rotations',
    mayHave: false,
  });
  expect(files()).toEqual(before);
  // It is asked last, when both new files are complete.
  expect(counts).toEqual([4]);
});

test.each([
  [
    'has written another secret',
    (partial: string) => writeFileSync(partial, 'napi_other'),
    'does not contain what was written',
  ],
  ['has removed what was to be renamed', (partial: string) => rmSync(partial), 'cannot be written (ENOENT)'],
])('T2: a delivery that another process disturbs, which %s, may be there', async (_name, disturb, why) => {
  const whyNotWrite = () => {
    disturb(`${path()}.keywarden-partial`);
    return Promise.resolve(null);
  };
  expect(await fileSink(path()).deliver(secret, '12', { signal, whyNotWrite })).toEqual({
    isDelivered: false,
    why: `${path()} ${why}`,
    mayHave: true,
  });
});
