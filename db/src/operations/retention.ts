import { codeOf, UserError } from '@keywarden/runtime';
import { sql as raw } from 'drizzle-orm';
import { z } from 'zod';
import { toInstant } from '../schema/columns.ts';
import { operationRetention } from '../schema/operations.ts';
import { builderOf, type Sql, sqlState } from '../sql.ts';

/** A month of operations that is over its retention. */
const expiredMonth = z.object({
  /** YYYY-MM */
  month: z.string(),
  operations: z.coerce.number(),
  /** The size of both tables with their indexes. */
  bytes: z.coerce.number(),
  /** When a dry run first announced it. */
  announcedAt: z.string().transform(toInstant),
  /** True if it was announced a day ago and may be dropped. */
  isDue: z.boolean(),
});

export type ExpiredMonth = z.output<typeof expiredMonth>;

/** Returns how long the database keeps operations, in ms; null means forever. */
export async function readOperationRetention(sql: Sql): Promise<number | null> {
  const seconds = raw<number>`extract(epoch from ${operationRetention.keep})::float8`;
  const [row] = await builderOf(sql).select({ seconds }).from(operationRetention);
  return row === undefined ? null : row.seconds * 1000;
}

/** Announces the months that would be dropped, and records when each was first announced. This is the dry run. */
export async function announceExpiredMonths(sql: Sql): Promise<ExpiredMonth[]> {
  const rows = await sql`
    select to_char(month, 'YYYY-MM') as month, operations, bytes, announced_at as "announcedAt",
      announced_at <= now() - interval '23 hours' as "isDue"
    from keywarden.announce_operation_drops() order by month`;
  return rows.map((row) => expiredMonth.parse(row));
}

/**
 * Drops a month on the ground of an announcement, which is a day old. Returns whether it did: another process may have, and its month may be there again.
 * Throws a UserError if the database refuses.
 */
export async function dropExpiredMonth(
  sql: Sql,
  { month, announcedAt, by }: { month: string; announcedAt: string; by: string },
): Promise<boolean> {
  const day = `${month}-01`;
  try {
    await sql`select keywarden.drop_operation_month(${day}::text::date, ${by})`;
    return true;
  } catch (error) {
    const why = whyKept[codeOf(error)];
    if (why === undefined) throw error;
    const [dropped] = await sql`
      select from keywarden.operation_drop
      where month = ${day}::text::date and (dropped_at is not null or announced_at > ${announcedAt}::text::timestamptz)`;
    if (dropped !== undefined) return false;
    throw new UserError('retention', `The operations of ${month} were not dropped${why}.`, { cause: error });
  }
}

/** Why the database does not drop a month, by the code of the error. */
const whyKept: Record<string, string> = {
  [sqlState.lockNotAvailable]: ' because they are being read; try again later',
  [sqlState.undefinedTable]: ': its tables are not there',
  [sqlState.insufficientPrivilege]: ': they are within their retention, or no dry run announced them a day ago',
};

/**
 * Sets how long operations are kept, in ms; null means forever. Only the owner may do that. The functions that drop months use this value,
 * even if a daemon is configured with another one.
 */
export async function setOperationRetention(sql: Sql, keepMs: number | null): Promise<void> {
  if (keepMs === null) {
    await builderOf(sql).delete(operationRetention);
    return;
  }
  await builderOf(sql)
    .insert(operationRetention)
    .values({ keep: raw`make_interval(secs => ${keepMs / 1000})` })
    .onConflictDoUpdate({
      target: operationRetention.number,
      set: { keep: raw`excluded.keep`, setAt: raw`now()` },
      setWhere: raw`${operationRetention.keep} <> excluded.keep`,
    });
}
