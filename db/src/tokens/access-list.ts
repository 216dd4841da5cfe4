import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { type FilterOf, isNumber, listOf, matching, within } from '../list.ts';
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

const filters = {
  tokenId: isNumber('a.token_number'),
  event: (event: (typeof accessLogEvents)[number]) => sql`a.event = ${event}`,
  ...within(sql`a.at`),
};
export type AccessFilter = FilterOf<typeof filters>;

/** Lists who read, exported or changed what through the report, newest first. */
export function accessList(filter: AccessFilter) {
  return listOf(accessItem, 'a', {
    from: sql`keywarden.access_log a left join keywarden.report_token t on t.number = a.token_number`,
    item: {
      token: sql`case when t.number is not null then ${referenceToToken} end`,
    },
    where: matching(filters, filter),
  });
}
