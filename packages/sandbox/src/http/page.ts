import type { Context } from 'hono';
import type { Row } from '../store/database.ts';
import { Refusal } from './errors.ts';

/** The sort order of a list, and where its next page begins: after this value, and among equal values after this id. */
export interface Page {
  column: string;
  sortBy: string;
  order: 'asc' | 'desc';
  limit: number;
  after: [value: string | number, id: string] | null;
}

/** Reads `sort_by`, `sort_order` and `cursor`. `columns` maps each sortable name to its column, the default first. */
export function readPage(
  c: Context,
  { columns, order, limit }: { columns: Record<string, string>; order: 'asc' | 'desc'; limit: number },
): Page {
  const sortBy = c.req.query('sort_by') ?? Object.keys(columns)[0] ?? '';
  const column = Object.hasOwn(columns, sortBy) ? columns[sortBy] : undefined;
  if (column === undefined) throw new Refusal(400, `sort_by must be one of ${Object.keys(columns).join(', ')}`);
  const wanted = c.req.query('sort_order') ?? order;
  if (wanted !== 'asc' && wanted !== 'desc') throw new Refusal(400, 'sort_order must be asc or desc');
  const cursor = c.req.query('cursor');
  return { column, sortBy, order: wanted, limit, after: cursor === undefined ? null : readCursor(cursor) };
}

/** Returns the condition and the order of one page, to follow `where ... and`. Its values are `:after` and `:after_id`. */
export function pageSql({ column, order, after }: Page, id: string): string {
  const than = order === 'asc' ? '>' : '<';
  const condition =
    after === null ? 'true' : `(${column} ${than} :after or ${column} = :after and ${id} ${than} :after_id)`;
  return `${condition} order by ${column} ${order}, ${id} ${order} limit :limit`;
}

/** Returns the values that `pageSql` names. */
export function pageValues({ after, limit }: Page): Record<string, string | number> {
  return { limit, ...(after === null ? {} : { after: after[0], after_id: after[1] }) };
}

/** Returns the `pagination` of a full page; a short page has none. */
export function pagination({ sortBy, order, limit }: Page, rows: Row[]): { pagination?: object } {
  const last = rows.at(-1);
  if (rows.length < limit || last === undefined) return {};
  const next = Buffer.from(JSON.stringify([last[sortBy], last.id])).toString('base64url');
  return { pagination: { next, sort_by: sortBy, sort_order: order.toUpperCase() } };
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
