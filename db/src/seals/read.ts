import { emptyRoot, hashSize, rootOfHashes, sealedColumns } from '@keywarden/core/ledger';
import {
  compareInstants,
  type DayRange,
  dayMs,
  dayNumbered,
  isInstant,
  monthOf,
  monthsOf,
  startOfDay,
} from '@keywarden/core/values';
import { and, asc, desc, eq, gte, lt, min } from 'drizzle-orm';
import { ledgerEvent, operationSeal } from '../schema/ledger.ts';
import { operationSealing } from '../schema/operations.ts';
import { anyOf, builderOf, type Sql, type Tx } from '../sql.ts';

// What sealing and checking the seals read of a project.

/**
 * Makes pages of these projects wait until the transaction ends, so that none is between what is read and what is concluded from it. Retention drops no month
 * meanwhile.
 */
export async function holdPages(tx: Tx, numbers: string[]): Promise<void> {
  await tx`
    select pg_advisory_xact_lock(hashtextextended('operations of project ' || n, 2)) from (
      select n from unnest(${numbers}::bigint[]) n order by n offset 0) ordered`;
  await tx`lock table keywarden.operation in access share mode`;
}

/** Until when a project is sealed. */
export interface SealingState {
  sealedTo: string;
  /** The days that changed since. */
  changed: DayRange[];
}

/** Returns the state of each project. Projects that were never sealed are absent. */
export async function readStates(tx: Tx, numbers: string[]): Promise<Map<string, SealingState>> {
  const { projectNumber, sealedTo, changed } = operationSealing;
  const rows = await builderOf(tx)
    .select({ projectNumber, sealedTo, changed })
    .from(operationSealing)
    .where(anyOf(projectNumber, numbers));
  return new Map(rows.map((row) => [row.projectNumber, { sealedTo: row.sealedTo, changed: rangesOf(row.changed) }]));
}

/** Reads Postgres's text of days. It prints every range with its first day and the day after its last. */
function rangesOf(days: string): DayRange[] {
  return [...days.matchAll(/\[([\d-]+),([\d-]+)\)/g)].map(([, from = '', to = '']) => ({ from, to }));
}

/** A drop of a month by retention, as the ledger has it. */
interface Drop {
  /** The number of its event. Drops and seals of the same rows exclude each other, so the numbers of their events tell which was first. No clock does. */
  event: number;
  /** When it says that it was, or when it was recorded, if that was later. */
  at: string;
}

/** The drops of each month, such as `2026-05`, oldest first. Rows may have come back since. */
export type Drops = Map<string, Drop[]>;

/** Returns the drops of the months of a range. */
export async function readDrops(tx: Tx, range: DayRange): Promise<Drops> {
  const { number, subject, content, recordedAt, type } = ledgerEvent;
  const rows = await builderOf(tx)
    .select({ number, subject, content, recordedAt })
    .from(ledgerEvent)
    .where(and(eq(type, 'retention.dropped'), anyOf(subject, subjectsOfDrops(range))))
    .orderBy(asc(number));
  const drops: Drops = new Map();
  for (const row of rows) {
    const droppedAt = droppedAtOf(row.content);
    const month = monthOf(row.subject.slice('operation_drop/'.length));
    if (droppedAt === null) continue;
    const at = compareInstants(droppedAt, row.recordedAt) > 0 ? droppedAt : row.recordedAt;
    drops.set(month, [...(drops.get(month) ?? []), { event: Number(row.number), at }]);
  }
  return drops;
}

/** Returns the subjects of the events about the months of a range. */
export const subjectsOfDrops = (range: DayRange): string[] =>
  monthsOf(range).map((month) => `operation_drop/${month}-01`);

/** Returns when a month was dropped, from the content of its event; null if it was only announced again. */
export function droppedAtOf(content: string): string | null {
  try {
    const { dropped_at: at } = JSON.parse(content) as { dropped_at?: unknown };
    return typeof at === 'string' && isInstant(at) ? at : null;
  } catch {
    // It was changed; another comparison says so.
    return null;
  }
}

/**
 * Returns a function that tells whether the month of a day was dropped after one of these seals, and before the `next` one if that is given. A seal without an
 * event in the ledger is not believed.
 */
export async function readDropOrder(
  tx: Tx,
  drops: Drops,
  seals: string[],
): Promise<(day: string, seal: string, next?: string) => boolean> {
  if (drops.size === 0) return () => false;
  const subjects = seals.map((seal) => `operation_seal/${seal}`);
  const { number, subject, type } = ledgerEvent;
  const rows = await builderOf(tx)
    .select({ subject, event: min(number) })
    .from(ledgerEvent)
    .where(and(eq(type, 'archive.sealed'), anyOf(subject, subjects)))
    .groupBy(subject);
  const events = new Map(rows.map((row) => [row.subject, Number(row.event)]));
  const eventOf = (seal: string) => events.get(`operation_seal/${seal}`) ?? Number.NaN;
  return (day, seal, next) =>
    drops
      .get(monthOf(day))
      ?.some(({ event }) => event > eventOf(seal) && (next === undefined || event < eventOf(next))) === true;
}

