import { fstatSync, readSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import type { Entry, LocalFileHeader, ZipFile } from 'yauzl';

// Programs read an archive in different ways: by the directory at its end, or from its beginning, header by header. An archive of ours looks the same to
// all of them.

const stored = 0;
const deflated = 8;
/** The bits that say how much was tried to compress a file, that its checksum and sizes follow it, and that its name is UTF-8. */
const knownFlags = 0b1000_0000_1110;
const isStreamed = (flags: number) => (flags & 0b1000) !== 0;
/** The type in the mode of a file: programs follow links, and make folders of entries that are marked as such. */
const modeMask = 0o170000;
const regularMode = 0o100000;
const folderMode = 0o040000;
const folderAttribute = 0x10;
/** Archivers add entries of folders, which have no bytes. Programs make these folders anyway, for the files in them. */
export const isFolder = ({ fileName }: Pick<Entry, 'fileName'>) => fileName.endsWith('/');
/**
 * The attributes of a plain file: that it may not be written, is to be archived, has no other attribute, is not indexed, or has a mode. Programs leave out a file
 * with others, such as that of a label.
 */
const plainAttributes = 0xa0a1;
/** What a program must know to read files that are stored or deflated, times ten. Programs leave out a file that asks for more. */
const mostVersion = 20;
/** Extra fields that change nothing that is read: times and owners of files, as archivers add them. Others may name the file anew. */
const knownFields = new Set([0x000a, 0x5455, 0x5855, 0x7855, 0x7875]);
/** Each part of a name. Others are left out, changed or combined when an archive is unpacked: empty parts, dots alone or at the end, spaces. */
const plainPart = /^[\w(][\w().-]*(?<!\.)$/;

/** Bytes of the record at the end of an archive, and of an entry of the directory without its name and fields. */
const endLength = 22;
const entryLength = 46;
const diskOffset = 34;

/** An open archive, and the entries of its directory. */
export interface OpenedArchive {
  /** A file descriptor of the same file. */
  descriptor: number;
  file: ZipFile;
  entries: Entry[];
}

/** Returns what another program has done to an archive with this entry, as a sentence; null if no such program is known. */
export function whyRepacked({ fileName, compressionMethod: method }: Entry): string | null {
  if (/(^|\/)(\.DS_Store$|__MACOSX\/)/.test(fileName)) return `a file manager has added ${fileName}`;
  return method === stored || method === deflated ? null : `${fileName} is compressed by another method than deflate`;
}

/** Returns why programs would read an archive in different ways, as a sentence without a subject; null if they do not. Reads the whole archive. */
export async function findOddPlace(archive: OpenedArchive): Promise<string | null> {
  const { file, entries } = archive;
  const oddName = findOddName(entries.map(({ fileName }) => fileName));
  if (oddName !== null) return oddName;
  let at = 0;
  for (const entry of entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader)) {
    const { fileName, compressedSize, relativeOffsetOfLocalHeader: offset } = entry;
    if (offset !== at) return `there is something before ${fileName}`;
    const local = await file.readLocalFileHeaderPromise(entry);
    const odd = findOddHeader(entry, local);
    if (odd !== null) return odd;
    const end = local.fileDataStart + compressedSize;
    const length = isStreamed(entry.generalPurposeBitFlag) ? readDescriptor(archive, entry, end) : 0;
    if (length === null) return `what follows ${fileName} is not its checksum and its sizes`;
    at = end + length;
  }
  if (!isDirectory(archive, at)) return 'there is something beside its directory';
  for (const entry of entries)
    if (!(await isWhole(file, entry))) return `${entry.fileName} has other bytes than its directory says`;
  return null;
}

/** Names that differ only in case are one file on some machines, and a file is no folder of other files. */
function findOddName(names: string[]): string | null {
  const seen = new Set(names.map((name) => name.toLowerCase()));
  for (const name of names) {
    const parts = name.toLowerCase().replace(/\/$/, '').split('/');
    if (name.length > 500 || !parts.every((part) => plainPart.test(part))) return 'the name of a file is not plain';
    const folders = name.endsWith('/') ? parts.length : parts.length - 1;
    if (parts.slice(0, folders).some((_part, index) => seen.has(parts.slice(0, index + 1).join('/'))))
      return `${name} is in a file`;
  }
  return seen.size === names.length ? null : 'two names differ only in case';
}

function findOddHeader(entry: Entry, local: LocalFileHeader): string | null {
  const { fileName, generalPurposeBitFlag: flags, compressionMethod: method, extraFields } = entry;
  const isKnown = (flags & ~knownFlags) === 0 && (method === deflated || (method === stored && !isStreamed(flags)));
  if (!isKnown) return `${fileName} is compressed in an unknown way`;
  if (local.fileName.toString('latin1') !== fileName) return `${fileName} has two names`;
  const type = (entry.externalFileAttributes >>> 16) & modeMask;
  const [mode, attributes] = isFolder(entry)
    ? [folderMode, plainAttributes | folderAttribute]
    : [regularMode, plainAttributes];
  if ((type !== 0 && type !== mode) || (entry.externalFileAttributes & 0xffff & ~attributes) !== 0)
    return `${fileName} is marked as something else than it is`;
  if (isFolder(entry) && entry.uncompressedSize > 0) return `${fileName} is a folder with bytes`;
  if (entry.versionNeededToExtract > mostVersion || local.versionNeededToExtract > mostVersion)
    return `${fileName} is of a newer form`;
  const ids = [...extraFields.map(({ id }) => id), ...idsOf(local.extraField)];
  if (entry.fileCommentLength > 0 || !ids.every((id) => knownFields.has(id)))
    return `${fileName} has a comment or another field that is not known`;
  const sizes = [local.crc32, local.compressedSize, local.uncompressedSize];
  const isSame =
    local.generalPurposeBitFlag === flags &&
    local.compressionMethod === method &&
    (sizes.join() === sizesOf(entry).join() || (isStreamed(flags) && sizes.join() === '0,0,0'));
  return isSame ? null : `${fileName} has two headers that differ`;
}

const sizesOf = ({ crc32: sum, compressedSize, uncompressedSize }: Entry) => [sum, compressedSize, uncompressedSize];

/** Returns the ids of extra fields; one that is not known if they are cut. */
function idsOf(fields: Buffer): number[] {
  const ids: number[] = [];
  let at = 0;
  while (at + 4 <= fields.length) {
    ids.push(fields.readUInt16LE(at));
    at += 4 + fields.readUInt16LE(at + 2);
  }
  return at === fields.length ? ids : [0];
}

/** Returns the length of the checksum and sizes that follow a streamed file; null if they are others than those of the directory. */
function readDescriptor({ descriptor }: OpenedArchive, entry: Entry, at: number): number | null {
  const sizes = Buffer.alloc(12);
  for (const [index, value] of sizesOf(entry).entries()) sizes.writeUInt32LE(value, index * 4);
  const marked = Buffer.concat([Buffer.from('PK\u0007\u0008'), sizes]);
  for (const expected of [marked, sizes])
    if (readAt(descriptor, at, expected.length).equals(expected)) return expected.length;
  return null;
}

/** Returns whether the directory fills the archive from a place up to the record at its end, and that record says so. */
function isDirectory({ descriptor, entries }: OpenedArchive, at: number): boolean {
  const { size } = fstatSync(descriptor);
  const length = entries.reduce((sum, each) => sum + entryLength + each.fileNameLength + each.extraFieldLength, 0);
  const expected = Buffer.alloc(endLength);
  if (at + length + endLength !== size || at > 0xff_ff_ff_ff) return false;
  // Each entry says on which disk its file begins: all on the first.
  let begin = at;
  for (const { fileNameLength, extraFieldLength } of entries) {
    if (readAt(descriptor, begin + diskOffset, 2).readUInt16LE() !== 0) return false;
    begin += entryLength + fileNameLength + extraFieldLength;
  }
  expected.writeUInt32LE(0x06_05_4b_50);
  expected.writeUInt16LE(entries.length, 8);
  expected.writeUInt16LE(entries.length, 10);
  expected.writeUInt32LE(length, 12);
  expected.writeUInt32LE(at, 16);
  return readAt(descriptor, at + length, endLength).equals(expected);
}

/** Returns whether a file has the checksum and the size of its entry, and its compressed bytes end where the entry says. */
async function isWhole(file: ZipFile, entry: Entry): Promise<boolean> {
  const raw = await file.openReadStreamPromise(entry, { decodeFileData: false });
  let [sum, length] = [0, 0];
  const count = async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      sum = crc32(chunk, sum);
      length += chunk.length;
      if (length > entry.uncompressedSize) return;
    }
  };
  if (entry.compressionMethod === stored) {
    await pipeline(raw, count);
    return sum === entry.crc32 && length === entry.uncompressedSize;
  }
  const inflate = createInflateRaw();
  await pipeline(raw, inflate, count);
  return sum === entry.crc32 && length === entry.uncompressedSize && inflate.bytesWritten === entry.compressedSize;
}

function readAt(descriptor: number, place: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, place));
}
