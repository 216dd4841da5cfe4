import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant } from '../item.ts';
import { type List, when, within } from '../list.ts';

export const accessItem = z
  .strictObject({
    at: instant,
    token: z.strictObject({ id: z.string(), name: z.string(), role: z.enum(['viewer', 'auditor', 'operator']) }),
    address: z.string(),
    method: z.string(),
    path: z.string(),
    query: z.string(),
    status: z.int(),
    stream: z.enum(['begun', 'complete', 'cut']).nullable(),
    records: z.int().nullable(),
    sha256: z.string().nullable(),
    request_id: z.string(),
  })
  .meta({ id: 'Access' });

export interface AccessFilter {
  tokenId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Lists who read, exported or changed what through the report, newest first. */
export function accessList({ tokenId, from, to }: AccessFilter): List<typeof accessItem> {
  return {
    schema: accessItem,
    from: sql`keywarden.access_log a join keywarden.report_token t on t.number = a.token_number`,
    item: {
      ...columnsOf(accessItem, 'a'),
      token: sql`json_build_object('id', t.number::text, 'name', t.name, 'role', t.role)`,
    },
    where: [when(tokenId, (id) => sql`a.token_number = ${id}::bigint`), ...within(sql`a.at`, { from, to })],
    order: [{ by: sql`a.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