/** What a seal says about its day. */
export type Sealable = Pick<typeof operationSeal.$inferSelect, 'operations' | 'root' | 'covered' | 'gaps'>;

/** Returns the first day with a seal of each project that has one: of all, or of these. */
export async function readFirstSeals(tx: Sql | Tx, numbers?: string[]): Promise<Map<string, string>> {
  const { projectNumber, day } = operationSeal;
  const rows = await builderOf(tx)
    .select({ projectNumber, first: min(day) })
    .from(operationSeal)
    .where(numbers && anyOf(projectNumber, numbers))
    .groupBy(projectNumber)
    .orderBy(projectNumber);
  return new Map(rows.flatMap(({ projectNumber: number, first }) => (first === null ? [] : [[number, first]])));
}

/** Returns the newest seal of each day of a range. */
export async function readNewestSeals(
  tx: Tx,
  project: string,
  { from, to }: DayRange,
): Promise<Map<string, Sealable & { number: string }>> {
  const { day, number, operations, root, covered, gaps, projectNumber } = operationSeal;
  const rows = await builderOf(tx)
    .selectDistinctOn([day], { day, number, operations, root, covered, gaps })
    .from(operationSeal)
    .where(and(eq(projectNumber, project), gte(day, from), lt(day, to)))
    .orderBy(asc(day), desc(number));
  return new Map(rows.map(({ day: of, ...seal }) => [of, seal]));
}

/**
 * Returns the root of each day of a project that has operations. It reads `rowsAtOnce` operations at a time, or a whole day if that has more. Six million a
 * day fit into one answer of Postgres; with more it throws an error.
 */
export async function hashDays(
  tx: Tx,
  project: string,
  { from, to }: DayRange,
  rowsAtOnce = 50_000,
): Promise<Map<string, { operations: number; root: string }>> {
  const days = new Map<string, { operations: number; root: string }>();
  for (let [first, limit] = [from, rowsAtOnce]; first < to; ) {
    const rows = await readHashedRows(tx, project, { from: first, to, limit });
    const isCut = rows.length === limit * rowSize;
    // The rows of the last day may be cut: it is read again.
    const next = isCut ? dayNumbered(dayAt(rows, rows.length - rowSize)) : to;
    if (next === first) limit *= 2;
    for (let at = 0; at < rows.length; ) {
      const day = dayAt(rows, at);
      const begin = at;
      // The hashes of a day move together, to its first row.
      for (let end = begin; at < rows.length && dayAt(rows, at) === day; at += rowSize, end += hashSize)
        rows.copyWithin(end, at + timeSize, at + rowSize);
      if (isCut && at === rows.length) break;
      const operations = (at - begin) / rowSize;
      const root = rootOfHashes(rows.subarray(begin, begin + operations * hashSize));
      days.set(dayNumbered(day), { operations, root: Buffer.from(root).toString('hex') });
    }
    first = next;
  }
  return days;
}

/** The root of a day without operations. */
export const emptyRootText = Buffer.from(emptyRoot).toString('hex');

const columns = Object.keys(sealedColumns).join(', ');

/** Returns the first rows of a project's operations of some days, each as its time and its hash. They come as one value, in base64: so many rows cost less than any other way. */
async function readHashedRows(
  tx: Tx,
  project: string,
  { from, to, limit }: DayRange & { limit: number },
): Promise<Buffer> {
  const [row] = await tx`
    select encode(string_agg(timestamptz_send(created_at) || sha256('\\x00'::bytea || record_send(row(${tx.unsafe(columns)}))), ''::bytea
      order by created_at, id), 'base64') as rows
    from (
      select ${tx.unsafe(columns)} from keywarden.operation
      where project_number = ${project} and created_at >= ${startOfDay(from)}::timestamptz and created_at < ${startOfDay(to)}::timestamptz
      order by created_at, id limit ${limit}) o`;
  return Buffer.from(String(row?.rows ?? ''), 'base64');
}

/** Bytes of a time: Postgres sends microseconds since 2000-01-01 in UTC. */
const timeSize = 8;
const rowSize = timeSize + hashSize;
const dayMicroseconds = dayMs * 1000;
const firstDay = Date.UTC(2000) / dayMs;

/** Returns the number of days from 1970-01-01 to the row at a position. */
function dayAt(rows: Buffer, at: number): number {
  const microseconds = rows.readInt32BE(at) * 2 ** 32 + rows.readUInt32BE(at + 4);
  return firstDay + Math.floor(microseconds / dayMicroseconds);
}
