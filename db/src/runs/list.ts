import { sql } from 'drizzle-orm';
import { type List, time, when } from '../list.ts';

export interface RunFilter {
  kind?: 'keys' | 'operations' | 'credentials' | undefined;
  connection?: string | undefined;
  status?: 'running' | 'finished' | 'failed' | 'interrupted' | undefined;
}

/** Sync runs, newest first. */
export function runList({ kind, connection, status }: RunFilter): List {
  return {
    from: sql`keywarden.sync_run r`,
    item: {
      id: sql`r.number::text`,
      kind: sql`r.kind`,
      connection: sql`r.connection`,
      status: sql`r.status`,
      started_at: time(sql`r.started_at`),
      finished_at: time(sql`r.finished_at`),
      counts: sql`r.counts`,
      error: sql`r.error`,
    },
    where: [
      when(kind, (wanted) => sql`r.kind = ${wanted}`),
      when(connection, (name) => sql`r.connection = ${name}`),
      when(status, (wanted) => sql`r.status = ${wanted}`),
    ],
    order: [{ by: sql`r.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
