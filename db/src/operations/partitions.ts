import { setTimeout } from 'node:timers/promises';
import { monthOf, secondOf, toMs } from '@keywarden/core/values';
import { codeOf, UserError } from '@keywarden/runtime';
import { type Sql, sqlState, type Tx } from '../sql.ts';

// Operations are partitioned by the month of their created_at, in UTC. A month is added under a lock that keeps readers out (docs/adr/0031).

/** A month could not be added, because operations are being read. Pages of other months are not affected. */
export class MonthNotAdded extends UserError {
  constructor(months: string[]) {
    super(
      'store',
      `The database cannot add a month of operations (${months.length > 1 ? 'one of ' : ''}${months.join(', ')}) while a long transaction uses them, such as an export, a backup, the sealing of days or a migration; try again when it has ended.`,
      { canRetry: true },
    );
  }
}

/** Creates the partitions of these months, each `YYYY-MM`. Throws MonthNotAdded if operations are being read for longer than a second, each time. */
export async function makeOperationPartitions(sql: Sql, months: string[], attempts = 1): Promise<void> {
  for (let attempt = 1; !(await tryToMake(sql, months)); attempt += 1) {
    if (attempt >= attempts) throw new MonthNotAdded(months);
    await setTimeout(pauseMs);
  }
}

/** Returns false if operations are being read for longer than a second. */
async function tryToMake(sql: Sql, months: string[]): Promise<boolean> {
  try {
    await sql`select keywarden.make_operation_partitions(${months.map((month) => `${month}-01`)}::text[]::date[])`;
    return true;
  } catch (error) {
    if (codeOf(error) !== sqlState.lockNotAvailable) throw error;
    return false;
  }
}

/** A control plane serves operations for 180 days, and no six months are shorter. */
const monthsBefore = 6;
const monthsAhead = 2;

/**
 * Creates the partitions of the months whose operations a control plane may serve at an instant, and of the next two, so that no page waits for them. If
 * operations are being read for longer than a second, it creates none: a later call does.
 */
export async function makePartitionsAhead(sql: Sql, now: string): Promise<void> {
  const first = new Date(toMs(now));
  const months = Array.from({ length: monthsBefore + 1 + monthsAhead }, (_, index) =>
    new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + index - monthsBefore)).toISOString().slice(0, 7),
  );
  await tryToMake(sql, months);
}

const madeMonths = new WeakMap<Sql, Set<string>>();

/** Writes rows of these times after creating their partitions, again if a month that this process created was dropped since. */
export async function withPartitions<T>(sql: Sql, createdAts: string[], write: () => Promise<T>): Promise<T> {
  await makeMissing(sql, createdAts);
  return await write().catch(async (error: unknown) => {
    if (codeOf(error) !== sqlState.checkViolation) throw error;
    madeMonths.delete(sql);
    await makeMissing(sql, createdAts);
    return await write();
  });
}

/** A page asks so often for its months. In the pauses, those who wait behind it continue. */
const attemptsOfPage = 5;
const pauseMs = 500;

/** Creates the partitions that this process has not seen yet. */
async function makeMissing(sql: Sql, createdAts: string[]): Promise<void> {
  const made = madeMonths.get(sql) ?? new Set();
  madeMonths.set(sql, made);
  const missing = [...new Set(createdAts.map((at) => monthOf(secondOf(at))))].filter((month) => !made.has(month));
  if (missing.length === 0) return;
  await makeOperationPartitions(sql, missing, attemptsOfPage);
  for (const month of missing) made.add(month);
}

/**
 * Keeps the months of operations until the transaction ends. Call it before its first query: a snapshot that has begun would claim a month that is dropped
 * meanwhile, and lack its operations.
 */
export async function holdMonths(tx: Tx): Promise<void> {
  await tx`lock table only keywarden.operation, only keywarden.operation_version in access share mode`;
}
