import { type ControlPlaneClient, ControlPlaneError, type Page, type RejectedRow } from '@keywarden/core/client';
import { secondOf } from '@keywarden/core/values';
import { type WireOperation } from '@keywarden/core/wire';
import { isCutOff } from '@keywarden/db/daemon';

export const refuse = (what: string) => new ControlPlaneError('invalid_response', `a page of operations ${what}`);

export type WalkedClient = Pick<ControlPlaneClient, 'operationsPage' | 'operationsPageEnd'>;

interface Asked {
  projectId: string;
  limit: number;
  cursor: string | undefined;
  signal: AbortSignal;
  /** The most rows that one page of the service has shown: its pages may be smaller than what is asked for, and are that large at least. */
  largest: number;
  /** Whether the list is known to end with these rows. Absent where it is not, as below a first page. */
  isKnownEnd?: ((operations: WireOperation[]) => Promise<boolean>) | undefined;
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
 * A page that lacks no row between its first and its last; its cursor is null where it ends the list. Empty pages with a cursor are passed over.
 *
 * Services end a list in two ways: with a short page without a cursor, or with an empty page after a short one. A short page with a cursor is the last
 * one where the store knows that, or where a larger one was seen, so that it is short of itself, and nothing comes after it. Any other, and one that
 * has rows twice, is asked for again until two answers in a row are the same: a service may have smaller pages, and a row may be missing. What differs
 * from one answer to the next proves nothing. Where a list ends at a number of rows at which services cut lists off, or with rows twice, the cursor is
 * asked for by one row fewer.
 */
export async function fetchWhole(client: WalkedClient, { projectId, isKnownEnd, ...asked }: Asked): Promise<WholePage> {
  let { cursor } = asked;
  let page = await fetchAgreed(client, projectId, { ...asked, isKnownEnd });
  const passedOver: RejectedRow[] = [];
  for (let empty = 1; page.items.length === 0 && page.cursor !== null && page.cursor !== cursor; empty += 1) {
    if (empty > mostEmptyPages) throw refuse('is empty and has a cursor, again and again');
    passedOver.push(...page.rejected);
    cursor = page.cursor;
    page = await fetchAgreed(client, projectId, { ...asked, cursor });
  }
  const { rows, again, isLast } = page;
  const whole = { ...page, passedOver, askedWith: cursor };
  if (isLast) return { ...whole, cursor: null };
  const mayBeCutOff = isCutOff(rows) || isCutOff(rows + again) || again > 0;
  if (page.cursor !== null || !mayBeCutOff || rows >= asked.limit) return whole;
  if (rows === 1) throw refuse('shows its only row twice, and more may follow');
  const shorter = { ...asked, cursor, limit: rows - 1 };
  const end = await fetchAgreed(client, projectId, shorter);
  if (end.isLast || end.cursor === null || end.rows !== shorter.limit)
    throw refuse('ends where lists are cut off, and more may follow');
  return { ...whole, cursor: end.cursor };
}

/** Asked for until it is not odd, or is the last one for all that its cursor says, or two answers in a row are the same. */
async function fetchAgreed(
  client: WalkedClient,
  projectId: string,
  { isKnownEnd, largest, ...asked }: Omit<Asked, 'projectId'>,
): Promise<Counted & { isLast: boolean }> {
  const ask = async () => onceEach(await client.operationsPage(projectId, asked));
  const isOdd = ({ rows, cursor, again }: Counted) => again > 0 || (cursor !== null && rows < asked.limit);
  let page = await ask();
  for (let attempt = 1; isOdd(page); attempt += 1) {
    if (page.again === 0 && page.items.length > 0) {
      if (page.rejected.length === 0 && (await isKnownEnd?.(page.items))) return { ...page, isLast: true };
      if (page.rows < largest) {
        const after = await client.operationsPage(projectId, { ...asked, cursor: page.cursor ?? undefined, limit: 1 });
        if (onceEach(after).rows === 0 && after.cursor === null) return { ...olderOf(page, after), isLast: true };
      }
    }
    const next = await ask();
    if (isSame(page, next) || (asked.cursor === undefined && isPushedDown(page, next)))
      return { ...next, isLast: false };
    if (attempt === attempts) throw refuse('has other rows each time');
    page = next;
  }
  return { ...page, isLast: false };
}

/** What two answers say together is as old as the older of them. */
function olderOf(page: Counted, { dateMs, ageMs }: Page<WireOperation>): Counted {
  const isDated = page.dateMs !== null && dateMs !== null;
  return {
    ...page,
    dateMs: isDated ? Math.min(page.dateMs ?? dateMs, dateMs) : null,
    ageMs: Math.max(page.ageMs, ageMs),
  };
}

function onceEach(page: Page<WireOperation>): Counted {
  const seen = new Set<string>();
  // An id that comes back with another time is another operation, as the store has it.
  const items = page.items.filter(({ id, createdAt }) => {
    const own = `${id} ${secondOf(createdAt)}`;
    return !seen.has(own) && seen.add(own);
  });
  const rejected = page.rejected ?? [];
  return {
    ...page,
    items,
    rejected,
    rows: items.length + rejected.length,
    again: page.items.length - items.length,
  };
}

/** Rows came meanwhile at the top of a list, and what follows them is the page before: it lacks none of its own. */
function isPushedDown(before: Counted, { items, rejected }: Counted): boolean {
  const top = items.findIndex(({ id }) => id === before.items[0]?.id);
  if (top <= 0 || rejected.length > 0 || before.rejected.length > 0) return false;
  return items.slice(top).every(({ id }, index) => id === before.items[index]?.id);
}

const isSame = (a: Counted, b: Counted) =>
  a.items.length === b.items.length &&
  a.rejected.length === b.rejected.length &&
  a.items.every(({ id }, index) => id === b.items[index]?.id);
