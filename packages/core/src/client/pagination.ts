import { ControlPlaneError } from './errors.ts';

/** A row of a list that cannot be read: its place among the rows of its answer, its id if it has one, and why. */
export interface RejectedRow {
  index: number;
  id: string | null;
  why: string;
  /** What the row looks like: its fields' types, and the values of those that are ids, times or states. */
  record: unknown;
}

/**
 * One response of a list: its rows, those that cannot be read apart, the cursor of the next page (null at the end), the control plane's Date
 * in ms, and how long a cache kept it, in ms.
 */
export interface Page<T> {
  items: T[];
  /** Absent where every row can be read. */
  rejected?: RejectedRow[];
  cursor: string | null;
  dateMs: number | null;
  ageMs: number;
  /** Rows that exist but that this answer left out, by id. */
  unavailableIds?: string[];
}

/** A list is not followed over more empty pages in a row. */
const mostEmptyPages = 100;

/**
 * Follows a list to its end, from the cursor `first` on: to a page without a cursor, for one without rows may come before more. A cursor that
 * came before would lead round for ever and is an error (`invalid_response`), after its page was yielded, and so are too many empty pages.
 */
export async function* followPages<P extends Page<unknown>>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
  first?: string,
): AsyncGenerator<P, void> {
  const seen = new Set(first === undefined ? [] : [first]);
  let cursor = first;
  let empty = 0;
  for (;;) {
    const page = await fetchPage(cursor);
    yield page;
    if (page.cursor === null) return;
    if (seen.has(page.cursor)) {
      throw new ControlPlaneError('invalid_response', 'a page of a list repeats a cursor that came before');
    }
    const rows = page.items.length + (page.rejected?.length ?? 0) + (page.unavailableIds?.length ?? 0);
    empty = rows === 0 ? empty + 1 : 0;
    if (empty > mostEmptyPages) throw new ControlPlaneError('invalid_response', 'a list has empty pages without end');
    seen.add(page.cursor);
    cursor = page.cursor;
  }
}

/** The rows of a list one by one, in the order of its pages. */
export async function* items<T>(pages: AsyncIterable<Page<T>>): AsyncGenerator<T, void> {
  for await (const page of pages) yield* page.items;
}

/**
 * All rows of a list and those that cannot be read, with the earliest Date of its responses: what is in the list was there after that; and the largest
 * age of its pages.
 */
export async function collect<T>(
  pages: AsyncIterable<Page<T>>,
): Promise<{ items: T[]; rejected: RejectedRow[]; dateMs: number | null; ageMs: number }> {
  const rows: T[] = [];
  const rejected: RejectedRow[] = [];
  let ageMs = 0;
  let dateMs: number | null | undefined;
  for await (const page of pages) {
    for (const item of page.items) rows.push(item);
    rejected.push(...(page.rejected ?? []));
    ageMs = Math.max(ageMs, page.ageMs);
    // A later Date would say too much; an earlier one, as of a page that a cache kept, is how old the whole is.
    if (dateMs === undefined) dateMs = page.dateMs;
    else if (dateMs !== null && page.dateMs !== null) dateMs = Math.min(dateMs, page.dateMs);
  }
  return { items: rows, rejected, dateMs: dateMs ?? null, ageMs };
}
