import * as ledger from '@keywarden/core/ledger';
import { sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';

// The tree of the ledger, read from its tiles. Nothing here trusts the database: every root is computed from hashes.

/** Returns these tiles, as far as the store has them. */
export async function readTiles(db: Reader, wanted: ledger.TileCoordinates[]): Promise<ledger.Tile[]> {
  if (wanted.length === 0) return [];
  const levels = sql.param(wanted.map(({ level }) => level));
  const indexes = sql.param(wanted.map(({ index }) => String(index)));
  const rows = await db.execute(sql`
    select t.level, t.index::text as index, encode(t.hashes, 'hex') as hashes from keywarden.ledger_tile t
      join unnest(${levels}::int[], ${indexes}::bigint[]) as w(level, index) on (t.level, t.index) = (w.level, w.index)`);
  return rows.map(({ level, index, hashes }) => ({
    level: Number(level),
    index: Number(index),
    hashes: Buffer.from(String(hashes), 'hex'),
  }));
}

/** Returns the hashes that prove that the tree of this size continues a smaller one. Throws a RangeError if the store lacks a hash. */
export async function readConsistency(
  db: Reader,
  { oldSize, size }: { oldSize: number; size: number },
): Promise<ledger.Hash[]> {
  const ranges = ledger.rangesOfConsistency(oldSize, size);
  return ledger.hashRanges(ranges, await readTiles(db, ledger.tilesOf(ranges)));
}

/** Returns whether the store's tree begins with the leaves of a tree that was seen before. */
export async function continues(db: Reader, seen: ledger.TreeHead): Promise<boolean> {
  return ledger.isTreeOf(seen, await readTiles(db, ledger.tilesOf([{ from: 0, to: seen.size }])));
}

/** Returns a tile with that many hashes; null if the tree does not have them. */
export async function readTile(
  db: Reader,
  { width, ...place }: ledger.TileCoordinates & { width: number },
): Promise<Uint8Array | null> {
  const [tile] = await readTiles(db, [place]);
  const hashes = tile?.hashes.subarray(0, width * ledger.hashSize);
  return hashes?.length === width * ledger.hashSize ? hashes : null;
}

/** Returns a bundle of that many entries of the log (c2sp.org/tlog-tiles), or of their contents; null if the tree does not have them. */
export async function readBundle(
  db: Reader,
  { level, index, width }: { level: 'entries' | 'contents'; index: number; width: number },
): Promise<Uint8Array | null> {
  const from = index * ledger.tileWidth;
  const column = level === 'entries' ? sql`leaf` : sql`content`;
  const rows = await db.execute(sql`
    select ${column} as text from keywarden.ledger_event where leaf_index >= ${from} and leaf_index < ${from + width} order by leaf_index`);
  const texts = rows.map(({ text }) => String(text));
  if (texts.length !== width) return null;
  return level === 'entries'
    ? ledger.packEntries(texts.map((text) => Buffer.from(text)))
    : Buffer.from(ledger.packContents(texts));
}
