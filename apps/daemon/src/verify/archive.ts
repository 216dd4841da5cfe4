import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { codeOf } from '@keywarden/runtime';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { findOddPlace, isFolder, whyRepacked } from './archive-layout.ts';
import { DamagedFile } from './verdict.ts';

/** No line and no text of ours is as long; a longer one is not read to its end. */
const longestLine = 16_000_000;
const longestText = 64_000_000;
/** More need another format, which the report does not write: the number of 65,535 files marks it. */
const mostFiles = 65_534;

const useOriginal = 'check the archive that the report gave out, or pack its own files alone again, as with zip -r';

export type Archive = Awaited<ReturnType<typeof openArchive>>;

/**
 * Opens a zip archive, which is read file by file: memory does not grow with its size. Throws a DamagedFile for a file that is none, or that programs would
 * read in different ways.
 */
export async function openArchive(path: string) {
  const descriptor = openSync(path, 'r');
  const entries = new Map<string, Entry>();
  let file: ZipFile;
  try {
    file = await fromFdPromise(descriptor, { lazyEntries: true, autoClose: false, strictFileNames: true });
    for await (const entry of file.eachEntry()) {
      if (entries.has(entry.fileName)) throw new DamagedFile(`it has ${entry.fileName} twice`);
      if (entries.size >= mostFiles) throw new DamagedFile(`it has more than ${mostFiles} files`);
      entries.set(entry.fileName, entry);
    }
    const [repacked] = [...entries.values()].flatMap((entry) => whyRepacked(entry) ?? []);
    if (repacked !== undefined) throw new DamagedFile(`${repacked}; ${useOriginal}`);
    const odd = await findOddPlace({ descriptor, file, entries: [...entries.values()] });
    if (odd !== null) throw new DamagedFile(`different programs read it in different ways: ${odd}`);
    for (const [name, entry] of entries) if (isFolder(entry)) entries.delete(name);
  } catch (error) {
    closeSync(descriptor);
    if (error instanceof DamagedFile) throw error;
    throw new DamagedFile(`it is no whole zip archive (${error instanceof Error ? error.message : codeOf(error)})`);
  }
  return {
    names: [...entries.keys()],
    /** Passes on each line of a file, and returns the SHA-256 of its bytes. Throws a DamagedFile if it is damaged. */
    eachLine: async (name: string, use: (line: string) => void) =>
      await passLines(await openEntry(file, entries, name), { name, use }),
    async text(name: string): Promise<string> {
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of await openEntry(file, entries, name)) {
        length += (chunk as Buffer).length;
        if (length > longestText) throw new DamagedFile(`${name} is too long`);
        chunks.push(chunk as Buffer);
      }
      return decode(Buffer.concat(chunks), name);
    },
    hash: async (name: string) => await hashStream(await openEntry(file, entries, name)),
    close: () => file.close(),
  };
}

/** Returns the SHA-256 of a stream's bytes, in hexadecimal digits. */
export async function hashStream(stream: Readable): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(stream, hash);
  return hash.digest('hex');
}

async function openEntry(file: ZipFile, entries: Map<string, Entry>, name: string): Promise<Readable> {
  const entry = entries.get(name);
  if (entry === undefined) throw new DamagedFile(`it has no file ${name}`);
  return await file.openReadStreamPromise(entry);
}

async function passLines(
  stream: Readable,
  { name, use }: { name: string; use: (line: string) => void },
): Promise<string> {
  const hash = createHash('sha256');
  let rest: Buffer[] = [];
  let length = 0;
  for await (const each of stream) {
    const chunk = each as Buffer;
    hash.update(chunk);
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      use(decode(Buffer.concat([...rest, chunk.subarray(from, end)]), name));
      [rest, length, from] = [[], 0, end + 1];
    }
    rest.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longestLine) throw new DamagedFile(`a line of ${name} is too long`);
  }
  if (length > 0) use(decode(Buffer.concat(rest), name));
  return hash.digest('hex');
}

/** Returns bytes as text. Other bytes that are no UTF-8 would read as the same text. */
function decode(bytes: Buffer, name: string): string {
  if (!isUtf8(bytes)) throw new DamagedFile(`${name} is not UTF-8`);
  return bytes.toString();
}
