import { UserError } from '@keywarden/core/process';
import {
  announceExpiredMonths,
  dropExpiredMonth,
  type ExpiredMonth,
  readOperationRetention,
} from '@keywarden/db/daemon';
import type { Context } from './context.ts';

/** Between the daemon's own dry run and the drop: a person may look, and lengthen the retention. */
const noticeMs = 24 * 3_600_000;

/** The dry run: months of operations that are over `retention.operations`. Throws where the database holds to another retention. */
export async function findExpiredMonths({ store, config }: Pick<Context, 'store' | 'config'>): Promise<ExpiredMonth[]> {
  const configured = config.retention.operations;
  const enforced = await readOperationRetention(store.sql);
  if ((configured?.ms ?? null) !== enforced) {
    throw new UserError(
      `retention.operations is ${configured?.text ?? 'not set'} and the database keeps operations ${inWords(enforced)}; run keywarden migrate as its owner, who alone may change that.`,
    );
  }
  return await announceExpiredMonths(store.sql);
}

/** Drops the months that a dry run has named. Answers with those. */
export async function dropMonths(
  { store, log }: Pick<Context, 'store' | 'log'>,
  { months, by, announcedForMs }: { months: ExpiredMonth[]; by: string; announcedForMs: number },
): Promise<void> {
  for (const { month, operations } of months) {
    await dropExpiredMonth(store.sql, { month, announcedForMs, by });
    log.info({ month, operations, by }, 'dropped a month of operations that was over its retention');
  }
}

/** The daemon's daily look: names what is over its retention, and drops what was named a day ago. */
export async function enforceRetention(context: Context, nowMs: number): Promise<void> {
  const months = await findExpiredMonths(context);
  const due = months.filter(({ announcedAt }) => Date.parse(announcedAt) <= nowMs - noticeMs);
  const named = months.filter((month) => !due.includes(month)).map(({ month }) => month);
  if (named.length > 0)
    context.log.warn(
      { months: named },
      'over their retention; dropped in a day unless retention.operations is lengthened',
    );
  await dropMonths(context, { months: due, by: 'the daemon', announcedForMs: noticeMs });
}

function inWords(ms: number | null): string {
  return ms === null ? 'for ever' : `for ${Math.round(ms / 86_400_000)} days`;
}
