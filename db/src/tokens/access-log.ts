import type { Sql } from '../sql.ts';

/** One request, or the beginning or end of a streamed answer. */
export interface Access {
  requestId: string;
  /** The token's number. */
  token: string;
  address: string;
  method: string;
  path: string;
  query: string;
  status: number;
  stream: 'begun' | 'complete' | 'cut' | null;
  /** The content of a stream. */
  records: number | null;
  sha256: string | null;
}

/** Records who read, exported or changed what: all of them, or none. */
export async function recordAccess(sql: Sql, accesses: Access[]): Promise<void> {
  const rows = accesses.map((each) => ({ ...each, request_id: each.requestId }));
  await sql`
    insert into keywarden.access_log (request_id, token_number, address, method, path, query, status, stream, records, sha256)
    select request_id, token, address, method, path, query, status, stream, records, sha256
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t(request_id uuid, token bigint, address text, method text, path text,
      query text, status int, stream text, records bigint, sha256 text)`;
}
