import { ControlPlaneError } from '@keywarden/core/client';
import { compareInstants, countOf, dayMs, toMs } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import { invalidPage, type WholePage } from './whole-page.ts';

/**
 * A page's cursor, and the time `below` from which on upwards the page proves nothing. Its rows may be younger, up to `top`, if the page above has an unreadable
 * row: that row may be readable by then, or another may have appeared beside it.
 */
export type CursorPosition = { cursor: string; below: string; top?: string } | null;

/** Returns the time above which the page at a position has no row; undefined for the newest page. */
export const topOf = (position: CursorPosition): string | undefined => position?.top ?? position?.below;

/**
 * Throws if a page breaks the rules that a walk relies on. Its rows belong to the requested project and descend, and each page lies below the previous one.
 * Otherwise the walk would prove something false.
 */
export function assertDescends(
  { items, rows, cursor: next }: { items: WireOperation[]; rows: number; cursor: string | null },
  { projectId, position }: { projectId: string; position: CursorPosition },
): void {
  if (next !== null && rows === 0) throw invalidPage('is empty and has its own cursor');
  if (items.some((each) => each.projectId !== projectId)) throw invalidPage('has rows of another project');
  if (next !== null && next === position?.cursor) throw invalidPage('does not continue from the previous page');
  let above = topOf(position);
  for (const { createdAt } of items) {
    if (above !== undefined && compareInstants(createdAt, above) > 0)
      throw invalidPage('is not in descending order of time');
    above = createdAt;
  }
}

/** Twice what the control plane keeps, in ms: it serves nothing older. */
const oldestMs = 400 * dayMs;
/** A Date has whole seconds, and the clocks of a service's servers differ. */
const aheadMs = 300_000;

/**
 * Returns the page without rows of impossible times, because a row's time decides what its page proves. Such a row lies before its
 * project's creation, in the future, or years back. It is kept apart like an unreadable row. Throws if no other row is left, because the
 * page's position is then unknown.
 */
export function withoutImpossible(
  page: WholePage,
  { answeredAt, projectCreatedAt }: { answeredAt: string; projectCreatedAt: string },
): WholePage {
  const nowMs = toMs(answeredAt);
  // Pages have thousands of rows, and to compare texts takes less time than to parse them.
  const first = new Date(Math.max(toMs(projectCreatedAt) - aheadMs, nowMs - oldestMs)).toISOString();
  const last = new Date(nowMs + aheadMs).toISOString();
  const isPossible = ({ createdAt }: WireOperation) =>
    compareInstants(createdAt, first) >= 0 && compareInstants(createdAt, last) <= 0;
  if (page.items.every(isPossible)) return page;
  const impossible = [...page.items.entries()].filter(([, each]) => !isPossible(each));
  if (impossible.length === page.items.length)
    throw invalidPage(`has a row created ${impossible[0]?.[1].createdAt}, which is impossible`);
  const rejected = impossible.map(([item, { id, createdAt }]) => ({
    index: rowOf(page, item),
    id,
    why: `created_at is ${createdAt}, which is impossible`,
    record: { id, created_at: createdAt },
  }));
  const all = [...page.rejected, ...rejected].toSorted((a, b) => a.index - b.index);
  return { ...page, items: page.items.filter(isPossible), rejected: all };
}

/** Returns an item's index among all rows of its page. */
export function rowOf({ rejected }: Pick<WholePage, 'rejected'>, item: number): number {
  return rejected.reduce((row, { index }) => (index <= row ? row + 1 : row), item);
}

/** The walk cannot continue from its position. It forgets the position, and the next walk begins at the newest operation. */
export class CursorError extends ControlPlaneError {
  constructor(what: string) {
    super('invalid_response', `a page of operations ${what}`);
  }
}

/** Rows above the position were lost, and no later walk would request them again. */
export class OverlapError extends CursorError {
  constructor(rows: number) {
    super(`does not repeat ${countOf(rows, 'row')} above it`);
  }
}
