import { ControlPlaneError } from './errors.ts';

/** One response of a list: its rows, the cursor of the next page (null at the end), the control plane's Date in ms. */
export interface Page<T> {
  items: T[];
  cursor: string | null;
  dateMs: number | null;
  /** Rows that exist but that this answer left out, by id. */
  unavailableIds?: string[];
}

/**
 * Follows a list to its end, from the cursor `first` on. A full page carries a cursor even when nothing follows, so that the last page may be empty; a
 * cursor that came before would lead round for ever and is an error (`invalid_response`), after its page was yielded.
 */
export async function* followPages<P extends Page<unknown>>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
  first?: string,
): AsyncGenerator<P, void> {
  const seen = new Set(first === undefined ? [] : [first]);
  let cursor = first;
  for (;;) {
    const page = await fetchPage(cursor);
    yield page;
    const isEmpty = page.items.length + (page.unavailableIds?.length ?? 0) === 0;
    if (page.cursor === null || isEmpty) return;
    if (seen.has(page.cursor)) {
      throw new ControlPlaneError('invalid_response', 'a page of a list repeats a cursor that came before');
    }
    seen.add(page.cursor);
    cursor = page.cursor;
  }
}

/** The rows of a list one by one, in the order of its pages. */
export async function* items<T>(pages: AsyncIterable<Page<T>>): AsyncGenerator<T, void> {
  for await (const page of pages) yield* page.items;
}

/** All rows of a list, with the Date of its first response: what is in the list was there after that. */
export async function collect<T>(pages: AsyncIterable<Page<T>>): Promise<{ items: T[]; dateMs: number | null }> {
  const rows: T[] = [];
  let dateMs: number | null | undefined;
  for await (const page of pages) {
    for (const item of page.items) rows.push(item);
    // That of a later page would say too much.
    if (dateMs === undefined) dateMs = page.dateMs;
  }
  return { items: rows, dateMs: dateMs ?? null };
}
