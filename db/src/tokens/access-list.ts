import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant } from '../item.ts';
import { type List, when, within } from '../list.ts';
import { accessLogEvents, accessLogStreams } from '../schema/tokens.ts';
import { referenceToToken, tokenReference } from './authenticate.ts';

export const accessItem = z
  .strictObject({
    at: instant,
    token: tokenReference.nullable().meta({ description: 'null if no valid token was presented' }),
    event: z.enum(accessLogEvents),
    address: z.string(),
    method: z.string(),
    path: z.string(),
    query: z.string(),
    status: z.int(),
    stream: z.enum(accessLogStreams).nullable(),
    records: z.int().nullable(),
    sha256: z.string().nullable(),
    request_id: z.string(),
    times: z.int().meta({
      description: 'How many refusals of one minute and network this row stands for; it shows the first of them',
    }),
  })
  .meta({ id: 'Access' });

export interface AccessFilter {
  tokenId?: string | undefined;
  event?: (typeof accessLogEvents)[number] | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Lists who read, exported or changed what through the report, newest first. */
export function accessList({ tokenId, event, from, to }: AccessFilter): List<typeof accessItem> {
  return {
    schema: accessItem,
    from: sql`keywarden.access_log a left join keywarden.report_token t on t.number = a.token_number`,
    item: {
      ...columnsOf(accessItem, 'a'),
      token: sql`case when t.number is not null then ${referenceToToken} end`,
    },
    where: [
      when(tokenId, (id) => sql`a.token_number = ${id}::bigint`),
      when(event, (wanted) => sql`a.event = ${wanted}`),
      ...within(sql`a.at`, { from, to }),
    ],
    order: [{ by: sql`a.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
