import { within } from '@keywarden/runtime';
import type { Sql } from './sql.ts';

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
