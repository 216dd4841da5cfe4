import { scheduleSlot } from '../schema/jobs.ts';
import { builderOf, hasValues, readNumber, type Sql, type Tx } from '../sql.ts';

/** The database's current time in ms since 1970, and the last enqueued time of each schedule up to `at`. */
export interface SlotState {
  nowMs: number;
  lastMs: Map<string, number>;
}

/** Returns the state of the slots. `at`, in ms since 1970, replaces the database's current time in simulations. */
export async function readSlots(sql: Sql, at: number | null = null): Promise<SlotState> {
  const nowMs = await readNumber(sql`
    select coalesce(${at}::float8, extract(epoch from clock_timestamp())::float8 * 1000)`);
  const rows = await sql`
    select schedule, extract(epoch from max(slot_at))::float8 * 1000 as ms from keywarden.schedule_slot
    where slot_at <= to_timestamp(${nowMs}::float8 / 1000) group by schedule`;
  return { nowMs, lastMs: new Map(rows.map(({ schedule, ms }) => [String(schedule), Number(ms)])) };
}

const slotOf = (slotMs: number) => new Date(slotMs).toISOString();

/** Claims a time of a schedule. Returns true for the first caller and false for all others. */
export async function claimSlot(
  tx: Tx,
  { schedule, slotMs, replica }: { schedule: string; slotMs: number; replica: string | null },
): Promise<boolean> {
  const { count } = await builderOf(tx)
    .insert(scheduleSlot)
    .values({ schedule, slotAt: slotOf(slotMs), replica, jobs: 0 })
    .onConflictDoNothing();
  return count > 0;
}

/** Records how many jobs a slot enqueued. */
export async function recordSlotJobs(
  tx: Tx,
  { schedule, slotMs, jobs }: { schedule: string; slotMs: number; jobs: number },
): Promise<void> {
  await builderOf(tx)
    .update(scheduleSlot)
    .set({ jobs })
    .where(hasValues(scheduleSlot, { schedule, slotAt: slotOf(slotMs) }));
}
