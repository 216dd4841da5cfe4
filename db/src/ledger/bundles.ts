import { hashSize, packContents, packEntries, type TileCoordinates, tileWidth } from '@keywarden/core/ledger';
import { sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { readTiles } from './tree.ts';

/** Returns a tile with that many hashes; null if the tree does not have them. */
export async function readTile(
  db: Reader,
  { width, ...place }: TileCoordinates & { width: number },
): Promise<Uint8Array | null> {
  const [tile] = await readTiles(db, [place]);
  const hashes = tile?.hashes.subarray(0, width * hashSize);
  return hashes?.length === width * hashSize ? hashes : null;
}

/** Returns a bundle of that many entries of the log (c2sp.org/tlog-tiles), or of their contents; null if the tree does not have them. */
export async function readBundle(
  db: Reader,
  { level, index, width }: { level: 'entries' | 'contents'; index: number; width: number },
): Promise<Uint8Array | null> {
  const from = index * tileWidth;
  const column = level === 'entries' ? sql`leaf` : sql`content`;
  const rows = await db.execute(sql`
    select ${column} as text from keywarden.ledger_event where leaf_index >= ${from} and leaf_index < ${from + width} order by leaf_index`);
  const texts = rows.map(({ text }) => String(text));
  if (texts.length !== width) return null;
  return level === 'entries' ? packEntries(texts.map((text) => Buffer.from(text))) : Buffer.from(packContents(texts));
}
