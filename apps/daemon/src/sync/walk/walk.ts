import type { RejectedRow } from '@keywarden/core/client';
import { compareInstants } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import type { UnreadRow } from '@keywarden/db/daemon';
import { endOfDigits } from './digits.ts';
import { assertDescends, CursorError, rowOf, withoutImpossible } from './page-checks.ts';
import {
  attempts,
  type Beginning,
  beginWalk,
  describePage,
  moveBelow,
  type StepBack,
  settleOverlaps,
  type WalkState,
} from './state.ts';
import { fetchWhole, type WalkedClient, type WholePage } from './whole-page.ts';

export interface Walk extends Beginning {
  projectId: string;
  /** When the project was created: its operations are younger. */
  projectCreatedAt: string;
  /** The most rows that a page of this service has shown recently. The walk raises it. */
  seen: { largestPage: number };
  /** Returns whether the list is known to end with these rows of its newest page. Absent if only a response can show that. */
  isKnownEnd?: (operations: WireOperation[]) => Promise<boolean>;
  /** Returns the Date of a response to a request made at `begunMs`, as RFC 3339. Throws if a cache kept the response. */
  datedAt: (answer: { dateMs: number | null; ageMs: number }, begunMs: number) => string;
  /** The local clock, in ms. */
  now: () => number;
  signal: AbortSignal;
}

/** One page of a walk, and the walk's state after it. */
export interface WalkedPage {
  operations: WireOperation[];
  rejected: RejectedRow[];
  /** Where those are that lie between two readable rows. The archive lacks them, unless it has a readable version. */
  unread: UnreadRow[];
  /** Whether neither this page nor the one above has an unreadable row. Such a row's position is unknown, so the page proves nothing. */
  isWhole: boolean;
  /** The control plane's time when the walk began, and when it returned this page. */
  beganAt: string;
  answeredAt: string;
  floor: string | null;
  /** The page has every operation between its last row's time and this one, both excluded. Null for a page without a cursor. */
  below: string | null;
  /** Whether the page ends the list: then it has every older operation, too. */
  isEnd: boolean;
  isDone: boolean;
  /**
   * Where an interrupted walk resumes: at this very page, because only the next page shows all rows of its last instant. Null for a page
   * requested without a cursor, with which any walk begins.
   */
  resumeAt: { cursor: string; below: string } | null;
  /** The page has every operation above this time. It is later than `reached` if that has fewer digits than the times it is compared with. */
  provedFrom: string;
  /** The oldest time that the walk has read. */
  reached: string;
  /** The last row's time, if rows of that time may be missing permanently: more rows share it than the largest page holds. */
  unprovedAt: string | null;
}

/**
 * Walks a project's operations, newest first, down to the end or to the floor.
 *
 * A cursor is the time of a page's last row, and the next page starts strictly below it. Rows of that very time which did not fit would be
 * lost (A2). Each page is therefore requested once more, without the rows that share its last time. The page after that shorter one
 * contains all rows of that time.
 */
export async function* walkOperations(client: WalkedClient, walk: Walk): AsyncGenerator<WalkedPage> {
  const { projectId, maxLimit, signal } = walk;
  const state = beginWalk(walk);
  for (;;) {
    const { page, answeredAt } = await fetchNext(client, walk, state);
    if (!settleOverlaps(state, page)) continue;
    const walked = describePage(state, page, answeredAt);
    const last = page.items.at(-1);
    if (page.cursor === null || last === undefined) {
      const reached = last?.createdAt ?? walked.below ?? walked.beganAt;
      yield { ...walked, isEnd: true, isDone: true, reached, provedFrom: endOfDigits(reached) };
      return;
    }
    const reached = last.createdAt;
    const provedFrom = endOfDigits(reached);
    if (state.floor !== null && compareInstants(reached, state.floor) < 0) {
      yield { ...walked, isEnd: false, isDone: true, reached, provedFrom };
      return;
    }
    if (state.limit < maxLimit && isAt(page.items[0], reached)) {
      state.limit = maxLimit;
      continue;
    }
    const back = await stepBack(client, { projectId, page, signal });
    if (back.state === 'changed' && state.attempt < attempts) {
      state.attempt += 1;
      continue;
    }
    state.limit = maxLimit;
    moveBelow(state, { back, cursor: page.cursor, reached, isReadable: walked.rejected.length === 0 });
    const unprovedAt = back.state === 'proved' ? null : reached;
    yield { ...walked, isEnd: false, isDone: false, reached, provedFrom, unprovedAt };
  }
}

