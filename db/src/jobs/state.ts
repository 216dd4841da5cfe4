import type { Sql } from '../sql.ts';
import { jobSchema } from './queues.ts';

/** The jobs that wait or run in a queue. */
export interface QueueState {
  kind: string;
  waiting: number;
  running: number;
  /** For how many seconds the oldest waiting job could have started; null if none waits. */
  oldestSeconds: number | null;
}

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
    select name, count(*) filter (where state < 'active')::int as waiting, count(*) filter (where state = 'active')::int as running,
      extract(epoch from now() - min(start_after) filter (where state < 'active'))::float8 as oldest
    from ${sql(jobSchema)}.job where state <= 'active' group by name order by name`;
  return rows.map((row) => ({
    kind: String(row.name),
    waiting: Number(row.waiting),
    running: Number(row.running),
    oldestSeconds: row.oldest === null ? null : Math.max(0, Number(row.oldest)),
  }));
}
