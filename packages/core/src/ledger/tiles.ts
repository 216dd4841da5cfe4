import {
  emptyRoot,
  type Hash,
  hashRange,
  hashSize,
  isSameHash,
  type LeafRange,
  nodesOf,
  type ReadNode,
  rootOfHashes,
  type TreeHead,
} from './merkle.ts';

// How a log stores and serves its tree: c2sp.org/tlog-tiles. A tile has up to 256 hashes of one level. A hash of level L is the root of 256^L leaves.

const height = 8;
/** Hashes of a full tile. */
export const tileWidth = 2 ** height;

/** The position of a tile. */
export interface TileCoordinates {
  level: number;
  index: number;
}

/** A tile with the hashes that it has so far, one after the other. */
export interface Tile extends TileCoordinates {
  hashes: Uint8Array;
}

/** Returns the tiles at the right edge of a tree, from the lowest level up. They are all that a tree needs to grow. */
export function edgeOf(size: number): TileCoordinates[] {
  const tiles: TileCoordinates[] = [];
  for (let [level, hashes] = [0, size]; hashes > 0; level += 1, hashes = Math.floor(hashes / tileWidth))
    if (hashes % tileWidth > 0) tiles.push({ level, index: Math.floor(hashes / tileWidth) });
  return tiles;
}

/**
 * Adds leaves to a tree of this size. Returns the tiles that changed, full ones and those at the new edge. `edge` are the tiles of `edgeOf(size)`; what they
 * have beyond that size is left out.
 */
export function growTree(size: number, edge: Tile[], leafHashes: Hash[]): Tile[] {
  const countAt = (level: number) => Math.floor(size / tileWidth ** level) % tileWidth;
  const open = new Map(
    edge.map(({ level, index, hashes }) => [level, { index, hashes: split(hashes).slice(0, countAt(level)) }]),
  );
  const changed = new Map<string, Tile>();
  const append = (level: number, hash: Hash) => {
    const tile = open.get(level) ?? { index: Math.floor(size / tileWidth ** (level + 1)), hashes: [] };
    open.set(level, tile);
    tile.hashes.push(hash);
    if (tile.hashes.length < tileWidth) return;
    const hashes = Buffer.concat(tile.hashes);
    changed.set(`${level} ${tile.index}`, { level, index: tile.index, hashes });
    append(level + 1, rootOfHashes(hashes));
    open.set(level, { index: tile.index + 1, hashes: [] });
  };
  for (const hash of leafHashes) append(0, hash);
  for (const [level, { index, hashes }] of open)
    if (hashes.length > 0) changed.set(`${level} ${index}`, { level, index, hashes: Buffer.concat(hashes) });
  return [...changed.values()];
}

/** Returns the tiles that contain the hashes of these ranges. */
export function tilesOf(ranges: LeafRange[]): TileCoordinates[] {
  const tiles = ranges.flatMap(nodesOf).map(tileOfNode);
  return [...new Map(tiles.map((tile) => [`${tile.level} ${tile.index}`, tile])).values()];
}

/** Returns the hashes of ranges, computed from tiles. Throws a RangeError if a tile lacks a hash. */
export function hashRanges(ranges: LeafRange[], tiles: Tile[]): Hash[] {
  const byPlace = new Map(tiles.map((tile) => [`${tile.level} ${tile.index}`, tile.hashes]));
  const readNode: ReadNode = (level, index) => {
    const tile = tileOfNode({ level, index });
    const bytes = byPlace.get(`${tile.level} ${tile.index}`) ?? new Uint8Array();
    const width = 2 ** (level % height);
    const first = (index * width) % tileWidth;
    if (bytes.length < (first + width) * hashSize)
      throw new RangeError(`tile ${tilePath(tile)} lacks hash ${first + width - 1}`);
    return rootOfHashes(bytes.subarray(first * hashSize, (first + width) * hashSize));
  };
  return ranges.map((range) => hashRange(range, readNode));
}

