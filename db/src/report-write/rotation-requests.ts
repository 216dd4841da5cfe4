import type { Sql } from '../store.ts';

/** Asks the daemon to rotate a key; answers with the request's number. It is all that the report may do of a rotation. */
export async function requestRotation(
  sql: Sql,
  { key, by, reason }: { key: string; by: string; reason: string },
): Promise<string> {
  const [row] = await sql`
    insert into keywarden.rotation_request (key_number, requested_by, reason) values (${key}, ${by}, ${reason}) returning number`;
  return String(row?.number);
}
