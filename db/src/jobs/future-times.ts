import type { Sql } from '../sql.ts';
import { jobSchema, queueSettings } from './queues.ts';

/** No time in the queues is further in the future than this, in s, unless the database's clock was ahead when it was written. */
const furthestSeconds = queueSettings.retryDelayMax + 60;

/**
 * Replaces times that the database's clock wrote while it was ahead by the current time. Until then, no such job would be retried, none would be sent
 * beside it, and no dead process would be found.
 */
export async function replaceFutureTimes(sql: Sql): Promise<void> {
  const latest = sql`now() + ${furthestSeconds} * interval '1 second'`;
  await sql`
    update ${sql(jobSchema)}.job
    set start_after = least(start_after, now()), started_on = least(started_on, now()), heartbeat_on = least(heartbeat_on, now())
    where state <= 'active' and greatest(start_after, started_on, heartbeat_on) > ${latest}`;
  await sql`
    update ${sql(jobSchema)}.queue
    set monitor_claim_on = least(monitor_claim_on, now()), monitor_on = least(monitor_on, now()), maintain_on = least(maintain_on, now())
    where greatest(monitor_claim_on, monitor_on, maintain_on) > ${latest}`;
}
