import type { Sql } from '../sql.ts';

export type RunKind = 'keys' | 'operations' | 'credentials';

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

/** Whether a run of a kind has finished for a connection in the last so many hours, by the database's clock. */
export async function hasFinishedRun(
  sql: Sql,
  { kind, connection, hours }: { kind: RunKind; connection: string; hours: number },
): Promise<boolean> {
  const [run] = await sql`
    select 1 from keywarden.sync_run where kind = ${kind} and connection = ${connection} and status = 'finished'
      and finished_at > now() - make_interval(hours => ${hours}) limit 1`;
  return run !== undefined;
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
