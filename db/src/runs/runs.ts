import { and, eq, gt, sql } from 'drizzle-orm';
import { syncRun } from '../schema/runs.ts';
import { type Db, hasValues, readText, type Sql } from '../sql.ts';

export type RunKind = (typeof syncRun.$inferSelect)['kind'];
type ErrorRecord = NonNullable<(typeof syncRun.$inferSelect)['error']>;

/** Starts a run. The caller holds the lock of this connection and kind, so a run that is still open there was killed. */
export async function startRun(
  client: Sql,
  { kind, connection }: { kind: RunKind; connection: string },
): Promise<string> {
  return await readText(client`
    with interrupted as (
      update keywarden.sync_run set status = 'interrupted', finished_at = now()
      where kind = ${kind} and connection = ${connection} and status = 'running'
    )
    insert into keywarden.sync_run (kind, connection, status) values (${kind}, ${connection}, 'running') returning number`);
}

/** Returns whether a run of a kind has finished for a connection in the last hours. An end that the clock wrote while it was ahead does not count. */
export async function hasFinishedRun(
  db: Db,
  { kind, connection, hours }: { kind: RunKind; connection: string; hours: number },
): Promise<boolean> {
  const { number, finishedAt } = syncRun;
  const since = sql`now() - make_interval(hours => ${hours})`;
  const finished = hasValues(syncRun, { kind, connection, status: 'finished' });
  const [run] = await db
    .select({ number })
    .from(syncRun)
    .where(and(finished, gt(finishedAt, since), sql`not keywarden.clock_was_ahead(${finishedAt})`))
    .limit(1);
  return run !== undefined;
}

export async function finishRun(
  db: Db,
  run: string,
  ended: { status: 'finished' | 'failed'; counts: Record<string, number>; error?: ErrorRecord | null },
): Promise<void> {
  await db
    .update(syncRun)
    .set({ ...ended, finishedAt: sql`now()` })
    .where(eq(syncRun.number, run));
}
