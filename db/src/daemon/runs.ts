import type { Sql } from '../store.ts';

export type RunKind = 'keys' | 'operations';

/** Begins a run. The caller holds the lock of this connection and kind, so that a run still open there is one that was killed. */
export async function startRun(sql: Sql, { kind, connection }: { kind: RunKind; connection: string }): Promise<string> {
  const [run] = await sql`
    with interrupted as (
      update keywarden.sync_run set status = 'interrupted', finished_at = now()
      where kind = ${kind} and connection = ${connection} and status = 'running'
    )
    insert into keywarden.sync_run (kind, connection, status) values (${kind}, ${connection}, 'running') returning number`;
  return String(run?.number);
}

export async function finishRun(
  sql: Sql,
  run: string,
  {
    status,
    counts,
    error = null,
  }: { status: 'finished' | 'failed'; counts: Record<string, number>; error?: object | null },
): Promise<void> {
  await sql`
    update keywarden.sync_run set status = ${status}, finished_at = now(), counts = ${JSON.stringify(counts)}::jsonb,
      error = ${error === null ? null : JSON.stringify(error)}::jsonb
    where number = ${run}`;
}
