import { claimSlot, listAccounts, readSlots, recordSlotJobs } from '@keywarden/db/daemon';
import { type JobKind, jobKinds, overPostgres, type Queues } from '@keywarden/db/jobs';
import type { Sql } from '@keywarden/db/store';
import type { Config } from '@keywarden/runtime/config';
import { Cron } from 'croner';
import { jobs } from './jobs.ts';

/** What a job is sent with. */
export interface JobData {
  account: string;
  /** Names of the connections that it is about; none where it is about all. */
  connections: string[];
  /** The time of its schedule, RFC 3339; null for what no schedule asked for. */
  slot: string | null;
}

export interface TickOptions {
  /** The session of the queues. */
  sql: Sql;
  queues: Queues;
  config: Pick<Config, 'schedules' | 'connections'>;
  replica: string | null;
  /** Stands in for the database's clock, in ms since 1970: for simulations. */
  now?: (() => number) | undefined;
}

/** A slot that this tick enqueued, with its jobs; those whose account has one under way already are left out. */
export interface EnqueuedSlot {
  schedule: JobKind;
  slot: string;
  jobs: number;
}

/** Of a store that no schedule has run on yet, these begin at once; of the others the next time counts. */
const atOnce: readonly JobKind[] = ['keys', 'operations', 'credentials'];

/**
 * Enqueues what is due: of each schedule the last time that has come, if nobody has enqueued that. Of several that were missed only the last
 * is caught up. The clock is the database's, and what is due is in UTC: neither this machine's clock nor its time zone counts. A clock that
 * was set back finds the same times enqueued already.
 */
export async function tick(options: TickOptions): Promise<{ enqueued: EnqueuedSlot[]; nextMs: number }> {
  const { sql, config, now } = options;
  const { nowMs, lastMs } = await readSlots(sql, now?.() ?? null);
  const enqueued: EnqueuedSlot[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
  for (const schedule of jobKinds) {
    const cron = new Cron(config.schedules[schedule], { paused: true, timezone: 'UTC' });
    const next = cron.nextRun(new Date(nowMs));
    if (next !== null) nextMs = Math.min(nextMs, next.getTime() - nowMs);
    // One that is due this very second counts as come.
    const last = cron.previousRuns(2, new Date(nowMs + 1000)).find((at) => at.getTime() <= nowMs);
    if (last === undefined || last.getTime() <= (lastMs.get(schedule) ?? 0)) continue;
    const isFirst = !lastMs.has(schedule);
    const jobs = await enqueueSlot(options, { schedule, slotMs: last.getTime(), isFirst });
    if (jobs !== undefined) enqueued.push({ schedule, slot: last.toISOString(), jobs });
  }
  return { enqueued, nextMs };
}

/** The slot and its jobs come into being together. Undefined where somebody else was first. */
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
