import { asc, desc, eq, isNull, or, sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { ledgerBeginning, ledgerCheckpoint, ledgerCosignature, ledgerEvent, ledgerKey } from '../schema/ledger.ts';
import type { Db } from '../sql.ts';

/** Returns the newest signed checkpoint; null before the first. */
export async function readNewestCheckpoint(db: Db) {
  const { size, note, madeAt } = ledgerCheckpoint;
  const [row] = await db.select({ size, note, madeAt }).from(ledgerCheckpoint).orderBy(desc(size)).limit(1);
  return row === undefined ? null : { ...row, size: Number(row.size) };
}

/** The events of the newest checkpoint. */
const signed = sql`(select coalesce(max(${ledgerCheckpoint.size}), 0) from ${ledgerCheckpoint})`;
/** The events that have a place in the tree. */
const placed = sql`(select coalesce(max(${ledgerEvent.leafIndex}) + 1, 0) from ${ledgerEvent})`;

/**
 * Returns how many events wait to be signed, and how long the oldest has waited by the database's clock; null if none waits. An event with a place in the tree
 * waits too, until the store has a checkpoint of it. The first such event is read for all of them: a condition on all would read the whole ledger.
 */
export async function readOldestWaiting(db: Db) {
  const [row] = await db
    .select({
      events: sql<number>`(count(*) filter (where ${ledgerEvent.leafIndex} is null) + greatest(${placed} - ${signed}, 0))::int`,
      since: sql<string>`min(${ledgerEvent.recordedAt})`.mapWith(ledgerEvent.recordedAt),
      ageMs: sql<number>`(extract(epoch from clock_timestamp() - min(${ledgerEvent.recordedAt})) * 1000)::float8`,
    })
    .from(ledgerEvent)
    .where(or(isNull(ledgerEvent.leafIndex), eq(ledgerEvent.leafIndex, signed)));
  return row === undefined || row.events === 0 ? null : row;
}

/** A public key of the ledger, and the note by which an earlier key names it; null for the first. */
type EndorsedKey = Pick<typeof ledgerKey.$inferSelect, 'publicKey' | 'endorsement'>;

/** Records public keys, and endorsements, that the store does not have yet, each in a transaction of its own: see docs/ARCHITECTURE.md, "Lock order". */
export async function noteLedgerKeys(db: Db, keys: EndorsedKey[]): Promise<void> {
  const known = await listLedgerKeys(db);
  const fresh = keys.filter(({ publicKey, endorsement }) => {
    const found = known.find((each) => each.publicKey === publicKey);
    return found === undefined || (found.endorsement === null && endorsement !== null);
  });
  // Another machine may have recorded a key meanwhile, with its endorsement.
  const setWhere = isNull(ledgerKey.endorsement);
  for (const key of fresh)
    await db
      .insert(ledgerKey)
      .values(key)
      .onConflictDoUpdate({ target: ledgerKey.publicKey, set: { endorsement: sql`excluded.endorsement` }, setWhere });
}

/** Records that a person begins the ledger anew, once after each checkpoint of the former one: a run that was killed is repeated. */
export async function recordBeginning(db: Db, beginning: typeof ledgerBeginning.$inferInsert): Promise<void> {
  const { formerCheckpoint, number } = ledgerBeginning;
  const [last] = await db.select({ formerCheckpoint }).from(ledgerBeginning).orderBy(desc(number)).limit(1);
  if (last !== undefined && last.formerCheckpoint === beginning.formerCheckpoint) return;
  await db.insert(ledgerBeginning).values(beginning);
}

/** Records that public keys sign no more, each in a transaction of its own. */
export async function endLedgerKeys(db: Db, publicKeys: string[]): Promise<void> {
  for (const key of publicKeys)
    await db.update(ledgerKey).set({ endedAt: sql`clock_timestamp()` }).where(eq(ledgerKey.publicKey, key));
}

/** Lists the public keys that the store has for its ledger. Nothing proves them but signatures that a machine accepts. */
export async function listLedgerKeys(db: Reader): Promise<(EndorsedKey & { endedAt: string | null })[]> {
  const { publicKey, endedAt, endorsement, number } = ledgerKey;
  return await db.select({ publicKey, endedAt, endorsement }).from(ledgerKey).orderBy(asc(number));
}

/** Returns the size of the newest checkpoint of this ledger that each witness cosigned, by the witness's name. A ledger that was begun anew has another name. */
export async function listCosigned(db: Db): Promise<Map<string, number>> {
  const { witness, size } = ledgerCosignature;
  const origin = sql`split_part(${ledgerCheckpoint.note}, E'\\n', 1)`;
  const newest = sql`(select split_part(note, E'\\n', 1) from keywarden.ledger_checkpoint order by size desc limit 1)`;
  const rows = await db
    .select({ witness, size: sql<string>`max(${size})` })
    .from(ledgerCosignature)
    .innerJoin(ledgerCheckpoint, eq(ledgerCheckpoint.size, size))
    .where(sql`${origin} = ${newest}`)
    .groupBy(witness);
  return new Map(rows.map((row) => [row.witness, Number(row.size)]));
}

/** Returns the newest checkpoint for which there are signature lines of a witness; null if there is none. Nothing says that they are valid. */
export async function readNewestCosignature(
  db: Db,
  witness: string,
): Promise<{ size: number; note: string; lines: string } | null> {
  const [row] = await db
    .select({ size: ledgerCosignature.size, note: ledgerCheckpoint.note, lines: ledgerCosignature.lines })
    .from(ledgerCosignature)
    .innerJoin(ledgerCheckpoint, eq(ledgerCheckpoint.size, ledgerCosignature.size))
    .where(eq(ledgerCosignature.witness, witness))
    .orderBy(desc(ledgerCosignature.size))
    .limit(1);
  return row === undefined ? null : { ...row, size: Number(row.size) };
}

/** Stores a witness's signature lines on a checkpoint. */
export async function saveCosignature(
  db: Db,
  { size, witness, lines }: { size: number; witness: string; lines: string },
): Promise<void> {
  await db
    .insert(ledgerCosignature)
    .values({ size: String(size), witness, lines })
    .onConflictDoUpdate({ target: [ledgerCosignature.size, ledgerCosignature.witness], set: { lines } });
}