/** Requests the next page, and checks that it continues the walk. */
async function fetchNext(
  client: WalkedClient,
  walk: Walk,
  state: WalkState,
): Promise<{ page: WholePage; answeredAt: string }> {
  const { projectId, from, seen, signal } = walk;
  const { position, limit } = state;
  const begunMs = walk.now();
  const fetched = await fetchWhole(client, {
    projectId,
    limit,
    cursor: position?.cursor,
    signal,
    largest: seen.largestPage,
    isKnownEnd: position === null ? walk.isKnownEnd : undefined,
  });
  // Other walks may have raised it meanwhile.
  seen.largestPage = Math.max(seen.largestPage, fetched.rows);
  const answeredAt = walk.datedAt(fetched, begunMs);
  state.beganAt ??= answeredAt;
  const page = withoutImpossible(fetched, { answeredAt, projectCreatedAt: walk.projectCreatedAt });
  const [first] = page.items;
  const isResumed = position !== null && position === from;
  if (isResumed && first !== undefined && compareInstants(first.createdAt, position.below) > 0)
    throw new CursorError('begins above the position where the walk continues');
  assertDescends(page, { projectId, position });
  return { page, answeredAt };
}

/** Returns a cursor from which the next page shows every row of this page's last instant. */
async function stepBack(client: WalkedClient, pageEnd: EndOfPage): Promise<StepBack> {
  const { items } = pageEnd.page;
  const lastInstant = items.at(-1)?.createdAt;
  const above = items.findLastIndex((each) => !isAt(each, lastInstant));
  if (above === -1) return await stepWithin(client, pageEnd);
  const { cursor, lastId } = await endAt(client, above, pageEnd);
  // Use the row's time as the page shows it, because that was checked. A row that the page does not have may have any time.
  const end = items.find(({ id }) => id === lastId)?.createdAt;
  // Rows added meanwhile move the end up, which only repeats some. Vanished rows would move it down, and the walk would skip some.
  if (cursor === null || end === undefined || lastInstant === undefined || compareInstants(end, lastInstant) <= 0)
    return { state: 'changed' };
  return { state: 'proved', next: { cursor, below: end }, shownAgain: idsBelow(items, above) };
}

/**
 * Does the same if all rows show one time, which may have fewer digits than cursors have. A row with another cursor than the page's own
 * belongs to another instant. A binary search finds the lowest such row.
 */
async function stepWithin(client: WalkedClient, pageEnd: EndOfPage): Promise<StepBack> {
  const { items, rejected, cursor: own } = pageEnd.page;
  let found: { cursor: string; item: number } | null = null;
  let [from, to] = [0, rejected.length === 0 ? items.length - 2 : -1];
  while (from <= to) {
    const item = Math.ceil((from + to) / 2);
    const { cursor, lastId } = await endAt(client, item, pageEnd);
    if (cursor === null || lastId !== items[item]?.id) return { state: 'changed' };
    if (cursor === own) to = item - 1;
    else {
      found = { cursor, item };
      from = item + 1;
    }
  }
  const below = items[0]?.createdAt;
  if (found === null || below === undefined) return { state: 'full', cursor: await cursorOfLast(client, pageEnd) };
  const { cursor, item } = found;
  return { state: 'proved', next: { cursor, below }, shownAgain: idsBelow(items, item) };
}

interface EndOfPage {
  projectId: string;
  page: WholePage;
  signal: AbortSignal;
}

/** Returns the end of the same page, requested only down to one of its items. */
const endAt = async (client: WalkedClient, item: number, { projectId, page, signal }: EndOfPage) =>
  await client.operationsPageEnd(projectId, { limit: rowOf(page, item) + 1, cursor: page.requestCursor, signal });

const idsBelow = (items: WireOperation[], item: number) => new Set(items.slice(item + 1).map(({ id }) => id));

/** Returns the cursor of the last readable row. The page's own cursor would skip rows that share the time of an unreadable row after it. */
async function cursorOfLast(client: WalkedClient, pageEnd: EndOfPage): Promise<string | null> {
  const { page } = pageEnd;
  const last = page.items.length - 1;
  if (rowOf(page, last) === page.rows - 1) return page.cursor;
  return (await endAt(client, last, pageEnd)).cursor;
}

/** Compares instants, because rows can write one instant with other digits or in another zone. */
const isAt = (operation: WireOperation | undefined, at: string | undefined) =>
  operation !== undefined && at !== undefined && compareInstants(operation.createdAt, at) === 0;
