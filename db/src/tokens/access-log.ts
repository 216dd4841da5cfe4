import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { type FilterOf, isNumber, listOf, matching, within } from '../list.ts';
import { type accessLog, accessLogEvents, accessLogStreams } from '../schema/tokens.ts';
import { readNumber, type Sql, toJson } from '../sql.ts';
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

/** Lists who read, exported or changed what through the report, newest first. */
export function accessList(filter: FilterOf<typeof filters>) {
  return listOf(accessItem, 'a', {
    from: sql`keywarden.access_log a left join keywarden.report_token t on t.number = a.token_number`,
    item: { token: sql`case when t.number is not null then ${referenceToToken} end` },
    where: matching(filters, filter),
  });
}

/** One request, or the beginning or end of a streamed answer. */
export interface Access
  extends Omit<typeof accessLog.$inferSelect, 'number' | 'at' | 'tokenNumber' | 'minute' | 'times'> {
  /** The SHA-256 of the presented token or session id; null without one. */
  credential: string | null;
  /** The network of the address, for counting refusals. */
  network: string;
  /** The SHA-256 of the whole file of a complete stream. The first time, it is an event of the ledger. */
  fileSha256: string | null;
}

/** Records who read, exported or changed what: all of them, or none. */
export async function recordAccess(sql: Sql, accesses: Access[]): Promise<void> {
  const rows = accesses.map((each) => ({ ...each, request_id: each.requestId, file_sha256: each.fileSha256 }));
  await sql`select keywarden.record_accesses(${toJson(rows)}::text::json)`;
}

/** Deletes access records that are older than this many ms and older than a year. Returns the number of deleted rows. */
export async function forgetAccesses(sql: Sql, beforeMs: number): Promise<number> {
  return await readNumber(sql`select keywarden.forget_accesses(make_interval(secs => ${beforeMs / 1000}))`);
}
