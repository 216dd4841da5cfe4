import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/** The place of a page in a list: the values of its last row's sort columns, as text. */
export type Position = string[];

export interface PageRequest {
  limit: number;
  after: Position | null;
}

/** Rows strictly after a position: one row comparison, so that an index serves it at any depth. */
export function afterPosition(
  columns: [PgColumn, string][],
  direction: 'asc' | 'desc',
  after: Position | null,
): SQL | undefined {
  if (after === null) return undefined;
  const left = sql.join(
    columns.map(([column]) => sql`${column}`),
    sql`, `,
  );
  const right = sql.join(
    columns.map(([, type], index) => sql`${after[index]}::${sql.raw(type)}`),
    sql`, `,
  );
  return direction === 'asc' ? sql`(${left}) > (${right})` : sql`(${left}) < (${right})`;
}
