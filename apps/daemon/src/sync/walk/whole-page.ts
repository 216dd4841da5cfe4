import {
  addAll,
  type ControlPlaneClient,
  ControlPlaneError,
  olderOf,
  type Page,
  type RejectedRow,
} from '@keywarden/core/client';
import { secondOf } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import { isCutOff } from '@keywarden/db/daemon';

export const invalidPage = (what: string) => new ControlPlaneError('invalid_response', `a page of operations ${what}`);

export type WalkedClient = Pick<ControlPlaneClient, 'operationsPage' | 'operationsPageEnd'>;

interface PageRequest {
  projectId: string;
  limit: number;
  cursor: string | undefined;
  signal: AbortSignal;
  /** The most rows that one page of the service has shown. Its pages may be smaller than requested, and can hold at least this many. */
  largest: number;
  /** Returns whether the list is known to end with these rows. Absent if that is unknown, as below a first page. */
  isKnownEnd?: ((operations: WireOperation[]) => Promise<boolean>) | undefined;
}

/** A page that contains each row once. */
interface Counted extends Page<WireOperation> {
  rejected: RejectedRow[];
  /** The number of different rows in its response, including unreadable ones. */
  rows: number;
  repeated: number;
}

/** A page, and the cursor that returned its rows. Pages without a readable row may have come before it. */
export interface WholePage extends Counted {
  requestCursor: string | undefined;
  /** The unreadable rows of those pages. */
  passedOver: RejectedRow[];
}

/** How often a page is requested before its responses must agree. */
const attempts = 3;
const mostEmptyPages = 100;

/**
 * Returns a page that lacks no row between its first and its last. Its cursor is null if it ends the list. Skips empty pages with a cursor.
 *
 * Services end a list in two ways: with a short page without a cursor, or with an empty page after a short one. A short page with a cursor
 * is the last one if the store shows that. It is also the last one if a larger page was seen, so that it is truly short, and nothing
 * follows it.
 *
 * An empty page below others that repeats its own cursor ends the list, too, if a second response shows the same: the next page would be this one again.
 *
 * Any other short page with a cursor, and any page with repeated rows, is requested again until two successive responses are the same. A
 * service may have smaller pages, and a row may be missing. Rows that differ between responses prove nothing.
 *
 * A list may end with a full page, at a number of rows at which services cut lists off, or with repeated rows. Then the cursor is requested
 * with one row fewer.
 */
export async function fetchWhole(
  client: WalkedClient,
  { projectId, isKnownEnd, ...request }: PageRequest,
): Promise<WholePage> {
  let { cursor } = request;
  let page = await fetchAgreed(client, projectId, { ...request, isKnownEnd });
  const passedOver: RejectedRow[] = [];
  for (let empty = 1; page.items.length === 0 && page.cursor !== null && page.cursor !== cursor; empty += 1) {
    if (empty > mostEmptyPages) throw invalidPage('is repeatedly empty and has a cursor');
    addAll(passedOver, page.rejected);
    cursor = page.cursor;
    const next = await fetchAgreed(client, projectId, { ...request, cursor });
    // What was added since above the next page would be missing from an outdated empty one.
    page = { ...next, ...olderOf(page, next) };
  }
  const { rows, repeated, isLast } = page;
  const whole = { ...page, passedOver, requestCursor: cursor };
  // Two responses were the same.
  if (isLast || (request.cursor !== undefined && leadsNowhere(page, cursor))) return { ...whole, cursor: null };
  const mayBeCutOff = isCutOff(rows) || repeated > 0 || rows >= request.limit;
  if (page.cursor !== null || !mayBeCutOff) return whole;
  if (rows === 1) throw invalidPage('shows one row, and more may follow');
  const shorter = { ...request, cursor, limit: rows - 1 };
  const end = await fetchAgreed(client, projectId, shorter);
  if (end.cursor === null || end.rows !== shorter.limit)
    throw invalidPage('ends where lists are cut off, and more may follow');
  return { ...whole, cursor: end.cursor };
}

/** Requests a page until it is not odd, is certainly the last one despite its cursor, or is the same in two successive responses. */
async function fetchAgreed(
  client: WalkedClient,
  projectId: string,
  { isKnownEnd, largest, ...request }: Omit<PageRequest, 'projectId'>,
): Promise<Counted & { isLast: boolean }> {
  const ask = async () => onceEach(await client.operationsPage(projectId, request));
  const isOdd = ({ rows, cursor, repeated }: Counted) => repeated > 0 || (cursor !== null && rows < request.limit);
  let page = await ask();
  for (let attempt = 1; isOdd(page); attempt += 1) {
    if (page.repeated === 0 && page.items.length > 0) {
      if (page.rejected.length === 0 && (await isKnownEnd?.(page.items))) return { ...page, isLast: true };
      if (page.rows < largest) {
        const below = { ...request, cursor: page.cursor ?? undefined, limit: 1 };
        const after = onceEach(await client.operationsPage(projectId, below));
        const isEnd =
          (after.rows === 0 && after.cursor === null) ||
          (leadsNowhere(after, below.cursor) &&
            leadsNowhere(onceEach(await client.operationsPage(projectId, below)), below.cursor));
        if (isEnd) return { ...page, ...olderOf(page, after), isLast: true };
      }
    }
    const next = await ask();
    const isSameEnd = leadsNowhere(page, request.cursor) === leadsNowhere(next, request.cursor);
    if ((isSame(page, next) && isSameEnd) || (request.cursor === undefined && isPushedDown(page, next)))
      return { ...next, isLast: false };
    if (attempt === attempts) throw invalidPage('has different rows each time');
    page = next;
  }
  return { ...page, isLast: false };
}

/** Returns whether a response has no row, and the cursor with which it was requested. */
const leadsNowhere = ({ rows, cursor }: Counted, requestCursor: string | undefined) =>
  rows === 0 && cursor === requestCursor;

function onceEach(page: Page<WireOperation>): Counted {
  const items = firstOfEach(page.items);
  const rejected = page.rejected ?? [];
  return {
    ...page,
    items,
    rejected,
    rows: items.length + rejected.length,
    repeated: page.items.length - items.length,
  };
}

/** Returns the first row of each id and second: an id that returns with another time is another operation, as in the store. */
function firstOfEach(rows: WireOperation[]): WireOperation[] {
  // Almost no page repeats an id.
  if (new Set(rows.map(({ id }) => id)).size === rows.length) return rows;
  const seen = new Set<string>();
  return rows.filter(({ id, createdAt }) => {
    const own = `${id} ${secondOf(createdAt)}`;
    return !seen.has(own) && seen.add(own);
  });
}

/** Returns whether rows were added at the top of a list and the previous page follows them: then that page lacks no row. */
function isPushedDown(before: Counted, { items, rejected }: Counted): boolean {
  const top = items.findIndex(({ id }) => id === before.items[0]?.id);
  if (top <= 0 || rejected.length > 0 || before.rejected.length > 0) return false;
  return items.slice(top).every(({ id }, index) => id === before.items[index]?.id);
}

const isSame = (a: Counted, b: Counted) =>
  a.items.length === b.items.length &&
  a.rejected.length === b.rejected.length &&
  a.items.every(({ id }, index) => id === b.items[index]?.id);
