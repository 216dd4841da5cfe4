import type { Context } from 'hono';
import type { Database, Row } from '../store/database.ts';
import { Refusal } from './errors.ts';
import { readLimit } from './query.ts';

/** A list that is read in pages, the last rows first unless the request says otherwise. */
interface PagedList {
  /** Selects the rows, and ends with a condition. */
  sql: string;
  values: Record<string, string>;
  /** The column of each name that the list can be sorted by, the default first; and the column that tells apart rows with equal values. */
  columns: Record<string, string>;
  id: string;
  limits: { max: number; fallback: number };
}

/** Reads the page that `sort_by`, `sort_order`, `limit` and `cursor` ask for. A full page has a `pagination`, whose cursor has the position of its last row. */
export function readRows(
  c: Context,
  db: Database,
  { sql, values, columns, id, limits }: PagedList,
): { rows: Row[]; pagination?: object } {
  const limit = readLimit(c, limits);
  const sortBy = c.req.query('sort_by') ?? Object.keys(columns)[0] ?? '';
  const column = Object.hasOwn(columns, sortBy) ? columns[sortBy] : undefined;
  if (column === undefined) throw new Refusal(400, `sort_by must be one of ${Object.keys(columns).join(', ')}`);
  const order = c.req.query('sort_order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw new Refusal(400, 'sort_order must be asc or desc');
  const cursor = c.req.query('cursor');
  const [after, after_id] = cursor === undefined ? [null, null] : readCursor(cursor);
  const than = order === 'asc' ? '>' : '<';
  const rows = db.all(
    `${sql} and (:after_id is null or ${column} ${than} :after or ${column} = :after and ${id} ${than} :after_id)
     order by ${column} ${order}, ${id} ${order} limit :limit`,
    { ...values, after, after_id, limit },
  );
  const last = rows.at(-1);
  if (rows.length < limit || last === undefined) return { rows };
  const next = Buffer.from(JSON.stringify([last[sortBy], last.id])).toString('base64url');
  return { rows, pagination: { next, sort_by: sortBy, sort_order: order.toUpperCase() } };
}

function readCursor(cursor: string): [string | number, string] {
  try {
    const [value, id]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if ((typeof value === 'string' || typeof value === 'number') && typeof id === 'string') return [value, id];
  } catch {
    // a cursor that is not JSON is invalid
  }
  throw new Refusal(400, 'invalid cursor');
}
