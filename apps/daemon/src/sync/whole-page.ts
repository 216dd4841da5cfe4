import type { ControlPlaneClient, Page } from '@keywarden/core/client';
import type { WireOperation } from '@keywarden/core/wire';
import { isCutOff } from '@keywarden/db/daemon';
import { refuse } from './page-checks.ts';

export type WalkedClient = Pick<ControlPlaneClient, 'operationsPage' | 'operationsPageEnd'>;

interface Asked {
  projectId: string;
  limit: number;
  cursor: string | undefined;
  signal: AbortSignal;
}

/** A page, and the cursor that brought its rows: empty pages may have come before. */
export type WholePage = Page<WireOperation> & { askedWith: string | undefined };

/** A page whose rows come once each, and how many its answer had. */
type Counted = Page<WireOperation> & { rows: number };

/** How often a page is asked for before its answers must agree. */
const attempts = 3;
const mostEmptyPages = 100;

/**
 * A page that lacks no row between its first and its last. Empty ones with a cursor are passed over. One that is short and has a cursor, or that has
 * rows twice, is asked for again until two answers in a row are the same: a service may have smaller pages, and a row may be missing. What differs
 * from one answer to the next proves nothing. Where a list ends at a number of rows at which services cut lists off, or with rows twice, the cursor is asked for by one row
 * fewer.
 */
export async function fetchWhole(client: WalkedClient, { projectId, ...asked }: Asked): Promise<WholePage> {
  let { cursor } = asked;
  let page = await fetchTwice(client, projectId, asked);
  for (let empty = 1; page.items.length === 0 && page.cursor !== null && page.cursor !== cursor; empty += 1) {
    if (empty > mostEmptyPages) throw refuse('is empty and has a cursor, again and again');
    cursor = page.cursor;
    page = await fetchTwice(client, projectId, { ...asked, cursor });
  }
  const { length } = page.items;
  const mayBeCutOff = isCutOff(length) || isCutOff(page.rows) || page.rows > length;
  if (page.cursor !== null || !mayBeCutOff || length >= asked.limit) return { ...page, askedWith: cursor };
  if (length === 1) throw refuse('shows its only row twice, and more may follow');
  const shorter = { ...asked, cursor, limit: page.items.length - 1 };
  const { items, cursor: next } = await fetchTwice(client, projectId, shorter);
  if (next === null || items.length !== shorter.limit) throw refuse('ends where lists are cut off, and more may follow');
  return { ...page, cursor: next, askedWith: cursor };
}

/** Asked for until it is not odd, or two answers in a row are the same. */
async function fetchTwice(client: WalkedClient, projectId: string, asked: Omit<Asked, 'projectId'>): Promise<Counted> {
  const ask = async () => onceEach(await client.operationsPage(projectId, asked));
  let page = await ask();
  const isOdd = ({ items, rows, cursor }: Counted) =>
    rows > items.length || (cursor !== null && items.length < asked.limit);
  for (let attempt = 1; isOdd(page); attempt += 1) {
    const again = await ask();
    if (isSame(page, again)) return again;
    if (attempt === attempts) throw refuse('has other rows each time');
    page = again;
  }
  return page;
}

function onceEach(page: Page<WireOperation>): Counted {
  const seen = new Set<string>();
  const items = page.items.filter(({ id }) => !seen.has(id) && seen.add(id));
  return { ...page, items, rows: page.items.length };
}

const isSame = (a: Page<WireOperation>, b: Page<WireOperation>) =>
  a.items.length === b.items.length && a.items.every(({ id }, index) => id === b.items[index]?.id);
