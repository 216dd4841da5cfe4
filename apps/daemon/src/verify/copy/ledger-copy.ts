import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import * as ledger from '@keywarden/core/ledger';
import { countOf, someOf } from '@keywarden/core/values';
import { codeOf } from '@keywarden/runtime';
import {
  type ArchiveResult,
  addHead,
  addSentence,
  type CosignedCheckpoint,
  DamagedFile,
  openSigned,
  type SignedHead,
  type Verdict,
  type VerifyOptions,
  withoutHead,
  wrong,
} from '../verdict.ts';
import { type Beside, createContentReader, createEntryReader } from './readers.ts';

/** A tree that the copy must continue. */
interface Earlier {
  name: string;
  size: number;
  root: ledger.Hash;
}

/**
 * Checks a whole copy of a ledger, as its routes serve it: a folder with the file `checkpoint` and the folder `tile`. The tree is computed from the entries,
 * and tiles of hashes and contents are compared if they are there. Each file `checkpoint.SOMETHING` beside them is an earlier checkpoint. The tree must
 * continue these, and the trees of `beside`. The copy may have another file as its checkpoint. A seal that is newer than the one of an archive is named.
 */
export function verifyCopy(
  folder: string,
  options: VerifyOptions,
  beside: Beside[],
  checkpoint = join(folder, 'checkpoint'),
): ArchiveResult {
  try {
    return compareCopy(folder, { options, beside, checkpoint });
  } catch (error) {
    if (error instanceof DamagedFile) return withoutHead(wrong(error.message));
    // A folder in the place of a file, and files that may not be read.
    if (error instanceof Error && 'syscall' in error)
      return withoutHead(wrong(`a file of it cannot be read (${codeOf(error)})`));
    throw error;
  }
}

function compareCopy(
  folder: string,
  { options, beside, checkpoint }: { options: VerifyOptions; beside: Beside[]; checkpoint: string },
): ArchiveResult {
  const newest = openCheckpoint(checkpoint, options);
  const damaged = (why: string) => withoutHead(wrong(why));
  if (typeof newest === 'string') return damaged(`its checkpoint ${newest}`);
  const { size, origin } = newest;
  const verdict: Verdict = { proven: [], unproven: [], wrong: [] };
  const used = new Set<string>();
  const readOf = (path: string): Buffer | null => {
    used.add(path);
    return read(join(folder, path));
  };
  const earlier = [
    ...readEarlier(folder, { newest, options, verdict, checkpoint }),
    ...earlierOf(beside, newest, verdict),
  ];
  const archives = beside.filter(({ head }) => head.origin === origin);
  const leaves = createEntryReader(archives, options.nowMs);
  const contents = createContentReader(readOf, { size, signers: newest, archives });
  for (const each of earlier) if (each.size === 0) compare(each, [], verdict);
  if (size === 0 && !ledger.isSameHash(newest.root, ledger.emptyRoot))
    return damaged('its checkpoint signs no empty tree');

  let edge: ledger.Tile[] = [];
  for (let at = 0; at < size; at += ledger.tileWidth) {
    const width = Math.min(ledger.tileWidth, size - at);
    const path = ledger.tilePath({ level: 'entries', index: at / ledger.tileWidth, width });
    const entries = ledger.unpackEntries(readOf(path) ?? new Uint8Array());
    if (entries?.length !== width) return damaged(`${path} is missing, or cut`);
    const hashes = entries.map(ledger.hashLeaf);
    for (const each of earlier)
      if (each.size > at && each.size <= at + width)
        compare(each, ledger.growTree(at, edge, hashes.slice(0, each.size - at)), verdict);
    const changed = ledger.growTree(at, edge, hashes);
    for (const { level, index, hashes: computed } of changed) {
      const tile = ledger.tilePath({ level, index, width: computed.length / ledger.hashSize });
      const stored = readOf(tile);
      if (stored !== null && Buffer.compare(stored, computed) !== 0)
        return damaged(`${tile} is not the tile of its entries`);
    }
    if (at + width === size && !ledger.isTreeOf(newest, changed))
      return damaged('its entries are not those that its checkpoint signs');
    leaves.read(at, entries);
    const mistake = contents.read(at, entries);
    if (mistake !== null) return damaged(mistake);
    edge = changed.filter(({ hashes }) => hashes.length < ledger.tileWidth * ledger.hashSize);
  }
  // A cosignature from before an event is none of this tree.
  const earliestMs = (leaves.latestMs() ?? 0) - ledger.toleranceMs;
  const head = { ...newest, witnesses: newest.witnesses.filter(({ time }) => time * 1000 >= earliestMs) };
  addHead(head, options, verdict);
  verdict.proven.push(`the copy has exactly ${size === 1 ? 'this' : 'these'} ${countOf(size, 'event')}`);
  leaves.addConclusions(verdict);
  contents.addConclusions(verdict);
  const unread = listOthers(folder, used);
  if (unread.length > 0)
    addSentence(
      verdict.unproven,
      `files of tiles that are not those of this tree, and are not checked: ${someOf(unread, 3)}`,
    );
  return { ...withoutHead(verdict), head: headOf(head) };
}

