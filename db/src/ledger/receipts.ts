import * as ledger from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import { and, asc, eq, gt, lt, not, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { ledgerEvent, ledgerSalt } from '../schema/ledger.ts';
import { anyOf, readText } from '../sql.ts';
import { readTiles } from './tree.ts';

/** A signed tree, with the cosignatures of witnesses. */
export interface SignedTree {
  size: number;
  note: string;
}

/** An event with what proves it. */
export interface PlacedEvent {
  number: string;
  type: string;
  /** The entry of the log. */
  leaf: string;
  /** The canonical JSON whose hash the leaf has. */
  content: string;
  leafIndex: number;
  /** Null if the event has no personal data, or it is erased. */
  salt: string | null;
}

/**
 * Returns the newest checkpoint with its cosignatures; null before the first. With `prefersCosigned`, the newest one that a witness cosigned, if it was signed
 * within the last hour of the ledger: a witness that has ended holds nothing back.
 */
export async function readSignedTree(db: Reader, { prefersCosigned = false } = {}): Promise<SignedTree | null> {
  // A ledger that was begun anew has another name.
  const origin = (note: SQL) => sql`split_part(${note}, E'\\n', 1)`;
  const isOfNewest = sql`${origin(sql`c.note`)} = ${origin(sql`newest.note`)}`;
  const isCosigned = sql`exists (select from keywarden.ledger_cosignature s where s.size = c.size) and ${isOfNewest}`;
  const isRecent = sql`c.made_at between newest.made_at - interval '1 hour' and newest.made_at`;
  const preferred = prefersCosigned ? sql`(${isCosigned}) desc,` : sql``;
  const [row] = await db.execute(sql`
    select c.size::text, c.note, coalesce((select string_agg(s.lines, E'\\n' order by s.witness)
      from keywarden.ledger_cosignature s where s.size = c.size), '') as lines
    from keywarden.ledger_checkpoint c, (select size, note, made_at from keywarden.ledger_checkpoint order by size desc limit 1) newest
    where ${isRecent}
    order by ${preferred} c.size desc limit 1`);
  return row === undefined
    ? null
    : { size: Number(row.size), note: ledger.addSignatures(String(row.note), String(row.lines)) };
}

/** Which events are read: some, those about some rows, or all that archives of evidence have, after a place in the tree. */
type EventChoice = { numbers: string[] } | { subjects: string[] } | { after: number; limit: number };

/** Returns the chosen events that a tree of this size has, in the order of the tree. */
export async function readPlacedEvents(
  db: Reader,
  { size, ...choice }: EventChoice & { size: number },
): Promise<PlacedEvent[]> {
  const { number, type, leaf, content, leafIndex } = ledgerEvent;
  const rows = db
    .select({ number, type, leaf, content, leafIndex: sql`${leafIndex}`.mapWith(Number), salt: ledgerSalt.salt })
    .from(ledgerEvent)
    .leftJoin(ledgerSalt, eq(ledgerSalt.eventNumber, number))
    .where(and(conditionOf(choice), lt(leafIndex, String(size))))
    .orderBy(asc(leafIndex));
  return await ('limit' in choice ? rows.limit(choice.limit) : rows);
}

function conditionOf(choice: EventChoice): SQL | undefined {
  const { number, subject, type, leafIndex } = ledgerEvent;
  if ('numbers' in choice) return anyOf(number, choice.numbers);
  if ('subjects' in choice) return anyOf(subject, choice.subjects);
  return and(not(anyOf(type, ledger.leftOutOfEvidence)), gt(leafIndex, String(choice.after)));
}

/** Returns the receipts of events in a tree. Personal data is shown only with its salt, and if the row still has what was recorded. */
export async function makeReceipts(db: Reader, events: PlacedEvent[], { size, note }: SignedTree): Promise<string[]> {
  const ranges = events.map(({ leafIndex }) => ledger.rangesOfInclusion(leafIndex, size));
  const tiles = await readTiles(db, ledger.tilesOf(ranges.flat()));
  const receipts: string[] = [];
  for (const [place, event] of events.entries()) {
    const { leaf, content, salt, leafIndex: index } = event;
    const personal = salt === null ? {} : await readPersonalData(db, event, salt);
    const hashes = ledger.hashRanges(ranges[place] ?? [], tiles);
    receipts.push(ledger.formatReceipt({ leaf, content, salt, personal }, { index, hashes, checkpoint: note }));
  }
  return receipts;
}

/**
 * Returns the receipt of an event; null if no signed tree has it yet. A tree that a witness cosigned within the last hour proves more, but may not have the
 * newest events yet. An older cosigned tree is not used, because only former keys may have signed it.
 */
export async function readReceipt(db: Reader, number: string): Promise<string | null> {
  for (const prefersCosigned of [true, false]) {
    const tree = await readSignedTree(db, { prefersCosigned });
    const events = tree === null ? [] : await readPlacedEvents(db, { numbers: [number], size: tree.size });
    const [receipt] = tree === null ? [] : await makeReceipts(db, events, tree);
    if (receipt !== undefined) return receipt;
  }
  return null;
}

async function readPersonalData(
  db: Reader,
  { number, content: text }: PlacedEvent,
  salt: string,
): Promise<Record<string, string>> {
  const personal = await readText(db.execute(sql`select keywarden.personal_data_of(${number}::bigint)::text`));
  const data = JSON.parse(personal) as Record<string, string>;
  const content = JSON.parse(text) as Record<string, { salted?: string } | string | null>;
  const isRecorded = ([name, value]: [string, string]) => {
    const held = content[name];
    return typeof held === 'object' && held?.salted === sha256(`${salt}:${name}:${value}`);
  };
  return Object.fromEntries(Object.entries(data).filter(isRecorded));
}
