import type { Page } from '@keywarden/core/client';
import { compareInstants, isInstant } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import type { OpenWalk, UnreadRow } from '@keywarden/db/daemon';
import { endOfDigits, justAbove, later } from './digits.ts';
import { CursorError, type CursorPosition, OverlapError, topOf } from './page-checks.ts';
import type { WholePage } from './whole-page.ts';

// What a walk knows between two pages. Nothing here makes a request.

/** How often a page is requested again after its rows changed during the check of its last instant. */
export const attempts = 3;

/** Rows of one instant that later pages must show again, by id, with the position of the page that showed them. */
interface Overlap {
  at: string;
  ids: Set<string>;
  before: CursorPosition;
  isWholeAbove: boolean;
}

/** The state of a walk between two pages. */
export interface WalkState {
  /** The page to request; null for the newest one. */
  position: CursorPosition;
  beganAt: string | undefined;
  floor: string | null;
  /** The rows of the next page. */
  limit: number;
  /** The number of this request of one page. */
  attempt: number;
  overlaps: Overlap[];
  /** How often the page above lost rows was requested again. */
  repeats: number;
  resumeAt: CursorPosition;
  /** Whether the page above has no unreadable row. */
  isWholeAbove: boolean;
  /** The oldest time that the walk has reached, and the cursors that led onward since. */
  followed: { at: string; cursors: Set<string> };
}

/** Where a walk begins. */
export interface Beginning {
  /** Where an interrupted walk stopped; null begins at the newest operation. */
  from: OpenWalk | null;
  /** The walk may stop below this; null continues to the end. A resumed walk keeps its original floor. */
  floor: string | null;
  /** The number of rows of the first page. */
  firstLimit: number;
  /** The control plane's largest page. */
  maxLimit: number;
}

export function beginWalk({ from, floor, firstLimit, maxLimit }: Beginning): WalkState {
  return {
    position: from,
    beganAt: from?.beganAt,
    floor: from === null ? floor : from.floor,
    limit: from === null ? firstLimit : maxLimit,
    attempt: 1,
    overlaps: [],
    repeats: 0,
    resumeAt: from,
    isWholeAbove: true,
    followed: { at: '', cursors: new Set() },
  };
}

/**
 * Notes which rows of earlier pages a page has shown again. Returns false if rows are lost: the walk then goes back to the page that showed them, because they
 * may have vanished meanwhile. Throws an OverlapError if they are lost each time.
 */
export function settleOverlaps(state: WalkState, page: WholePage): boolean {
  // A row that can no longer be read still counts as shown.
  for (const { id } of [...page.items, ...page.rejected])
    for (const { ids } of state.overlaps) if (id !== null) ids.delete(id);
  const lost = state.overlaps.find((overlap) => overlap.ids.size > 0 && isPassed(page, overlap));
  if (lost !== undefined) {
    if (state.repeats === attempts) throw new OverlapError(lost.ids.size);
    state.repeats += 1;
    state.position = lost.before;
    state.isWholeAbove = lost.isWholeAbove;
    state.overlaps = [];
    state.followed.cursors.clear();
    return false;
  }
  const open = state.overlaps.filter(({ ids }) => ids.size > 0);
  if (open.length === 0 && state.overlaps.length > 0) state.repeats = 0;
  state.overlaps = open;
  return true;
}

/** Returns what a page is to the walk, whether it is the last one or not. */
export function describePage(state: WalkState, page: WholePage, answeredAt: string) {
  const rejected = [...page.passedOver, ...page.rejected];
  // A walk that resumed below an unreadable row would skip it.
  if (state.isWholeAbove) state.resumeAt = state.position;
  return {
    operations: page.items,
    rejected,
    unread: listUnread(state, page, answeredAt),
    isWhole: rejected.length === 0 && state.isWholeAbove,
    beganAt: state.beganAt ?? answeredAt,
    answeredAt,
    floor: state.floor,
    below: state.position?.below ?? null,
    resumeAt: state.resumeAt,
    unprovedAt: null,
  };
}

/**
 * Returns when the unreadable rows of a page may be from: the time that a row has itself, or the times of its neighbours if it has none between them. Nothing
 * is known of rows without a time below the last readable one: the next page shows them again, unless the list ends.
 */
