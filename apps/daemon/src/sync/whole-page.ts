import type { ControlPlaneClient, Page, RejectedRow } from '@keywarden/core/client';
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

/** A page whose rows come once each. */
interface Counted extends Page<WireOperation> {
  rejected: RejectedRow[];
  /** How many different rows its answer had, with those that cannot be read. */
  rows: number;
  /** How many came again. */
  again: number;
}

/** A page, and the cursor that brought its rows: pages without a row that can be read may have come before. */
export interface WholePage extends Counted {
  askedWith: string | undefined;
  /** Rows of those pages that cannot be read. */
  passedOver: RejectedRow[];
}

/** How often a page is asked for before its answers must agree. */
const attempts = 3;
const mostEmptyPages = 100;

/**
 * A page that lacks no row between its first and its last. Empty ones with a cursor are passed over. One that is short and has a cursor, or that has
 * rows twice, is asked for again until two answers in a row are the same: a service may have smaller pages, and a row may be missing. What differs
 * from one answer to the next proves nothing. Where a list ends at a number of rows at which services cut lists off, or with rows twice, the cursor
 * is asked for by one row fewer.
 */
export async function fetchWhole(client: WalkedClient, { projectId, ...asked }: Asked): Promise<WholePage> {
  let { cursor } = asked;
  let page = await fetchTwice(client, projectId, asked);
  const passedOver: RejectedRow[] = [];
  for (let empty = 1; page.items.length === 0 && page.cursor !== null && page.cursor !== cursor; empty += 1) {
    if (empty > mostEmptyPages) throw refuse('is empty and has a cursor, again and again');
    passedOver.push(...page.rejected);
    cursor = page.cursor;
    page = await fetchTwice(client, projectId, { ...asked, cursor });
  }
  const { rows, again } = page;
  const whole = { ...page, passedOver, askedWith: cursor };
  const mayBeCutOff = isCutOff(rows) || isCutOff(rows + again) || again > 0;
  if (page.cursor !== null || !mayBeCutOff || rows >= asked.limit) return whole;
  if (rows === 1) throw refuse('shows its only row twice, and more may follow');
  const shorter = { ...asked, cursor, limit: rows - 1 };
  const end = await fetchTwice(client, projectId, shorter);
  if (end.cursor === null || end.rows !== shorter.limit)
    throw refuse('ends where lists are cut off, and more may follow');
  return { ...whole, cursor: end.cursor };
}

/** Asked for until it is not odd, or two answers in a row are the same. */
async function fetchTwice(client: WalkedClient, projectId: string, asked: Omit<Asked, 'projectId'>): Promise<Counted> {
  const ask = async () => onceEach(await client.operationsPage(projectId, asked));
  const isOdd = ({ rows, again, cursor }: Counted) => again > 0 || (cursor !== null && rows < asked.limit);
  let page = await ask();
  for (let attempt = 1; isOdd(page); attempt += 1) {
    const next = await ask();
    if (isSame(page, next)) return next;
    if (attempt === attempts) throw refuse('has other rows each time');
    page = next;
  }
  return page;
}

function onceEach(page: Page<WireOperation>): Counted {
  const seen = new Set<string>();
  const items = page.items.filter(({ id }) => !seen.has(id) && seen.add(id));
  const rejected = page.rejected ?? [];
  return {
    ...page,
    items,
    rejected,
    rows: items.length + rejected.length,
    again: page.items.length - items.length,
  };
}

const isSame = (a: Counted, b: Counted) =>
  a.items.length === b.items.length &&
  a.rejected.length === b.rejected.length &&
  a.items.every(({ id }, index) => id === b.items[index]?.id);
