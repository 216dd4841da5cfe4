import * as ledger from '@keywarden/core/ledger';
import { isInstant, someOf } from '@keywarden/core/values';
import { and, asc, gte, isNull, lt, sql } from 'drizzle-orm';
import { openLedgerIncident } from '../incidents/incidents.ts';
import { ledgerCheckpoint, ledgerEvent, ledgerTile } from '../schema/ledger.ts';
import { builderOf, type Db, readNumber, type Sql, type Tx } from '../sql.ts';
import { parseEntry } from './check.ts';
import { readNewestCheckpoint } from './checkpoints.ts';
import { readTiles } from './tree.ts';

/**
 * Why the tree cannot grow.
 * - signature: the last checkpoint is not signed by this machine's key.
 * - hashes: the stored hashes are not those of the last checkpoint.
 * - older: the store has fewer leaves than this machine has seen.
 * - forked: the store has other leaves than this machine has seen.
 * - places: an event has a place that does not follow the others.
 * - lost: the last event of the signed tree is not in the store.
 */
export type Inconsistency = 'signature' | 'hashes' | 'older' | 'forked' | 'places' | 'lost';

export interface Integrated {
  /** The newest checkpoint, signed; null for an empty tree. */
  note: string | null;
  size: number;
  added: number;
  /** Whether further events may wait. */
  hasMore: boolean;
  /** The time, in ms, before which all recorded events have their places, but for transactions that were open; null if it is not known. */
  latestMs: number | null;
}

export interface Sequencer {
  /** The most events to add in one transaction. */
  limit: number;
  /** The last tree that this machine has signed or seen; null before the first. */
  seen: ledger.TreeHead | null;
  /** What the last run of this machine returned as `latestMs`. It is kept outside the database; absent or null if it is not known. */
  latestMs?: number | null;
  /** Returns the tree that a note of our key states; null for any other note. */
  open: (note: string) => ledger.TreeHead | null;
  /**
   * Returns the signed checkpoint of a tree. It is called only for a tree that continues the last one, and whose events have their places for good. It
   * remembers the tree outside the database before it returns: a person who has the signature must not make it sign another tree of that size. It returns null if
   * it has signed a later tree, or another one of that size.
   */
  sign: (head: ledger.TreeHead) => string | null;
}

/**
 * Adds waiting events to the tree, oldest first, and stores a signed checkpoint of the new size. The events have their places, committed, before the tree is
 * signed. A run that ends between the two leaves events with places that no checkpoint signs; the next run signs them in that order. One sequencer works at a
 * time. Returns why not if the stored tree does not continue the one that was signed and seen.
 */
export async function integrateEvents(store: Sql, sequencer: Sequencer): Promise<Integrated | Inconsistency> {
  const refused = await store.begin(async (tx) => await claimLog(tx, sequencer));
  if (refused !== null) return refused;
  const placed = await store.begin(async (tx) => await placeEvents(tx, sequencer));
  if (typeof placed === 'string') return placed;
  const { unsigned, ...integrated } = placed;
  return unsigned === null
    ? integrated
    : await store.begin(async (tx) => await signTree(tx, unsigned, integrated, sequencer));
}

/**
 * Stores the signed checkpoint of the tree without an event, if there is none yet: the first machine gives the ledger its name and key before it remembers a
 * tree of events. Returns why not if another machine has.
 */
async function claimLog(tx: Tx, { open, sign }: Sequencer): Promise<Inconsistency | null> {
  const newest = await lockAndReadNewest(tx);
  if (newest !== null) return open(newest) === null ? 'signature' : null;
  const note = sign(ledger.emptyTree);
  if (note !== null) await builderOf(tx).insert(ledgerCheckpoint).values({ size: '0', note });
  return null;
}

async function signTree(
  tx: Tx,
  head: ledger.TreeHead,
  integrated: Integrated,
  { open, sign }: Sequencer,
): Promise<Integrated | Inconsistency> {
  const newest = await lockAndReadNewest(tx);
  const signed = newest === null ? null : open(newest);
  // Another machine has signed first.
  if (newest !== null && signed === null) return 'signature';
  if (signed !== null && signed.size >= head.size) return { ...integrated, note: newest };
  const note = sign(head);
  if (note === null) return integrated;
  await builderOf(tx)
    .insert(ledgerCheckpoint)
    .values({ size: String(head.size), note });
  return { ...integrated, note };
}

/** Makes other sequencers wait until the transaction ends. Only the daemon's role can, and readers do not wait. */
async function lockAndReadNewest(tx: Tx): Promise<string | null> {
  await tx`set local lock_timeout = '10s'`;
  await tx`lock table keywarden.ledger_tile in share row exclusive mode`;
  return (await readNewestCheckpoint(builderOf(tx)))?.note ?? null;
}

/** Events that wait for a signature, as a multiple of the limit: a machine that cannot sign places no more. */
const mostUnsigned = 10;

type Entry = Pick<typeof ledgerEvent.$inferSelect, 'number' | 'leaf'>;

interface Placed extends Integrated {
  /** The tree to sign; null if the newest checkpoint signs it. */
  unsigned: ledger.TreeHead | null;
}

