import type { Sql } from './store.ts';

/**
 * Settings of the server by which what was committed may be lost in a crash, in words: an intent or an approval that is gone would let a key be
 * revoked again, or more than a day allows. What the sessions of this store set for themselves is looked at, too.
 */
export async function listUnsafeSettings(sql: Sql): Promise<string[]> {
  const rows = await sql`
    select name from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`;
  return rows.map(
    ({ name }) =>
      `${String(name)} is off: a crash may lose revocations and approvals that were recorded; set it on in the server's configuration`,
  );
}
