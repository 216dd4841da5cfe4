import { ControlPlaneError } from './errors.ts';

/** What each method of the client takes. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** What a method takes that lists records in pages. */
export interface ListOptions extends CallOptions {
  /** Rows per page; the control plane's maximum by default. */
  limit?: number;
  /** The cursor of an earlier page to start from. */
  cursor?: string | undefined;
}

/** A row of a list that cannot be read: its index in the response, its id if that can be read, and the reason. */
export interface RejectedRow {
  index: number;
  id: string | null;
  why: string;
  /** Its time of creation, if that can be read. */
  createdAt?: string;
  /** The shape of the row: the types of its fields, and the values of ids, times and states. */
  record: unknown;
}

/** How old a response is: the control plane's Date in ms, and how long a cache kept the response, in ms. */
export interface ResponseAge {
  dateMs: number | null;
  ageMs: number;
}

/** Returns the age of two responses together: their joint evidence is as recent as the older one. If one has no Date, its age is unknown. */
export const olderOf = (a: ResponseAge, b: ResponseAge): ResponseAge => ({
  dateMs: a.dateMs === null || b.dateMs === null ? null : Math.min(a.dateMs, b.dateMs),
  ageMs: Math.max(a.ageMs, b.ageMs),
});

/** One response of a list: its rows, the unreadable rows apart, and the cursor of the next page (null at the end). */
export interface Page<T> extends ResponseAge {
  items: T[];
  /** Absent if every row can be read. */
  rejected?: RejectedRow[];
  cursor: string | null;
  /** The length of the response's text, in characters. */
  length?: number;
  /** The ids of rows that exist but are missing from this response. */
  unavailableIds?: string[];
}

/** The most consecutive empty pages that a list is followed over. */
const mostEmptyPages = 100;

/**
 * Follows a list from the cursor `first` to its end, which is a page without a cursor. A page without rows may come before more pages. One that twice
 * repeats its own cursor is the end, too. Any other repeated cursor would loop forever, so it is an error (`invalid_response`) after its page was yielded. Too
 * many empty pages are the same error.
 */
export async function* followPages<P extends Page<unknown>>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
  first?: string,
): AsyncGenerator<P, void> {
  const seen = new Set(first === undefined ? [] : [first]);
  let cursor = first;
  let empty = 0;
  let repeated: string | undefined;
  for (;;) {
    const page = await fetchPage(cursor);
    yield page;
    if (page.cursor === null) return;
    const rows = page.items.length + (page.rejected?.length ?? 0) + (page.unavailableIds?.length ?? 0);
    if (rows === 0 && page.cursor === cursor) {
      if (repeated === cursor) return;
      repeated = cursor;
      continue;
    }
    if (seen.has(page.cursor))
      throw new ControlPlaneError('invalid_response', 'a page of a list repeats an earlier cursor');
    empty = rows === 0 ? empty + 1 : 0;
    if (empty > mostEmptyPages)
      throw new ControlPlaneError('invalid_response', 'a list has too many empty pages in a row');
    seen.add(page.cursor);
    cursor = page.cursor;
  }
}

/** The most consecutive pages of a list without a new row that can be read. */
const mostRepeats = 1000;

/** The most rows of a list that is collected: far more than an account has, and not more than fit into memory. */
const mostRows = 2_000_000;

/** The longest text of all responses of a list that is collected, in characters. A control plane whose rows fill the memory would end the process. */
const longestList = 2 ** 28;

/** Yields the rows of a list one by one, in the order of its pages. */
export async function* items<T>(pages: AsyncIterable<Page<T>>): AsyncGenerator<T, void> {
  for await (const page of pages) yield* page.items;
}

/**
 * Returns all rows of a list, the unreadable rows, the ids of missing ones, and the age of its responses together. Everything in the list existed after their Date. Throws
 * `invalid_response` for a list that does not end.
 */
export async function collect<T>(pages: AsyncIterable<Page<T>>): Promise<Required<Omit<Page<T>, 'cursor' | 'length'>>> {
  const rows: T[] = [];
  const rejected: RejectedRow[] = [];
  const unavailableIds: string[] = [];
  const known = new Set<unknown>();
  let repeated = 0;
  let length = 0;
  let age: ResponseAge | undefined;
  for await (const page of pages) {
    length += page.length ?? 0;
    if (length > longestList)
      throw new ControlPlaneError('invalid_response', `a list has more than ${longestList} characters`);
    const before = known.size;
    for (const item of page.items) {
      rows.push(item);
      known.add(idOf(item));
    }
    addAll(rejected, page.rejected ?? []);
    addAll(unavailableIds, page.unavailableIds ?? []);
    if (rows.length + rejected.length > mostRows)
      throw new ControlPlaneError('invalid_response', `a list has more than ${mostRows} rows`);
    // Rows that arrive meanwhile push others to the next page, which then shows them again.
    repeated = known.size === before ? repeated + 1 : 0;
    if (repeated > mostRepeats)
      throw new ControlPlaneError('invalid_response', 'a list shows the same rows again and again');
    age = olderOf(age ?? page, page);
  }
  return { items: rows, rejected, unavailableIds, dateMs: age?.dateMs ?? null, ageMs: age?.ageMs ?? 0 };
}

/** Adds rows of a list to others. Hundreds of thousands as the arguments of one call overflow the stack. */
export function addAll<T>(to: T[], rows: readonly T[]): void {
  for (const row of rows) to.push(row);
}

/** Returns what tells a row apart: its id, or itself. */
const idOf = (row: unknown): unknown => (typeof row === 'object' && row !== null && 'id' in row ? row.id : row);