async function placeEvents(tx: Tx, { limit, seen, latestMs = null, open }: Sequencer): Promise<Placed | Inconsistency> {
  const note = await lockAndReadNewest(tx);
  const db = builderOf(tx);
  const nowMs = Math.floor(await readNumber(tx`select extract(epoch from clock_timestamp()) * 1000`));
  const signed = note === null ? ledger.emptyTree : open(note);
  if (signed === null) return 'signature';
  const edge = await readTiles(db, ledger.edgeOf(signed.size));
  if (!ledger.isTreeOf(signed, edge)) return 'hashes';
  const { number, leaf, leafIndex } = ledgerEvent;
  const last = await db
    .select({ number, leaf, leafIndex })
    .from(ledgerEvent)
    .where(gte(leafIndex, String(signed.size - 1)))
    .orderBy(asc(leafIndex));
  if (signed.size > 0 && Number(last[0]?.leafIndex) !== signed.size - 1) return 'lost';
  // Events that have their places, although no checkpoint signs them, are added in that order.
  const placed = signed.size > 0 ? last.slice(1) : last;
  if (placed.some((row, index) => Number(row.leafIndex) !== signed.size + index)) return 'places';
  const known = signed.size + placed.length;
  if (seen !== null && seen.size > known) return 'older';
  const most = placed.length < mostUnsigned * limit ? limit : 0;
  const waiting = await db
    .select({ number, leaf })
    .from(ledgerEvent)
    .where(isNull(leafIndex))
    .orderBy(asc(number))
    .limit(most);
  const leaves = [...placed, ...waiting].map((event) => ledger.hashLeaf(event.leaf));
  const tiles = ledger.growTree(signed.size, edge, leaves);
  if (
    seen !== null &&
    !ledger.isTreeOf(seen, overlay(await readTiles(db, ledger.tilesOf([{ from: 0, to: seen.size }])), tiles))
  )
    return 'forked';
  const size = known + waiting.length;
  const hasMore = waiting.length === limit;
  const events = [...placed, ...waiting];
  const latest = await reportBackdated(tx, { events, size: signed.size, before: latestMs, nowMs });
  // After a run that placed all events, further ones are recorded later. Events without a signature are compared again in the next run.
  const next = waiting.length < most ? nowMs : latest;
  const integrated = { note, size, added: waiting.length, hasMore, latestMs: placed.length > 0 ? latestMs : next };
  if (leaves.length === 0) return { ...integrated, unsigned: null };
  const root = ledger.rootOf(size, overlay(edge, tiles));
  if (root === null) return 'hashes';
  await tx`select keywarden.place_events(${known}, ${waiting.map((event) => event.number)}::bigint[])`;
  await saveTiles(db, tiles);
  return { ...integrated, unsigned: { size, root } };
}

/** Events that an incident names. */
const mostNamed = 10;

/**
 * Opens an incident if events say that they were recorded long before earlier ones, or after now. They get their places all the same: what is in the ledger can
 * be looked at. Both are one transaction. Returns the latest time of recording so far, in ms; null before the first.
 */
async function reportBackdated(
  tx: Tx,
  { events, size, before, nowMs }: { events: Entry[]; size: number; before: number | null; nowMs: number },
): Promise<number | null> {
  const { contradicts, latestMs } = ledger.createTimeOrder({ nowMs, latestMs: before });
  if (before === null || before > nowMs)
    for (const { leaf } of await readLastEntries(tx, size)) contradicts(recordedOf(leaf));
  const found = events.flatMap(({ number, leaf }) => {
    const recorded = recordedOf(leaf);
    return contradicts(recorded) ? [`event ${number} at ${recorded?.slice(0, longestTime) ?? 'no time'}`] : [];
  });
  if (found.length > 0) {
    const why = 'events say that they were recorded long before earlier ones, or in the future';
    await openLedgerIncident(builderOf(tx), `${why}: ${someOf(found, mostNamed)}`);
  }
  return latestMs();
}

/** Returns when an entry says that it was recorded; undefined if it names no time. An owner of the database may have written anything. */
function recordedOf(leaf: string): string | undefined {
  const recorded = parseEntry(leaf)?.recorded;
  return isInstant(recorded) ? String(recorded) : undefined;
}

/** Returns the last entries of a tree. An owner of the database can change them: they say something only to a machine that knows nothing better. */
async function readLastEntries(tx: Tx, size: number): Promise<Pick<Entry, 'leaf'>[]> {
  const { leaf, leafIndex } = ledgerEvent;
  return await builderOf(tx)
    .select({ leaf })
    .from(ledgerEvent)
    .where(and(gte(leafIndex, String(size - tailSize)), lt(leafIndex, String(size))))
    .orderBy(asc(leafIndex));
}
const tailSize = 256;

const longestTime = 'YYYY-MM-DDTHH:MM:SS.SSSSSSZ'.length;

async function saveTiles(db: Db, tiles: ledger.Tile[]): Promise<void> {
  await db
    .insert(ledgerTile)
    .values(tiles.map((tile) => ({ ...tile, index: String(tile.index) })))
    .onConflictDoUpdate({ target: [ledgerTile.level, ledgerTile.index], set: { hashes: sql`excluded.hashes` } });
}

/** Returns tiles, those that have changed in the place of the stored ones. */
function overlay(stored: ledger.Tile[], changed: ledger.Tile[]): ledger.Tile[] {
  return [...new Map([...stored, ...changed].map((tile) => [`${tile.level} ${tile.index}`, tile])).values()];
}
