import {
  edgeOf,
  emptyRoot,
  growTree,
  hashLeaf,
  hashRanges,
  isSameHash,
  type Tile,
  type TreeHead,
} from '@keywarden/core/ledger';
import { builderOf, type Sql } from '../sql.ts';
import { continues, readTiles } from './tree.ts';

/**
 * Why the tree cannot grow.
 * - signature: the last checkpoint is not signed by this machine's key.
 * - hashes: the stored hashes are not those of the last checkpoint.
 * - older: the store has fewer leaves than this machine has seen.
 * - forked: the store has other leaves than this machine has seen.
 */
export type Inconsistency = 'signature' | 'hashes' | 'older' | 'forked';

export interface Integrated {
  /** The newest checkpoint, signed; null for an empty tree. */
  note: string | null;
  size: number;
  added: number;
  /** Whether further events may wait. */
  hasMore: boolean;
}

export interface Sequencer {
  /** The most events to add in one transaction. */
  limit: number;
  /** The last tree that this machine has seen; null before the first. */
  seen: TreeHead | null;
  /** Returns the tree that a note of our key states; null for any other note. */
  open: (note: string) => TreeHead | null;
  /** Returns the signed checkpoint of a tree. It is called only for a tree that continues the last one. */
  sign: (head: TreeHead) => string;
}

/**
 * Adds waiting events to the tree, oldest first, and stores a signed checkpoint of the new size, in one transaction. One sequencer works at a time. Returns
 * why not if the stored tree does not continue the one that was signed and seen.
 */
export async function integrateEvents(
  sql: Sql,
  { limit, seen, open, sign }: Sequencer,
): Promise<Integrated | Inconsistency> {
  return await sql.begin(async (tx) => {
    // Only the daemon's role can take this lock, and readers do not wait for it.
    await tx`set local lock_timeout = '10s'`;
    await tx`lock table keywarden.ledger_tile in share row exclusive mode`;
    const db = builderOf(tx);
    const [last] = await tx`select note from keywarden.ledger_checkpoint order by size desc limit 1`;
    const note = last === undefined ? null : String(last.note);
    const signed = note === null ? { size: 0, root: emptyRoot } : open(note);
    if (signed === null) return 'signature';
    const { size } = signed;
    if (seen !== null && seen.size > size) return 'older';
    const edge = await readTiles(db, edgeOf(size));
    if (!isEdgeOf(signed, edge)) return 'hashes';
    if (seen !== null && !(await continues(db, seen))) return 'forked';
    const waiting = await tx`
      select number, leaf from keywarden.ledger_event where leaf_index is null order by number limit ${limit}`;
    if (waiting.length === 0) return { note, size, added: 0, hasMore: false };
    const tiles = growTree(
      size,
      edge,
      waiting.map(({ leaf }) => hashLeaf(String(leaf))),
    );
    await tx`select keywarden.place_events(${size}, ${waiting.map(({ number }) => String(number))}::bigint[])`;
    await tx`
      insert into keywarden.ledger_tile (level, index, hashes)
      select level, index, decode(hashes, 'hex') from unnest(${tiles.map(({ level }) => level)}::int[],
        ${tiles.map(({ index }) => String(index))}::bigint[], ${tiles.map(({ hashes }) => Buffer.from(hashes).toString('hex'))}::text[])
        as t(level, index, hashes)
      on conflict (level, index) do update set hashes = excluded.hashes`;
    const grown = size + waiting.length;
    const newest = new Map(edge.concat(tiles).map((tile) => [`${tile.level} ${tile.index}`, tile]));
    const [root] = hashRanges([{ from: 0, to: grown }], [...newest.values()]);
    if (root === undefined) return 'hashes';
    const grownNote = sign({ size: grown, root });
    await tx`insert into keywarden.ledger_checkpoint (size, note) values (${grown}, ${grownNote})`;
    return { note: grownNote, size: grown, added: waiting.length, hasMore: waiting.length === limit };
  });
}

/** Returns whether the hashes at the edge are those of the signed tree. */
function isEdgeOf({ size, root }: TreeHead, edge: Tile[]): boolean {
  if (size === 0) return true;
  try {
    const [found] = hashRanges([{ from: 0, to: size }], edge);
    return found !== undefined && isSameHash(found, root);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
