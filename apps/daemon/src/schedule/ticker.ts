import { claimSlot, listAccounts, readSlots, recordSlotJobs } from '@keywarden/db/daemon';
import { overPostgres, type Queues, replaceFutureTimes } from '@keywarden/db/jobs';
import type { Sql } from '@keywarden/db/store';
import { type JobKind, jobKinds } from '@keywarden/runtime';
import type { Config } from '@keywarden/runtime/config';
import { Cron } from 'croner';
import { jobs } from './jobs.ts';

/** The data with which a job is sent. */
export interface JobData {
  account: string;
  /** Names of the job's connections; empty for a job about all of them. */
  connections: string[];
  /** The time of its schedule, RFC 3339; null for a job without a schedule. */
  slot: string | null;
}

export interface TickOptions {
  /** The session of the queues. */
  sql: Sql;
  queues: Queues;
  config: Pick<Config, 'schedules' | 'connections'>;
  replica: string | null;
  /** Replaces the database's clock, in ms since 1970: for simulations. */
  now?: (() => number) | undefined;
}

/** The jobs that begin at once on a store without earlier runs. For the others the next time counts. */
const atOnce: readonly JobKind[] = ['keys', 'operations', 'credentials'];

/**
 * Enqueues what is due: the last time of each schedule that has come, unless a replica has enqueued it already. Of several missed times,
 * only the last one is caught up. The clock is the database's, and due times are in UTC: this machine's clock and time zone do not matter.
 * A clock that was set back finds the same times already enqueued.
 */
export async function tick(options: TickOptions) {
  const { sql, config, now } = options;
  await replaceFutureTimes(sql);
  const { nowMs, lastMs } = await readSlots(sql, now?.() ?? null);
  // The slots of this tick, each with the number of its jobs: without those whose account already has one in progress.
  const enqueued: { schedule: JobKind; slot: string; jobs: number }[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
  for (const schedule of jobKinds) {
    const cron = new Cron(config.schedules[schedule], { paused: true, timezone: 'UTC' });
    const next = cron.nextRun(new Date(nowMs));
    if (next !== null) nextMs = Math.min(nextMs, next.getTime() - nowMs);
    // A time that is due this very second counts as come.
    const last = cron.previousRuns(2, new Date(nowMs + 1000)).find((at) => at.getTime() <= nowMs);
    if (last === undefined || last.getTime() <= (lastMs.get(schedule) ?? 0)) continue;
    const isFirst = !lastMs.has(schedule);
    const jobs = await enqueueSlot(options, { schedule, slotMs: last.getTime(), isFirst });
    if (jobs !== undefined) enqueued.push({ schedule, slot: last.toISOString(), jobs });
  }
  return { enqueued, nextMs };
}

/** Enqueues a slot together with its jobs. Returns undefined if another replica was first. */
async function enqueueSlot(
  { sql, queues, config, replica }: TickOptions,
  { schedule, slotMs, isFirst }: { schedule: JobKind; slotMs: number; isFirst: boolean },
): Promise<number | undefined> {
  const names = config.connections.map(({ name }) => name);
  const accounts =
    jobs[schedule].per === 'store' ? [{ account: 'all', connections: [] }] : await listAccounts(sql, names);
  return await sql.begin(async (tx) => {
    if (!(await claimSlot(tx, { schedule, slotMs, replica }))) return undefined;
    if (isFirst && !atOnce.includes(schedule)) return 0;
    let sent = 0;
    for (const { account, connections } of accounts) {
      const data: JobData = { account, connections, slot: new Date(slotMs).toISOString() };
      if ((await queues.send(schedule, data, { singletonKey: account, db: overPostgres(tx) })) !== null) sent += 1;
    }
    await recordSlotJobs(tx, { schedule, slotMs, jobs: sent });
    return sent;
  });
}
