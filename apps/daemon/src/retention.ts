import { dayMs } from '@keywarden/core/values';
import {
  announceExpiredMonths,
  dropExpiredMonth,
  type ExpiredMonth,
  forgetAccesses,
  hasOpenIncident,
  readOperationRetention,
} from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Context } from './context.ts';
import { checkLedger } from './ledger/checks.ts';

/**
 * Returns the dry run: the months of operations that exceed `retention.operations`. Throws if the database has another retention.
 */
export async function findExpiredMonths({ store, config }: Pick<Context, 'store' | 'config'>): Promise<ExpiredMonth[]> {
  const configured = config.retention.operations;
  const enforced = await readOperationRetention(store.sql);
  if ((configured?.ms ?? null) !== enforced) {
    throw new UserError(
      'retention',
      `retention.operations is ${configured?.text ?? 'not set'} and the database keeps operations ${inWords(enforced)}; only its owner may change that: run keywarden migrate as the owner.`,
    );
  }
  return await announceExpiredMonths(store.sql);
}

/**
 * Drops the months that a dry run named at least a day ago. Until then, a person can review them and lengthen the retention. They are compared with their
 * seals before: what was altered in a month could not be found once it is dropped. Throws a UserError while the store differs from its ledger.
 */
export async function dropDueMonths(
  { store, log, signal }: Pick<Context, 'store' | 'log' | 'signal'>,
  { months, by }: { months: ExpiredMonth[]; by: string },
): Promise<void> {
  const due = months.filter(({ isDue }) => isDue);
  if (due.length === 0) return;
  await checkLedger({ store, signal }, { months: (month) => due.some((each) => each.month === month) });
  if (await hasOpenIncident(store.db, 'ledger_inconsistent')) {
    throw new UserError(
      'retention',
      'No month is dropped while the store differs from its ledger: run keywarden incidents for the reason, and see docs/LEDGER.md.',
    );
  }
  for (const { month, operations } of due) {
    await dropExpiredMonth(store.sql, { month, by });
    log.info({ month, operations, by }, 'dropped a month of operations that exceeded its retention');
  }
}

/** Runs the daemon's daily retention check. */
export async function enforceRetention(context: Context): Promise<void> {
  const { access_log: accessLog } = context.config.retention;
  // Do this first: a retention that cannot be applied is no reason to keep data that exceeds another one.
  const rows = accessLog === undefined ? 0 : await forgetAccesses(context.store.sql, accessLog.ms);
  if (rows > 0) context.log.info({ rows }, 'deleted entries of the access log that exceed retention.access_log');
  const months = await findExpiredMonths(context);
  const named = months.filter(({ isDue }) => !isDue).map(({ month }) => month);
  if (named.length > 0) {
    const what =
      'these months exceed their retention; they are dropped in a day unless retention.operations is lengthened';
    context.log.warn({ months: named }, what);
  }
  await dropDueMonths(context, { months, by: 'the daemon' });
}

function inWords(ms: number | null): string {
  return ms === null ? 'for ever' : `for ${Math.round(ms / dayMs)} days`;
}
