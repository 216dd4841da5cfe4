import { z } from 'zod';
import type { Sql } from '../sql.ts';
import { jobSchema } from './queues.ts';

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
  const [row] = await sql`
    select count(*)::int as jobs from ${sql(jobSchema)}.job
    where name = any(${[...kinds]}::text[]) and state in ('created', 'active')`;
  return Number(row?.jobs);
}

/** Lists every queue that has waiting or running jobs. */
export async function readQueues(sql: Sql): Promise<QueueState[]> {
  const rows = await sql`
    select name as kind, count(*) filter (where state < 'active')::int as waiting, count(*) filter (where state = 'active')::int as running,
      extract(epoch from now() - min(least(start_after, now())) filter (where state < 'active'))::float8 as "oldestSeconds"
    from ${sql(jobSchema)}.job where state <= 'active' group by name order by name`;
  return rows.map((row) => queueState.parse(row));
}
