import { countOf, dayMs, monthOf } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Context } from './context.ts';
import { assertStoreNotAhead, whyStoreBehind } from './control-plane-clock.ts';

/** Returns the months that exceed `retention.operations`. Throws if the database has another retention, or a clock that is behind. */
export async function findExpiredMonths(
  context: Pick<Context, 'store' | 'config' | 'now'>,
): Promise<db.ExpiredMonth[]> {
  const { store, config } = context;
  const configured = config.retention.operations;
  const enforced = await db.readOperationRetention(store.sql);
  if ((configured?.ms ?? null) !== enforced)
    throw new UserError(
      'retention',
      `retention.operations is ${configured?.text ?? 'not set'} and the database keeps operations ${inWords(enforced)}; only its owner may change that: run keywarden migrate as the owner.`,
    );
  // A month that is named now would have a time in the past, and would be dropped once the clock is right, before a person had a day to keep it.
  const why = enforced === null ? null : await whyStoreBehind(context);
  if (why !== null)
    throw new UserError('clock', `No month was named or dropped, because ${why}; correct the clock that is wrong.`);
  return await db.announceExpiredMonths(store.sql);
}

/**
 * Drops the months that a dry run named at least a day ago. Until then, a person can review them and lengthen the retention. They are compared with their
 * seals before: what was altered in a month cannot be found once it is dropped. A month that differs opens an incident and is kept, unless `evenIfChanged`.
 * Throws a UserError for it, once the others are dropped. Drops nothing while the database's clock is ahead of this machine's.
 */
export async function dropDueMonths(
  context: Pick<Context, 'store' | 'config' | 'log' | 'signal' | 'now'>,
  { months, by, evenIfChanged = false }: { months: db.ExpiredMonth[]; by: string; evenIfChanged?: boolean },
): Promise<void> {
  const due = months.filter(({ isDue }) => isDue);
  if (due.length === 0) return;
  await assertStoreNotAhead(context);
  const { store, log, signal } = context;
  const isDue = (month: string) => due.some((each) => each.month === month);
  const faults = await db.checkSeals(store.sql, { signal, months: isDue });
  const changed = new Set(faults.map(({ day }) => monthOf(day)).filter(isDue));
  if (changed.size > 0)
    await db.openLedgerIncident(store.db, `months to drop differ from their seals: ${[...changed].join(', ')}`);
  for (const { month, announcedAt, operations } of due) {
    if (changed.has(month) && !evenIfChanged) continue;
    if (await db.dropExpiredMonth(store.sql, { month, announcedAt, by }))
      log.info({ month, operations, by }, 'dropped a month of operations that exceeded its retention');
  }
  if (changed.size > 0 && !evenIfChanged)
    throw new UserError(
      'retention',
      `These months differ from their seals, and are kept: ${[...changed].join(', ')}. keywarden incidents has more; keywarden retention --drop --even-if-changed drops them all the same.`,
    );
}

/** Runs the daemon's daily retention check. */
export async function enforceRetention(context: Context): Promise<void> {
  const { access_log: accessLog } = context.config.retention;
  // Do this first: a retention that cannot be applied is no reason to keep data that exceeds another one.
  const rows = accessLog === undefined ? 0 : await db.forgetAccesses(context.store.sql, accessLog.ms);
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
  return ms === null ? 'for ever' : `for ${countOf(Math.round(ms / dayMs), 'day')}`;
}
