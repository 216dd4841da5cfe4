import type { accessLog } from '../schema/tokens.ts';
import { readNumber, type Sql, toJson } from '../sql.ts';

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
