import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { codeOf, usageError } from '@keywarden/runtime';
import { type Entry, openPromise, type ZipFile } from 'yauzl';

/** No line or text of ours is as long; a longer one is not read to its end. */
const longestLine = 16_000_000;
const mostFiles = 200_000;

/** A zip archive, read file by file as its directory lists them. Memory does not grow with its size. */
export interface Archive {
  names: string[];
  /** Passes on each line of a file, and returns the SHA-256 of its bytes. Throws an Error for a damaged file. */
  eachLine(name: string, use: (line: string) => void): Promise<string>;
  text(name: string): Promise<string>;
  hash(name: string): Promise<string>;
  close(): void;
}

/** Opens a zip archive. Throws a UserError for a file that is none. */
export async function openArchive(path: string): Promise<Archive> {
  const file = await openPromise(path, { lazyEntries: true, autoClose: false, strictFileNames: true }).catch(
    (error: unknown) => {
      throw usageError(`${path} is no whole zip archive (${error instanceof Error ? error.message : codeOf(error)}).`);
    },
  );
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of file.eachEntry()) {
      if (entries.has(entry.fileName)) throw usageError(`${path} has ${entry.fileName} twice.`);
      if (entries.size >= mostFiles) throw usageError(`${path} has more than ${mostFiles} files.`);
      entries.set(entry.fileName, entry);
    }
    const odd = await findOddPlace(file, [...entries.values()], findDirectory(path));
    if (odd !== null) throw usageError(`${path} is read in different ways by different programs: ${odd}.`);
  } catch (error) {
    file.close();
    throw codeOf(error) === 'usage'
      ? error
      : usageError(`${path} is no whole zip archive (${error instanceof Error ? error.message : codeOf(error)}).`);
  }
  return {
    names: [...entries.keys()],
    eachLine: async (name, use) => await passLines(await openEntry(file, entries, name), { name, use }),
    async text(name) {
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of await openEntry(file, entries, name)) {
        length += (chunk as Buffer).length;
        if (length > longestLine) throw new Error(`${name} is too long`);
        chunks.push(chunk as Buffer);
      }
      return Buffer.concat(chunks).toString();
    },
    async hash(name) {
      const hash = createHash('sha256');
      await pipeline(await openEntry(file, entries, name), hash);
      return hash.digest('hex');
    },
    close: () => file.close(),
  };
}

/** The extra field with another name of the file, which some programs use instead. */
const otherName = 0x7075;
/** Lengths of what may follow the bytes of a file that was written as a stream: its checksum and sizes. */
const descriptorLengths = [12, 16, 20, 24];

/**
 * Returns why programs would read an archive in different ways, as a sentence without a subject; null if they do not. Some read its directory, and others
 * read it from its beginning. So it has the files of its directory, one after the other, under the same names, and nothing else.
 */
async function findOddPlace(file: ZipFile, entries: Entry[], directory: number | null): Promise<string | null> {
  let at = 0;
  let isStreamed = false;
  for (const entry of entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader)) {
    const { fileName, relativeOffsetOfLocalHeader: offset, extraFields, compressedSize } = entry;
    if (!/^[\x20-\x7e]+$/.test(fileName) || extraFields.some(({ id }) => id === otherName))
      return `the name of a file is not plain ASCII`;
    if (!isNext(offset - at, isStreamed)) return `there is something before ${fileName}`;
    const local = await file.readLocalFileHeaderPromise(entry);
    if (local.fileName.toString('latin1') !== fileName) return `${fileName} has two names`;
    at = local.fileDataStart + compressedSize;
    isStreamed = (entry.generalPurposeBitFlag & 8) !== 0;
  }
  return directory !== null && isNext(directory - at, isStreamed) ? null : 'there is something beside its directory';
}

/** Returns where the directory of an archive begins; null if it does not end where the end record of the file begins. */
function findDirectory(path: string): number | null {
  const size = statSync(path).size;
  const tail = readAt(path, Math.max(size - endLength - largeEndLength, 0));
  const end = tail.subarray(-endLength);
  if (end.length < endLength || end.readUInt32LE(0) !== 0x06054b50 || end.readUInt16LE(20) !== 0) return null;
  const [length, offset] = [end.readUInt32LE(12), end.readUInt32LE(16)];
  if (offset < 0xffffffff && length < 0xffffffff && end.readUInt16LE(10) < 0xffff)
    return offset + length === size - endLength ? offset : null;
  // Zip64: its end record and the place of that one come before.
  if (tail.length < endLength + largeEndLength || tail.readUInt32LE(0) !== 0x06064b50) return null;
  const [largeLength, largeOffset] = [Number(tail.readBigUInt64LE(40)), Number(tail.readBigUInt64LE(48))];
  return largeOffset + largeLength === size - endLength - largeEndLength ? largeOffset : null;
}

/** Bytes of the end record, and of what zip64 has before it. */
const endLength = 22;
const largeEndLength = 76;

function readAt(path: string, place: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(endLength + largeEndLength);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, place));
  } finally {
    closeSync(file);
  }
}

const isNext = (distance: number, isStreamed: boolean) =>
  isStreamed ? descriptorLengths.includes(distance) : distance === 0;

async function openEntry(file: ZipFile, entries: Map<string, Entry>, name: string): Promise<Readable> {
  const entry = entries.get(name);
  if (entry === undefined) throw new Error(`it has no file ${name}`);
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
      use(Buffer.concat([...rest, chunk.subarray(from, end)]).toString());
      [rest, length, from] = [[], 0, end + 1];
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longestLine) throw new Error(`a line of ${name} is too long`);
  }
  if (length > 0) use(Buffer.concat(rest).toString());
  return hash.digest('hex');
}
