import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { equals, type FilterOf, listOf, matching } from '../list.ts';
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

const filters = {
  kind: (kind: Run['kind']) => sql`r.kind = ${kind}`,
  connection: equals('r.connection'),
  status: (status: Run['status']) => sql`r.status = ${status}`,
};

/** Lists sync runs, newest first. */
export function runList(filter: FilterOf<typeof filters>) {
  return listOf(runItem, 'r', {
    from: sql`keywarden.sync_run r`,
    item: { id: sql`r.number::text` },
    where: matching(filters, filter),
  });
}
