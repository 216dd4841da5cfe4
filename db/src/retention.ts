import type postgres from 'postgres';

/**
 * Sets how long operations are kept, in ms; null is for ever. Only the owner may: the functions that drop months hold to what stands
 * here, whatever a daemon's configuration says.
 */
export async function setOperationRetention(sql: postgres.Sql, keepMs: number | null): Promise<void> {
  if (keepMs === null) {
    await sql`delete from keywarden.operation_retention`;
    return;
  }
  await sql`
    insert into keywarden.operation_retention (keep) values (make_interval(secs => ${keepMs / 1000}))
    on conflict (number) do update set keep = excluded.keep, set_at = now() where operation_retention.keep <> excluded.keep`;
}
