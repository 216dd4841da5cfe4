import { countOf } from '@keywarden/core/values';
import { within } from '@keywarden/runtime';
import type { Sql } from './sql.ts';

/** The longest pause within a transaction. What is computed between two statements takes seconds. */
export const mostIdleMs = 600_000;

/** How long the server has to answer about a session. */
const answerMs = 20_000;

/**
 * Returns whether a session has lost its connection: a new connection shows that the server has ended the session, or that the session has waited for a
 * statement for `silenceMs`. In doubt it returns false, because a statement may take long: docs/adr/0032.
 */
export async function isSessionLost(open: () => Sql, pid: number, silenceMs: number): Promise<boolean> {
  const sql = open();
  try {
    const asked = sql`
      select pg_backend_pid() as own_pid, not exists (
        select from pg_stat_activity where pid = ${pid} and usename = session_user
          and (coalesce(state, '') not like 'idle%' or state_change > clock_timestamp() - ${silenceMs} * interval '1 ms')) as is_lost`;
    const rows = await within(answerMs, asked, undefined);
    // A connection pooler invents the ids of sessions, and then the server does not have this one.
    return rows?.[0]?.is_lost === true && rows[0].own_pid === rows.state.pid;
  } catch {
    return false; // the server takes no new session
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/**
 * Ends the sessions of this login that wait for the rest of a statement for `stuckMs`, within a transaction. Their process was suspended in between, and
 * Postgres does not count them as idle: their locks would stop all others until the process continues. Returns their number.
 */
export async function endStuckSessions(sql: Sql, stuckMs = mostIdleMs): Promise<number> {
  return await sql.begin(async (tx) => {
    // The login may end its sessions, and a role may not.
    await tx`set local role none`;
    const rows = await tx`
      select pg_terminate_backend(pid) from pg_stat_activity
      where usename = session_user and datname = current_database() and state = 'active' and wait_event = 'ClientRead'
        and state_change < clock_timestamp() - ${stuckMs} * interval '1 ms'`;
    return rows.length;
  });
}

/** How long a statement may wait for a lock before `check` names the session that has it. */
const longWaitMs = 60_000;

/**
 * Lists, in words, the sessions and prepared transactions for whose locks statements of this database have waited for `waitedMs`; with `isOwn`, statements of
 * this login and application, whose transactions may have tried several times. A transaction that a person left open stops a sync as long as it is open,
 * and no timeout ends either.
 */
export async function listBlockers(sql: Sql, { waitedMs = longWaitMs, isOwn = false } = {}): Promise<string[]> {
  const rows = await sql`
    select holder.pid, u.usename as name, extract(epoch from max(clock_timestamp() - waits.since))::int as seconds
    from pg_locks l join pg_stat_activity a on a.pid = l.pid and a.datname = current_database(), unnest(pg_blocking_pids(l.pid)) as holder(pid)
      cross join lateral (select case when ${isOwn} then a.xact_start else l.waitstart end as since) waits
      left join pg_stat_activity u on u.pid = holder.pid
    where (not ${isOwn} or a.usename = session_user and a.application_name = current_setting('application_name'))
      and not l.granted and waits.since < clock_timestamp() - ${waitedMs} * interval '1 ms'
      and not exists (select from pg_locks w where w.pid = holder.pid and not w.granted)
    group by holder.pid, u.usename order by holder.pid`;
  return rows.map(({ pid, name, seconds }) => {
    const minutes = Math.floor(Number(seconds) / 60);
    const waited = minutes === 0 ? countOf(Number(seconds), 'second') : countOf(minutes, 'minute');
    // Postgres has the number 0 for all of them.
    const whose =
      pid === 0
        ? 'a prepared transaction (pg_prepared_xacts): commit it, or roll it back'
        : `session ${String(pid)} of the user ${String(name)}: end its transaction, or run SELECT pg_terminate_backend(${String(pid)}) as a superuser`;
    return `a statement has waited ${waited} for a lock of ${whose}`;
  });
}
