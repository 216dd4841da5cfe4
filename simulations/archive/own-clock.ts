import type { Sql } from '@keywarden/db/store';

/** Ages everything that is measured by the local clock by a day, because a simulation does not wait. */
export async function letOwnClockPass(sql: Sql): Promise<void> {
  await sql`update keywarden.rotation_mint set created_at = created_at - interval '1 hour' where created_at > now() - interval '1 hour'`;
  await sql`update keywarden.revocation_intent set created_at = created_at - interval '1 hour' where created_at > now() - interval '1 hour'`;
  await sql`update keywarden.rotation_event set recorded_at = recorded_at - interval '1 hour' where recorded_at > now() - interval '1 hour'`;
  await sql`update keywarden.revocation_outcome set at = at - interval '1 day' where at > now() - interval '1 day'`;
}
