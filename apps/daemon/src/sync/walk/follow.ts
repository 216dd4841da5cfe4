import type { OpenOperation } from '@keywarden/db/daemon';

/** The rows that the first page requests beyond the known ones, for operations that were added since. */
const slack = 20;
const smallestPage = 100;

/** How a repeated walk of a project begins. */
export interface WalkPlan {
  floor: string;
  firstLimit: number;
}

/**
 * Plans how to read unfinished operations below the floor: request each one, or walk down to them. It takes the way with fewer requests,
 * and of equal ones the shorter walk. `recent` counts the stored rows above the floor. `open` is ordered youngest first.
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

/** Returns the number of requests for some rows: each page but the last is requested twice, to prove its last instant. */
function requestsFor(rows: number, maxLimit: number): number {
  return rows + slack <= maxLimit ? 1 : 2 * Math.ceil((rows + slack) / maxLimit) - 1;
}

/** Returns the size of the first page. With nothing new, that page must reach a row below the floor and so end the walk. */
function firstLimitFor(rows: number, maxLimit: number): number {
  return Math.min(maxLimit, Math.max(smallestPage, Math.ceil(rows * 1.25) + slack));
}
