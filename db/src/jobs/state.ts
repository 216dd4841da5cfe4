import { z } from 'zod';
import { readNumber, type Sql } from '../sql.ts';
import { jobSchema, queueSettings } from './queues.ts';

/** The jobs that wait or run in a queue. */
const queueState = z.object({
  kind: z.string(),
  waiting: z.int(),
  running: z.int(),
  /** For how many seconds the oldest waiting job could have started; null if none waits. */
  oldestSeconds: z.number().nullable(),
});

export type QueueState = z.output<typeof queueState>;

/** Counts the jobs of these kinds that wait for their first attempt or run, over all replicas. */
export async function countUnsettled(sql: Sql, kinds: readonly string[]): Promise<number> {
  return await readNumber(sql`
    select count(*)::int as jobs from ${sql(jobSchema)}.job
    where name = any(${[...kinds]}::text[]) and state in ('created', 'active')`);
}

/** Lists every queue that has waiting or running jobs. */
export async function readQueues(sql: Sql): Promise<QueueState[]> {
  const rows = await sql`
    select name as kind, count(*) filter (where state < 'active')::int as waiting, count(*) filter (where state = 'active')::int as running,
      extract(epoch from now() - min(least(start_after, now())) filter (where state < 'active'))::float8 as "oldestSeconds"
    from ${sql(jobSchema)}.job where state <= 'active' group by name order by name`;
  return rows.map((row) => queueState.parse(row));
}

/** No time in the queues is further in the future than this, in s, unless the database's clock was ahead when it was written. */
const furthestSeconds = queueSettings.retryDelayMax + 60;

/**
 * Replaces times that the database's clock wrote while it was ahead by the current time. Until then, no such job would be retried, none would be sent
 * beside it, and no dead process would be found.
 */
export async function replaceFutureTimes(sql: Sql): Promise<void> {
  const latest = sql`now() + ${furthestSeconds} * interval '1 second'`;
  await sql`
    update ${sql(jobSchema)}.job j
    set start_after = least(j.start_after, now()), started_on = least(j.started_on, now()), heartbeat_on = least(j.heartbeat_on, now())
    from (
      select name, id from ${sql(jobSchema)}.job
      where state <= 'active' and greatest(start_after, started_on, heartbeat_on) > ${latest} order by name, id for update) ahead
    where j.name = ahead.name and j.id = ahead.id`;
  await sql`
    update ${sql(jobSchema)}.queue q
    set monitor_claim_on = least(q.monitor_claim_on, now()), monitor_on = least(q.monitor_on, now()), maintain_on = least(q.maintain_on, now())
    from (
      select name from ${sql(jobSchema)}.queue
      where greatest(monitor_claim_on, monitor_on, maintain_on) > ${latest} order by name for update) ahead
    where q.name = ahead.name`;
}
