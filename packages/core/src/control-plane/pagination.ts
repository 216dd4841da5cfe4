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
 * Follows a list to its end. A full page carries a cursor even when nothing follows, so that the last page may be empty; a page
 * that repeats its own cursor would never end and is an error.
 */
export async function* followPages<P extends Page<unknown>>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
): AsyncGenerator<P> {
  let cursor: string | undefined;
  for (;;) {
    const page = await fetchPage(cursor);
    yield page;
    const isEmpty = page.items.length + (page.unavailableIds?.length ?? 0) === 0;
    if (page.cursor === null || isEmpty) return;
    if (page.cursor === cursor)
      throw new ControlPlaneError('invalid_response', 'a page of a list repeats its own cursor');
    cursor = page.cursor;
  }
}

/** All rows of a list, with the Date of its first response: what is in the list was there after that. */
export async function collect<T>(pages: AsyncIterable<Page<T>>): Promise<{ items: T[]; dateMs: number | null }> {
  const items: T[] = [];
  let dateMs: number | null | undefined;
  for await (const page of pages) {
    for (const item of page.items) items.push(item);
    dateMs ??= page.dateMs;
  }
  return { items, dateMs: dateMs ?? null };
}
