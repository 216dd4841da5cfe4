import { sql } from 'drizzle-orm';
import { type List, time, when, within } from '../list.ts';

export interface AccessFilter {
  tokenId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Who read, exported or changed what through the report, newest first. */
export function accessList({ tokenId, from, to }: AccessFilter): List {
  return {
    from: sql`keywarden.access_log a join keywarden.report_token t on t.number = a.token_number`,
    item: {
      at: time(sql`a.at`),
      token: sql`json_build_object('id', t.number::text, 'name', t.name, 'role', t.role)`,
      address: sql`a.address`,
      method: sql`a.method`,
      path: sql`a.path`,
      query: sql`a.query`,
      status: sql`a.status`,
      stream: sql`a.stream`,
      records: sql`a.records`,
      sha256: sql`a.sha256`,
      request_id: sql`a.request_id`,
    },
    where: [when(tokenId, (id) => sql`a.token_number = ${id}::bigint`), ...within(sql`a.at`, { from, to })],
    order: [{ by: sql`a.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