/** Returns the root of the first `size` leaves, computed from tiles; null if they lack one of its hashes. */
export function rootOf(size: number, tiles: Tile[]): Hash | null {
  if (size === 0) return emptyRoot;
  try {
    return hashRanges([{ from: 0, to: size }], tiles)[0] ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Returns whether tiles are of the tree with this root. */
export function isTreeOf({ size, root }: TreeHead, tiles: Tile[]): boolean {
  const found = rootOf(size, tiles);
  return found !== null && isSameHash(found, root);
}

/** A level of hashes, the bundles of entries, or the contents whose hashes the entries have (docs/LEDGER.md). */
export type TileLevel = number | 'entries' | 'contents';

/** A tile or bundle. `width` is how many entries, contents or hashes it has: a width below 256 names it as it was then. */
export interface NamedTile {
  level: TileLevel;
  index: number;
  width: number;
}

/** Returns the path of a tile or bundle below the log's prefix; without a width, of a whole one. */
export function tilePath({ level, index, width = tileWidth }: Omit<NamedTile, 'width'> & { width?: number }): string {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, '0');
  const groups = digits.match(/\d{3}/g) ?? [];
  const path = groups.map((group, place) => (place < groups.length - 1 ? `x${group}` : group)).join('/');
  return `tile/${level}/${path}${width < tileWidth ? `.p/${width}` : ''}`;
}

/** Returns what a path below the log's prefix names; null for any other path. */
export function parseTilePath(path: string): NamedTile | null {
  const [, level, groups, width] =
    /^tile\/(0|[1-9]\d?|entries|contents)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? [];
  if (level === undefined || groups === undefined) return null;
  const index = Number(groups.replaceAll(/[x/]/g, ''));
  const parsed = {
    level: level === 'entries' || level === 'contents' ? level : Number(level),
    index,
    width: Number(width ?? tileWidth),
  } as const;
  // One path names each tile: no group of zeros before the first digit, and no partial tile of full width.
  const isCanonical = Number.isSafeInteger(index) && parsed.width <= tileWidth && tilePath(parsed) === path;
  return isCanonical && (typeof parsed.level === 'string' || parsed.level <= 63) ? parsed : null;
}

/** Returns log entries as a bundle: each after its length, as two bytes. Throws a RangeError for an entry over 65,535 bytes. */
export function packEntries(entries: Uint8Array[]): Uint8Array {
  return Buffer.concat(
    entries.flatMap((entry) => {
      if (entry.length > 0xff_ff) throw new RangeError('an entry of a log has at most 65,535 bytes');
      return [Uint8Array.of(entry.length >> 8, entry.length & 0xff), entry];
    }),
  );
}

/** Returns the entries of a bundle; null if it is cut. */
export function unpackEntries(bundle: Uint8Array): Uint8Array[] | null {
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at < bundle.length) {
    const [high, low] = bundle.subarray(at, at + 2);
    if (high === undefined || low === undefined) return null;
    const end = at + 2 + high * 256 + low;
    if (end > bundle.length) return null;
    entries.push(bundle.subarray(at + 2, end));
    at = end;
  }
  return entries;
}

/** Returns the contents of entries as a bundle: one line each. Canonical JSON has no newline. */
export const packContents = (contents: string[]): string => contents.map((content) => `${content}\n`).join('');

/** Returns the contents of a bundle; null if it is cut. */
export const unpackContents = (bundle: string): string[] | null =>
  bundle === '' || bundle.endsWith('\n') ? bundle.split('\n').slice(0, -1) : null;

/** Returns the tile with the hash of a node, or with the hashes that it is computed from. */
function tileOfNode({ level, index }: { level: number; index: number }): TileCoordinates {
  return { level: Math.floor(level / height), index: Math.floor(index / 2 ** (height - (level % height))) };
}

function split(bytes: Uint8Array): Hash[] {
  return Array.from({ length: bytes.length / hashSize }, (_, index) =>
    bytes.subarray(index * hashSize, (index + 1) * hashSize),
  );
}
