import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant } from '../item.ts';
import { type List, when } from '../list.ts';
import { syncRunKinds, syncRunStatuses } from '../schema/runs.ts';

export const runItem = z
  .strictObject({
    id: z.string(),
    kind: z.enum(syncRunKinds),
    connection: z.string(),
    status: z.enum(syncRunStatuses),
    started_at: instant,
    finished_at: instant.nullable(),
    counts: z.record(z.string(), z.number()),
    error: z.object({ type: z.string(), code: z.string(), message: z.string().optional() }).nullable(),
  })
  .meta({ id: 'Run' });

type Run = z.output<typeof runItem>;

export interface RunFilter {
  kind?: Run['kind'] | undefined;
  connection?: string | undefined;
  status?: Run['status'] | undefined;
}

/** Lists sync runs, newest first. */
export function runList({ kind, connection, status }: RunFilter): List<typeof runItem> {
  return {
    schema: runItem,
    from: sql`keywarden.sync_run r`,
    item: { ...columnsOf(runItem, 'r'), id: sql`r.number::text` },
    where: [
      when(kind, (wanted) => sql`r.kind = ${wanted}`),
      when(connection, (name) => sql`r.connection = ${name}`),
      when(status, (wanted) => sql`r.status = ${wanted}`),
    ],
    order: [{ by: sql`r.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
