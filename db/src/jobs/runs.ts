import { jobRun } from '../schema/jobs.ts';
import type { Db, Sql } from '../sql.ts';

type NewJobRun = Pick<typeof jobRun.$inferSelect, 'jobId' | 'kind' | 'account' | 'slotAt' | 'attempt' | 'replica'>;

/** Records the start of an attempt at a job. Returns its number. */
export async function startJobRun(db: Db, run: NewJobRun): Promise<string> {
  const [row] = await db.insert(jobRun).values(run).returning({ number: jobRun.number });
  if (row === undefined) throw new Error('the run was not stored');
  return row.number;
}

/** Records the end of an attempt. A success closes earlier incidents of its account, or of its connections under another name. */
export async function finishJobRun(
  sql: Sql,
  {
    number,
    outcome,
    error = null,
    connections = [],
  }: { number: string; outcome: 'done' | 'failed' | 'handed_back'; error?: object | null; connections?: string[] },
): Promise<void> {
  await sql`
    with finished as (
      update keywarden.job_run set finished_at = now(), outcome = ${outcome},
        error = ${error === null ? null : JSON.stringify(error)}::jsonb
      where number = ${number} returning kind, account, outcome
    )
    update keywarden.incident set closed_at = now(), closed_by = 'keywarden', note = 'a later job succeeded'
    where number in (
      select i.number from finished f, keywarden.incident i where i.kind = 'job_failed' and i.closed_at is null and f.outcome = 'done'
        and (i.scope = 'job ' || f.kind || ' ' || f.account or i.detail ->> 'kind' = f.kind
          and i.detail -> 'connections' <> '[]' and i.detail -> 'connections' <@ ${JSON.stringify(connections)}::jsonb)
      order by i.number for update of i)`;
}

/**
 * Opens an incident for a job that failed in all its attempts, with its last error if it had one. Does nothing if another job of its
 * account has succeeded since. A success that the database's clock dated while it was ahead may be an earlier one.
 */
export async function openJobIncident(
  sql: Sql,
  {
    kind,
    account,
    connections,
    jobId,
    diedAt,
  }: { kind: string; account: string; connections: string[]; jobId: string | null; diedAt: Date },
): Promise<void> {
  await sql`
    insert into keywarden.incident (kind, scope, detail)
    select 'job_failed', 'job ' || ${kind}::text || ' ' || ${account}::text, jsonb_build_object('kind', ${kind}::text, 'account', ${account}::text,
      'connections', ${JSON.stringify(connections)}::jsonb, 'error', (select error from keywarden.job_run
        where job_id = ${jobId}::uuid and outcome = 'failed' order by number desc limit 1))
    where not exists (select from keywarden.job_run r where r.kind = ${kind} and r.account = ${account} and r.outcome = 'done'
      and r.finished_at > ${diedAt.toISOString()}::timestamptz and not keywarden.clock_was_ahead(r.finished_at))
    on conflict (kind, scope) where closed_at is null and key_number is null do update set detail = excluded.detail`;
}

/** Deletes schedule times and job attempts that are older than this. */
export async function forgetOldJobs(sql: Sql, beforeMs: number): Promise<void> {
  await sql`select keywarden.forget_old_jobs(make_interval(secs => ${beforeMs / 1000}))`;
}
