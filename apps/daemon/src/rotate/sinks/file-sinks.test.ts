import {
  mkdirSync,
  mkdtempSync,
  promises,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteOf, writeNote } from '@keywarden/runtime/config';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fileSink } from './file.ts';

// Files of sinks: other processes, kills, and links.

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keywarden-sink-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, 'key-7');
const secret = 'napi_this_is_the_secret_of_the_test';
const { signal } = new AbortController();
const guard = { signal, whyNotWrite: () => Promise.resolve(null) };

test('each file is on the disk before it gets its name, and its name before the next file or the record of the delivery', async () => {
  const steps: string[] = [];
  const probe = await promises.open(folder);
  const handle = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  vi.spyOn(handle, 'sync').mockImplementation(async function (this: FileHandle) {
    steps.push((await this.stat()).isDirectory() ? 'sync folder' : 'sync file');
  });
  const { rename } = promises;
  vi.spyOn(promises, 'rename').mockImplementation(async (from, to) => {
    steps.push(`rename ${String(from).slice(folder.length)}`);
    await rename(from, to);
  });
  syncBuiltinESMExports();
  try {
    expect(await fileSink(path()).deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  } finally {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  }
  const [note, file] = [`rename ${noteOf('/key-7')}.keywarden-partial`, 'rename /key-7.keywarden-partial'];
  expect(steps).toEqual(['sync file', 'sync file', note, 'sync folder', file, 'sync folder']);
});

test('T3: a secret that must not be written any more is in no file, and replaces none', async () => {
  const sink = fileSink(path());
  await sink.deliver('napi_former', '11', guard);
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

test('killed between the note and the secret, or with a half-written file: the sink does not have the new one', async () => {
  const sink = fileSink(path());
  await sink.deliver(secret, '12', guard);
  const note = readFileSync(noteOf(path()), 'utf8');
  await sink.deliver('napi_next', '13', guard);
  const next = readFileSync(noteOf(path()), 'utf8');
  writeFileSync(path(), secret);
  expect(next).not.toBe(note);
  expect(await sink.ask('13', signal)).toBe('lacks');
  for (const each of [path(), noteOf(path())]) writeFileSync(`${each}.keywarden-partial`, 'napi_nex');
  expect(await sink.ask('13', signal)).toBe('lacks');
  expect(readdirSync(folder)).toHaveLength(2);
});

test('a link is followed, and its target is written as a regular file', async () => {
  writeFileSync(join(folder, 'real'), 'old');
  symlinkSync(join(folder, 'real'), path());
  expect(await fileSink(path()).deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  expect(readFileSync(join(folder, 'real'), 'utf8')).toBe(secret);
  expect(await fileSink(path()).ask('12', signal)).toBe('has');
});

test('a link whose target does not exist yet is followed; if the folder of its target is missing, nothing is written', async () => {
  mkdirSync(join(folder, 'mounted'));
  symlinkSync('mounted/key', path());
  expect(await fileSink(path()).prepare?.()).toBeNull();
  expect(await fileSink(path()).deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  expect(readFileSync(join(folder, 'mounted', 'key'), 'utf8')).toBe(secret);

  const other = join(folder, 'other');
  symlinkSync('absent/key', other);
  const sink = fileSink(other);
  expect(await sink.prepare?.()).toContain('cannot be written (ENOENT)');
  expect(await sink.deliver(secret, '12', guard)).toMatchObject({ isDelivered: false });
  expect(readdirSync(folder).toSorted()).toEqual(['key-7', 'mounted', 'other']);
});

test.each([
  [
    'has written another secret',
    (partial: string) => writeFileSync(partial, 'napi_other'),
    'does not contain what was written',
  ],
  [
    'has written the note of another key',
    (partial: string) =>
      writeFileSync(partial.replace(path(), noteOf(path())), writeNote({ keyId: '9', secret }, null)),
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
