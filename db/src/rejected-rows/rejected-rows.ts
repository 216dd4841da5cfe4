import { sha256 } from '@keywarden/core/values';
import { desc, eq, sql as fragment, lt } from 'drizzle-orm';
import { controlPlane } from '../schema/connections.ts';
import { rejectedRow, rejectedRowLists } from '../schema/rejected-rows.ts';
import { type Db, type Sql, toJson } from '../sql.ts';

/** The lists that may have unreadable rows. */
type RejectedList = (typeof rejectedRowLists)[number];

/** Where a list was requested. `place` is the scope, organization or project. */
export interface RequestedList {
  controlPlane: string;
  list: RejectedList;
  place: string;
}

/** A row that could not be read. Times are the database's, RFC 3339. */
export type StoredRejectedRow = Awaited<ReturnType<typeof listRejectedRows>>[number];

/** The maximum number of rows kept from one answer, and the maximum length of one row's text. */
const mostKept = 100;
const longestText = 4000;

/** Saves rows that could not be read, each once, with how often it was received. */
export async function saveRejectedRows(
  sql: Sql,
  { controlPlane, list, place }: RequestedList,
  rejected: readonly { id: string | null; why: string; record: unknown }[],
): Promise<void> {
  const rows = rejected.slice(0, mostKept).map(({ id, why, record }) => {
    const text = toJson({ record });
    const row_id = id?.slice(0, 200) ?? null;
    const kept = text.length > longestText ? { cut: text.slice(0, longestText).toWellFormed() } : record;
    return { row_id, why: why.slice(0, 500), record: kept, row_key: row_id ?? sha256(text) };
  });
  // Two ids can be the same text to the store, which replaces what it has no place for. The order keeps two connections from waiting for each other.
  await sql`
    insert into keywarden.rejected_row as r (control_plane_number, list, place, row_id, why, record, row_key)
    select distinct on (row_key) ${controlPlane}::bigint, ${list}, ${place}, row_id, why, coalesce(record, 'null'), row_key
    from json_to_recordset(${toJson(rows)}::json) as t(row_id text, why text, record jsonb, row_key text)
    order by row_key
    on conflict (control_plane_number, list, place, row_key) do update
      set why = excluded.why, record = excluded.record, last_seen_at = now(), times = r.times + 1`;
}

/** Lists rejected rows, the last received first; at most `limit`. */
export async function listRejectedRows(db: Db, { limit }: { limit: number }) {
  const { list, place, rowId: id, why, firstSeenAt, lastSeenAt, times } = rejectedRow;
  const rows = await db
    .select({ controlPlane: controlPlane.baseUrl, list, place, id, why, firstSeenAt, lastSeenAt, times })
    .from(rejectedRow)
    .innerJoin(controlPlane, eq(controlPlane.number, rejectedRow.controlPlaneNumber))
    .orderBy(desc(lastSeenAt), desc(rejectedRow.number))
    .limit(limit);
  return rows.map((row) => ({ ...row, times: Number(row.times) }));
}

/** Deletes rejected rows that no list has shown for this long, in ms. */
export async function forgetRejectedRows(db: Db, olderThanMs: number): Promise<void> {
  const before = fragment`now() - ${olderThanMs / 1000} * interval '1 second'`;
  const { number, controlPlaneNumber, list, place, rowKey, lastSeenAt } = rejectedRow;
  // In the order of `saveRejectedRows`: see docs/ARCHITECTURE.md, "Lock order".
  const old = db
    .select({ number })
    .from(rejectedRow)
    .where(lt(lastSeenAt, before))
    .orderBy(controlPlaneNumber, list, place, rowKey)
    .for('update');
  await db.delete(rejectedRow).where(fragment`${number} in ${old}`);
}
