import type { Sql } from '../sql.ts';

/** What an operator asked for in the report, and nobody has answered yet. */
export interface RotationRequest {
  number: string;
  key: string;
  requestedBy: string;
}

export async function listRotationRequests(sql: Sql): Promise<RotationRequest[]> {
  const rows = await sql`
    select q.number, q.key_number, q.requested_by from keywarden.rotation_request q
    where not exists (select from keywarden.rotation_request_answer a where a.request_number = q.number)
    order by q.number limit 1000`;
  return rows.map((row) => ({
    number: String(row.number),
    key: String(row.key_number),
    requestedBy: String(row.requested_by),
  }));
}

/** Answers a request once: by a rotation, or by why there is none. */
export async function answerRotationRequest(
  sql: Sql,
  request: string,
  { rotation = null, whyNot = null }: { rotation?: string | null; whyNot?: string | null },
): Promise<void> {
  await sql`
    insert into keywarden.rotation_request_answer (request_number, rotation_number, why_not)
    values (${request}, ${rotation}::bigint, ${whyNot}) on conflict do nothing`;
}

/** Asks the daemon to rotate a key; answers with the request's number. It is all that the report may do of a rotation. */
export async function requestRotation(
  sql: Sql,
  { key, by, reason }: { key: string; by: string; reason: string },
): Promise<string> {
  const [row] = await sql`
    insert into keywarden.rotation_request (key_number, requested_by, reason) values (${key}, ${by}, ${reason}) returning number`;
  return String(row?.number);
}
