import { type ControlPlaneClient, ControlPlaneError, type Page } from '@keywarden/core/client';
import { toMs, type WireOperation } from '@keywarden/core/wire';

const hourMs = 3_600_000;
/** The control plane's largest page of operations. */
const maxLimit = 1000;
/** The first page of a walk that goes back a day: most projects have less than this in it. */
const recentLimit = 100;
/** How far back every walk goes again: rows may appear late (A8). */
const overlapMs = 24 * hourMs;

export interface WalkedPage {
  operations: WireOperation[];
  /** Set on the last page: the control plane's time when the walk began. */
  walkedAt: string | undefined;
  /** An instant whose rows could not be proved to be all there: more bear it than the largest page holds. */
  unprovedAt: string | undefined;
}

/** Where a walk may stop: below this every operation was there at the last completed walk. Null for a first walk. */
export function floorOf(walkedAt: string | null): string | null {
  return walkedAt === null ? null : new Date(toMs(walkedAt) - overlapMs).toISOString();
}

/**
 * Walks a project's operations, newest first, down to the end or to where the last walk began, less the overlap.
 *
 * A cursor is the time of a page's last row and the next page starts strictly below it, so that rows of that very time which
 * did not fit would be lost (A2). Each page is therefore asked for once more with as many rows fewer as bear its last time;
 * the page after that shorter one has them all in its inside.
 */
export async function* walkOperations(
  client: Pick<ControlPlaneClient, 'operationsPage'>,
  {
    projectId,
    floor,
    datedAt,
    signal,
  }: { projectId: string; floor: string | null; datedAt: (dateMs: number | null) => string; signal: AbortSignal },
): AsyncGenerator<WalkedPage> {
  let limit = floor === null ? maxLimit : recentLimit;
  let cursor: string | undefined;
  let walkedAt: string | undefined;
  let above: string | undefined;
  for (;;) {
    const page = await client.operationsPage(projectId, { limit, cursor, signal });
    walkedAt ??= datedAt(page.dateMs);
    const last = page.items.at(-1);
    assertProgress(page, { limit, cursor, above });
    above = last?.createdAt;
    const isEnd = page.cursor === null || last === undefined || (floor !== null && toMs(last.createdAt) < toMs(floor));
    if (isEnd) {
      yield { operations: page.items, walkedAt, unprovedAt: undefined };
      return;
    }
    if (isOneInstant(page) && limit < maxLimit) {
      limit = maxLimit;
      continue;
    }
    limit = maxLimit;
    const next = await stepBack(client, { projectId, page, cursor, signal });
    yield { operations: page.items, walkedAt: undefined, unprovedAt: next.unprovedAt };
    cursor = next.cursor;
  }
}

/** The cursor from which the next page shows every row of this page's last instant. */
async function stepBack(
  client: Pick<ControlPlaneClient, 'operationsPage'>,
  {
    projectId,
    page,
    cursor,
    signal,
  }: { projectId: string; page: Page<WireOperation>; cursor: string | undefined; signal: AbortSignal },
): Promise<{ cursor: string | undefined; unprovedAt: string | undefined }> {
  const lastInstant = page.items.at(-1)?.createdAt;
  const above = page.items.findLastIndex((each) => each.createdAt !== lastInstant) + 1;
  const unproved = { cursor: page.cursor ?? undefined, unprovedAt: lastInstant };
  if (above === 0) return unproved;
  const shorter = await client.operationsPage(projectId, { limit: above, cursor, signal });
  // Rows that came meanwhile push it up, which only repeats some; rows that went would pull it down, and it would skip some.
  const end = shorter.items.at(-1)?.createdAt;
  const endsAbove = shorter.cursor !== null && end !== undefined && isAfter(end, lastInstant);
  return endsAbove ? { cursor: shorter.cursor ?? undefined, unprovedAt: undefined } : unproved;
}

/** Only a short page ends a list, and each page ends below the one before: otherwise the walk would prove what is not so. */
function assertProgress(
  { items, cursor: next }: Page<WireOperation>,
  { limit, cursor, above }: { limit: number; cursor: string | undefined; above: string | undefined },
): void {
  const last = items.at(-1)?.createdAt;
  const isCut = next === null && items.length >= limit;
  const goesUp = last !== undefined && above !== undefined && isAfter(last, above);
  if (isCut || goesUp || (next !== null && next === cursor)) {
    const what = isCut ? 'is full and has no cursor' : 'does not go on from the page before';
    throw new ControlPlaneError('invalid_response', `a page of operations ${what}`);
  }
}

/** Compares RFC 3339 times with their microseconds; those of one server are spelled alike. */
function isAfter(a: string, b: string | undefined): boolean {
  if (b === undefined) return true;
  const [aMs, bMs] = [toMs(a), toMs(b)];
  return aMs > bMs || (aMs === bMs && fraction(a) > fraction(b));
}

function fraction(at: string): number {
  return Number(`0${/\.\d+/.exec(at)?.[0] ?? '.0'}`);
}

function isOneInstant({ items }: Page<WireOperation>): boolean {
  return items.every((each) => each.createdAt === items[0]?.createdAt);
}