/** Returns the tree that the checkpoint of a copy signs; null if it has none that a given key signed. */
export function readHead(folder: string, options: VerifyOptions): SignedHead | null {
  try {
    const newest = openCheckpoint(join(folder, 'checkpoint'), options);
    return typeof newest === 'string' ? null : headOf(newest);
  } catch (error) {
    if (error instanceof DamagedFile || (error instanceof Error && 'syscall' in error)) return null;
    throw error;
  }
}

const headOf = ({ origin, size, root, witnesses }: CosignedCheckpoint): SignedHead => ({
  origin,
  size,
  root: ledger.encodeHash(root),
  witnesses,
});

/**
 * Returns the files of tiles that are neither those that were used, nor what these began with: a copy that is continued in one folder keeps tiles and bundles as
 * they were earlier, with fewer hashes or entries.
 */
function listOthers(folder: string, used: Set<string>): string[] {
  const widest = new Map<string, { path: string; width: number }>();
  for (const path of used) {
    const tile = ledger.parseTilePath(path);
    const place = `${tile?.level}/${tile?.index}`;
    if (tile !== null && tile.width > (widest.get(place)?.width ?? 0)) widest.set(place, { path, width: tile.width });
  }
  return listTiles(folder).filter((name) => {
    if (used.has(name)) return false;
    const tile = ledger.parseTilePath(name);
    const whole = widest.get(`${tile?.level}/${tile?.index}`);
    if (tile === null || whole === undefined || tile.width >= whole.width) return true;
    const [bytes, all] = [read(join(folder, name)), read(join(folder, whole.path))];
    const isBeginning = bytes !== null && all !== null && bytes.equals(all.subarray(0, bytes.length));
    return !isBeginning || widthOf(tile.level, bytes) !== tile.width;
  });
}

/** Returns how many entries, contents or hashes a file has; null if it is cut. */
export function widthOf(level: ledger.TileLevel, bytes: Uint8Array): number | null {
  if (level === 'entries') return ledger.unpackEntries(bytes)?.length ?? null;
  if (level === 'contents') return ledger.unpackContents(Buffer.from(bytes).toString())?.length ?? null;
  return bytes.length / ledger.hashSize;
}

/** Lists the files below the folder of tiles, as paths below the copy. */
function listTiles(folder: string): string[] {
  if (lstatSync(join(folder, 'tile'), { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(join(folder, 'tile'), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

/** Returns the checkpoint of a file that a key of its ledger signed, or why it proves nothing, as a sentence without a subject. */
export function openCheckpoint(file: string, options: VerifyOptions): CosignedCheckpoint | string {
  const note = read(file)?.toString();
  return note === undefined
    ? 'is missing: the folder is no copy of a ledger, or a part of one; name an archive as its zip file'
    : openSigned(note, options);
}

function readEarlier(
  folder: string,
  {
    newest,
    options,
    verdict,
    checkpoint,
  }: { newest: ledger.Checkpoint; options: VerifyOptions; verdict: Verdict; checkpoint: string },
): Earlier[] {
  const names = readdirSync(folder).filter(
    (name) => name.startsWith('checkpoint.') || (name === 'checkpoint' && join(folder, name) !== checkpoint),
  );
  return names.flatMap((name) => {
    const found = openCheckpoint(join(folder, name), options);
    if (typeof found === 'string')
      addSentence(found === ledger.otherKey ? verdict.unproven : verdict.wrong, `${name} ${found}`);
    else if (found.origin !== newest.origin)
      addSentence(verdict.wrong, `${name} is of another ledger, ${found.origin}`);
    else if (found.size > newest.size)
      addSentence(verdict.wrong, `${name} has ${countOf(found.size, 'event')}, and the copy has only ${newest.size}`);
    else return [{ ...found, name: name === 'checkpoint' ? 'the earlier checkpoint' : name }];
    return [];
  });
}

/** Returns the trees of receipts and archives that the copy must continue. One of more events, or of another ledger, is not compared. */
function earlierOf(beside: Beside[], newest: ledger.Checkpoint, { unproven }: Verdict): Earlier[] {
  return beside.flatMap(({ file, head }) => {
    if (head.origin !== newest.origin) return [];
    if (head.size > newest.size)
      addSentence(unproven, `${file} is newer than the copy: its tree has ${countOf(head.size, 'event')}`);
    else return [{ name: file, size: head.size, root: ledger.decodeHash(head.root) ?? ledger.emptyRoot }];
    return [];
  });
}

function compare({ name, ...head }: Earlier, tiles: ledger.Tile[], verdict: Verdict): void {
  if (ledger.isTreeOf(head, tiles)) addSentence(verdict.proven, `the copy continues ${name}`);
  else addSentence(verdict.wrong, `${name} has other events than the copy`);
}

/** No file of a copy is longer: 256 contents, among them whole policies. */
const longestFile = 256_000_000;

/** Returns the bytes of a file; null if there is none. Throws an Error for a folder, a link, a device, and a file that is too long. */
function read(path: string): Buffer | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile()) throw new DamagedFile(`${basename(path)} is no file`);
  if (found.size > longestFile) throw new DamagedFile(`${basename(path)} is longer than it can be`);
  return readFileSync(path);
}
