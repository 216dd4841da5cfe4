import { hashSize, rootOfLeaves, sealedColumns } from '@keywarden/core/ledger';
import type { Tx } from '../sql.ts';
import { type DayRange, dayNumbered, startOf } from './days.ts';

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
  /** Whether the oldest of these changes is less than a day old. */
  isRecent: boolean;
}

/** Returns the state of each project. Projects that were never sealed are absent. */
export async function readStates(tx: Tx, numbers: string[]): Promise<Map<string, SealingState>> {
  const rows = await tx`
    select project_number::text as number, sealed_to::text, changed::text, changed_at > now() - interval '1 day' and changed_at <= now() as is_recent
    from keywarden.operation_sealing where project_number = any(${numbers}::bigint[])`;
  return new Map(
    rows.map(({ number, sealed_to: sealedTo, changed, is_recent: isRecent }) => [
      String(number),
      { sealedTo: String(sealedTo), changed: rangesOf(String(changed)), isRecent: isRecent === true },
    ]),
  );
}

/** Reads Postgres's text of days. It prints every range with its first day and the day after its last. */
function rangesOf(days: string): DayRange[] {
  return [...days.matchAll(/\[([\d-]+),([\d-]+)\)/g)].map(([, from = '', to = '']) => ({ from, to }));
}

/** Returns whether retention has ever dropped a month, such as `2026-05`. Rows may have come back since. */
export async function isDroppedMonth(tx: Tx, month: string): Promise<boolean> {
  const rows = await tx`
    select from keywarden.ledger_event where type = 'retention.dropped' and subject = ${`operation_drop/${month}-01`} limit 1`;
  return rows.length > 0;
}

/** What a seal says about its day. */
export interface Sealable {
  operations: number;
  /** In hexadecimal digits. */
  root: string;
  /** Canonical JSON. */
  covered: string;
  gaps: string;
}

/** Returns which of these projects have a seal. */
export async function readSealedProjects(tx: Tx, numbers: string[]): Promise<Set<string>> {
  const rows = await tx`
    select n::text as number from unnest(${numbers}::bigint[]) n
    where exists (select from keywarden.operation_seal s where s.project_number = n)`;
  return new Set(rows.map(({ number }) => String(number)));
}

/** Returns the newest seal of each day of a range. */
export async function readNewestSeals(
  tx: Tx,
  project: string,
  { from, to }: DayRange,
): Promise<Map<string, Sealable & { number: string }>> {
  const rows = await tx`
    select distinct on (s.day) s.day::text, s.number::text, operations, root, covered, gaps from keywarden.operation_seal s
    where project_number = ${project} and s.day >= ${from} and s.day < ${to} order by s.day, s.number desc`;
  return new Map(
    rows.map(({ day, number, operations, root, covered, gaps }) => [
      String(day),
      {
        number: String(number),
        operations: Number(operations),
        root: String(root),
        covered: String(covered),
        gaps: String(gaps),
      },
    ]),
  );
}

const columns = Object.keys(sealedColumns).join(', ');

/**
 * Returns the root of each day of a project that has operations, computed from the rows of one month. The rows come as one value, each its day and its hash,
 * in the order of the index: Postgres sorts nothing. That holds seven million operations of a project in a month; with more, it throws an error.
 */
export async function hashDays(
  tx: Tx,
  project: string,
  { from, to }: DayRange,
): Promise<Map<string, { operations: number; root: string }>> {
  const [row] = await tx`
    select string_agg(int4send((created_at at time zone 'UTC')::date - '1970-01-01'::date) || sha256('\\x00'::bytea || record_send(row(${tx.unsafe(columns)}))), ''::bytea
      order by created_at, id) as hashes
    from keywarden.operation
    where project_number = ${project} and created_at >= ${startOf(from)}::timestamptz and created_at < ${startOf(to)}::timestamptz`;
  const hashes = (row?.hashes ?? Buffer.alloc(0)) as Buffer;
  const days = new Map<string, { operations: number; root: string }>();
  for (let at = 0; at < hashes.length; ) {
    const day = hashes.readInt32BE(at);
    let end = at;
    while (end < hashes.length && hashes.readInt32BE(end) === day) end += rowSize;
    const root = rootOfLeaves(leavesOf(hashes.subarray(at, end)));
    days.set(dayNumbered(day), { operations: (end - at) / rowSize, root: Buffer.from(root).toString('hex') });
    at = end;
  }
  return days;
}

const rowSize = 4 + hashSize;

function* leavesOf(rows: Buffer): Generator<Buffer> {
  for (let at = 0; at < rows.length; at += rowSize) yield rows.subarray(at + 4, at + rowSize);
}
