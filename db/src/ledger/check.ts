import * as ledger from '@keywarden/core/ledger';
import { canonicalJson, sha256 } from '@keywarden/core/values';
import { and, asc, gt, gte, isNotNull, isNull, sql } from 'drizzle-orm';
import { ledgerEvent } from '../schema/ledger.ts';
import { builderOf, type Sql, type Tx } from '../sql.ts';
import { readNewestCheckpoint } from './checkpoints.ts';
import { readTiles } from './tree.ts';

/** Events that are compared at once: those of twenty tiles. */
const eventsAtOnce = 20 * 256;

/**
 * Computes the whole tree from the events, and compares it with the stored tiles and the newest checkpoint. Returns the first difference, as a sentence
 * without a subject; null if there is none. Memory does not grow with the ledger.
 */
export async function findTreeFault(store: Sql, { signal }: { signal: AbortSignal }): Promise<[string] | null> {
  return await store.begin('isolation level repeatable read read only', async (tx) => {
    const newest = await readNewestCheckpoint(builderOf(tx));
    const note = newest === null ? null : ledger.parseCheckpoint(ledger.splitNote(newest.note)?.text ?? '');
    if (newest !== null && note === null) return ['the newest checkpoint is no signed note'];
    const fault = (await compareTree(tx, note ?? ledger.emptyTree, signal)) ?? (await findUnlikeWaiting(tx));
    return fault === null ? null : [fault];
  });
}

/** Compares the events that wait with their entries, which will be in the tree. */
async function findUnlikeWaiting(tx: Tx): Promise<string | null> {
  for (let after = '0'; ; ) {
    const rows = await builderOf(tx)
      .select({ ...columns, number: ledgerEvent.number })
      .from(ledgerEvent)
      .where(and(isNull(ledgerEvent.leafIndex), gt(ledgerEvent.number, after)))
      .orderBy(asc(ledgerEvent.number))
      .limit(eventsAtOnce);
    for (const row of rows) if (!isEntryOf(row)) return unlike(row);
    const last = rows.at(-1);
    if (last === undefined) return null;
    after = last.number;
  }
}

const { type, subject, leaf, content, leafIndex } = ledgerEvent;
/** What is compared of an event. The time is written as the entry has it. */
const columns = {
  type,
  subject,
  leaf,
  content,
  recorded: sql<string>`(to_json(${ledgerEvent.recordedAt} at time zone 'UTC') #>> '{}') || 'Z'`,
};
type ComparedEvent = Pick<typeof ledgerEvent.$inferSelect, 'type' | 'subject' | 'leaf' | 'content'> & {
  recorded: string;
};

/** Returns whether the entry of the log is that of the event's columns, in the one form that every reader understands alike. */
function isEntryOf(event: ComparedEvent): boolean {
  const entry = parseEntry(event.leaf);
  return (
    entry?.type === event.type &&
    entry?.subject === event.subject &&
    entry?.recorded === event.recorded &&
    entry?.content === sha256(event.content) &&
    canonicalJson(entry) === event.leaf
  );
}

/** Returns the members of an entry; null for a text that is no JSON. */
export function parseEntry(leaf: string): Record<string, unknown> | null {
  try {
    return JSON.parse(leaf) as Record<string, unknown>;
  } catch {
    // It was changed.
    return null;
  }
}

const unlike = (event: ComparedEvent) => `the event of ${event.subject} is not what its entry says`;

/** Compares the events that have a place. The last of them may wait to be signed. */
async function compareTree(
  tx: Tx,
  { size, root }: Pick<ledger.Checkpoint, 'size' | 'root'>,
  signal: AbortSignal,
): Promise<string | null> {
  let edge: ledger.Tile[] = [];
  let at = 0;
  let isSigned = size === 0;
  for (;;) {
    signal.throwIfAborted();
    // No cursor: the tiles are read on the same connection, which a cursor would hold.
    const rows = await builderOf(tx)
      .select({ ...columns, leafIndex })
      .from(ledgerEvent)
      .where(at === 0 ? isNotNull(leafIndex) : gte(leafIndex, String(at)))
      .orderBy(asc(leafIndex))
      .limit(eventsAtOnce);
    const leaves = rows.map((row) => ledger.hashLeaf(row.leaf));
    for (const [offset, row] of rows.entries()) {
      const place = at + offset;
      if (Number(row.leafIndex) !== place)
        return place < size && Number(row.leafIndex) > place
          ? `the event at place ${place} of the tree is missing`
          : `the event of ${row.subject} has a place outside the tree`;
      if (!isEntryOf(row)) return unlike(row);
    }
    if (size > at && size <= at + rows.length)
      isSigned = ledger.isTreeOf({ size, root }, ledger.growTree(at, edge, leaves.slice(0, size - at)));
    const changed = ledger.growTree(at, edge, leaves);
    at += rows.length;
    const isLast = rows.length < eventsAtOnce;
    // A tile at the edge is compared when it has all that it will have.
    const fault = await compareTiles(tx, isLast ? changed : changed.filter(isFull));
    if (fault !== null) return fault;
    if (isLast) break;
    edge = changed.filter((tile) => !isFull(tile));
  }
  if (at < size) return `the ledger has ${at} of the ${size} events that its newest checkpoint signs`;
  return isSigned ? null : 'the events are not those that the newest checkpoint signs';
}

const isFull = ({ hashes }: ledger.Tile) => hashes.length === ledger.tileWidth * ledger.hashSize;

async function compareTiles(tx: Tx, tiles: ledger.Tile[]): Promise<string | null> {
  const stored = await readTiles(builderOf(tx), tiles);
  for (const { level, index, hashes } of tiles) {
    const other = stored.find((tile) => tile.level === level && tile.index === index);
    if (other === undefined || Buffer.compare(other.hashes, hashes) !== 0)
      return `${ledger.tilePath({ level, index })} is not the tile of its events`;
  }
  return null;
}

/** A row that differs from the ledger: it is not what its newest event says, its event says that it was there, or it has no event. */
export interface LedgerRowFault {
  type: string;
  subject: string;
  fault: 'altered' | 'removed' | 'added';
}

/** Compares every governed row with its newest event. */
export async function listLedgerRowFaults(store: Sql | Tx): Promise<LedgerRowFault[]> {
  return await store<LedgerRowFault[]>`
    select type, subject, fault from keywarden.ledger_row_faults() order by type, subject`;
}