function listUnread({ position }: WalkState, page: WholePage, answeredAt: string): UnreadRow[] {
  if (page.passedOver.length + page.rejected.length === 0) return [];
  const times = page.items.map(({ createdAt }) => createdAt);
  const rows = page.rejected.map((row, rejectedAbove) => {
    const item = row.index - rejectedAbove;
    // Repeated rows hide which rows the unreadable one is between.
    return page.repeated > 0
      ? { row, to: undefined, from: times.at(-1) }
      : { row, to: times[item - 1], from: times[item] };
  });
  const above = page.passedOver.map((row) => ({ row, to: undefined, from: times[0] }));
  return [...above, ...rows].flatMap(({ row: { id, createdAt: own }, to, from }) => {
    const top = endOfDigits(to ?? position?.below ?? later(answeredAt, from ?? answeredAt));
    if (own !== undefined && compareInstants(own, top) <= 0 && (from === undefined || compareInstants(own, from) >= 0))
      return [{ id, from: own, to: endOfDigits(own) }];
    if (from === undefined) return [];
    // The page above had this row too, above rows that both show.
    const isRepeated = to === undefined && position !== null && compareInstants(from, position.below) >= 0;
    return isRepeated ? [] : [{ id, from, to: top }];
  });
}

/** Moves the walk below a page: to the cursor that shows all rows of its last instant again, or else to the page's own. */
export function moveBelow(
  state: WalkState,
  { back, cursor, reached, isReadable }: { back: StepBack; cursor: string; reached: string; isReadable: boolean },
): void {
  const { position, overlaps, isWholeAbove } = state;
  state.attempt = 1;
  if (back.state === 'proved') overlaps.push({ at: reached, ids: back.shownAgain, before: position, isWholeAbove });
  // Rows of an instant that no cursor leads into are named as unknown, so no later page has to show them.
  else state.overlaps = overlaps.filter(({ at }) => compareInstants(at, reached) !== 0);
  const onward = (back.state === 'full' ? back.cursor : null) ?? cursor;
  const next =
    back.state === 'proved'
      ? { cursor: back.next.cursor, top: later(back.next.below, justAbove(endOfDigits(reached))) }
      : { cursor: onward, top: earlier(onward, reached) };
  const { followed } = state;
  if (followed.at === '' || compareInstants(reached, followed.at) < 0)
    state.followed = { at: reached, cursors: new Set() };
  if (state.followed.cursors.has(next.cursor)) throw new CursorError('repeats a cursor, and reaches no older row');
  state.followed.cursors.add(next.cursor);
  // An unreadable row's position is unknown: no page proves what is above the last row beside it.
  const below = belowOf(position?.below, isReadable ? next.top : reached);
  state.position = { ...next, below, top: belowOf(topOf(position), next.top) };
  state.isWholeAbove = isReadable;
}

/**
 * The state of a page's last instant. proved: the next page shows all of its rows. full: they fill the page and no cursor is above them, so
 * the walk continues below. changed: rows vanished meanwhile, and the page must be requested again.
 */
export type StepBack =
  | { state: 'proved'; next: NonNullable<CursorPosition>; shownAgain: Set<string> }
  | { state: 'full'; cursor: string | null }
  | { state: 'changed' };

/** Returns a bound of the next page: no bound rises from one page to the next. */
const belowOf = (above: string | undefined, at: string) =>
  above !== undefined && compareInstants(above, at) < 0 ? above : at;

/** Returns the cursor if it has fewer digits than its row's time: the next page starts below it, and proves nothing above it. */
function earlier(cursor: string, reached: string): string {
  return isInstant(cursor) && compareInstants(cursor, reached) < 0 ? cursor : reached;
}

/**
 * Returns whether a page is below the rows that must be shown again. The page after the shorter one begins with them, or a later page if
 * rows were added meanwhile. If no page shows them, a cursor is not the exact time of its row. It may be truncated to whole seconds, and
 * rows between were lost.
 */
function isPassed({ items, cursor }: Page<WireOperation>, { at }: Overlap): boolean {
  const last = items.at(-1);
  return cursor === null || last === undefined || compareInstants(last.createdAt, at) < 0;
}
