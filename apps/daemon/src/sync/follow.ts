import type { OpenOperation } from '@keywarden/db/daemon';

/** What the first page asks for beyond the rows that are known to be there: operations that came since. */
const slack = 20;
const smallestPage = 100;

/** How a walk of a project that was walked before begins. */
export interface WalkPlan {
  floor: string;
  firstLimit: number;
}

/**
 * Operations that have not ended and lie below the floor are asked for one by one, or the walk goes down to them: whichever takes fewer
 * requests, and of equals the shorter walk. `recent` are the stored rows above the floor; `open` is ordered youngest first.
 */
export function planWalk({
  floor,
  recent,
  open,
  maxLimit,
}: {
  floor: string;
  recent: number;
  open: readonly OpenOperation[];
  maxLimit: number;
}): WalkPlan {
  let best = { floor, rows: recent, requests: requestsFor(recent, maxLimit) + open.length };
  for (const [index, { createdAt, depth }] of open.entries()) {
    const requests = requestsFor(depth, maxLimit) + open.length - index - 1;
    if (requests < best.requests) best = { floor: createdAt, rows: depth, requests };
  }
  return { floor: best.floor, firstLimit: firstLimitFor(best.rows, maxLimit) };
}

/** One page where one can hold them; else each page but the last is asked for twice, to prove its last instant. */
function requestsFor(rows: number, maxLimit: number): number {
  return rows + slack <= maxLimit ? 1 : 2 * Math.ceil((rows + slack) / maxLimit) - 1;
}

/** With nothing new the page must reach a row below the floor, and so end the walk. */
function firstLimitFor(rows: number, maxLimit: number): number {
  return Math.min(maxLimit, Math.max(smallestPage, Math.ceil(rows * 1.25) + slack));
}
