import { secondOf, toMs } from '@keywarden/core/values';
import { codeOf } from '@keywarden/runtime';
import { type Sql, sqlState } from '../sql.ts';

// Operations are partitioned by the month of their created_at, in UTC.

/** Creates the partitions of these months, each `YYYY-MM`. */
export async function makeOperationPartitions(sql: Sql, months: string[]): Promise<void> {
  await sql`select keywarden.make_operation_partitions(${months.map((month) => `${month}-01`)}::text[]::date[])`;
}

/** Creates the partitions of an instant's month and of the next two, so that no page waits for them. */
export async function makePartitionsAhead(sql: Sql, now: string): Promise<void> {
  const first = new Date(toMs(now));
  const months = [0, 1, 2].map((ahead) =>
    new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + ahead)).toISOString().slice(0, 7),
  );
  await makeOperationPartitions(sql, months);
}

const madeMonths = new WeakMap<Sql, Set<string>>();

/**
 * Writes rows with these times after creating their partitions. A month that this process created may have been dropped since. It is then
 * created again.
 */
export async function withPartitions<T>(sql: Sql, createdAts: string[], write: () => Promise<T>): Promise<T> {
  await makeMissing(sql, createdAts);
  return await write().catch(async (error: unknown) => {
    if (codeOf(error) !== sqlState.checkViolation) throw error;
    madeMonths.delete(sql);
    await makeMissing(sql, createdAts);
    return await write();
  });
}

/** Creates the partitions that this process has not seen yet. */
async function makeMissing(sql: Sql, createdAts: string[]): Promise<void> {
  const made = madeMonths.get(sql) ?? new Set();
  madeMonths.set(sql, made);
  const missing = [...new Set(createdAts.map(monthOf))].filter((month) => !made.has(month));
  if (missing.length === 0) return;
  await makeOperationPartitions(sql, missing);
  for (const month of missing) made.add(month);
}

/** Returns YYYY-MM in UTC. */
function monthOf(at: string): string {
  return secondOf(at).slice(0, 'YYYY-MM'.length);
}
