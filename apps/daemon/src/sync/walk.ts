import { type ControlPlaneClient, ControlPlaneError, type Page } from '@keywarden/core/client';
import { compareInstants, type WireOperation } from '@keywarden/core/wire';
import type { OpenWalk } from '@keywarden/db/daemon';

/** How often a page is asked for again when its rows changed while its last instant was looked at. */
const attempts = 3;

export interface Walk {
  projectId: string;
  /** Where an earlier walk stands; null begins at the newest operation. */
  from: OpenWalk | null;
  /** The walk may stop below this; null goes to the end. One that goes on keeps the floor that it began with. */
  floor: string | null;
  /** Rows of the first page. */
  firstLimit: number;
  /** The control plane's largest page. */
  maxLimit: number;
  /** The Date of an answer, as RFC 3339. */
  datedAt: (dateMs: number | null) => string;
  signal: AbortSignal;
}

/** One page of a walk, and where that leaves it. */
export interface WalkedPage {
  operations: WireOperation[];
  /** The control plane's time when the walk began, and when it gave this page. */
  beganAt: string;
  askedAt: string;
  floor: string | null;
  /** The page has every operation between its last row's time and this one, both excluded. Null for a page without a cursor. */
  below: string | null;
  /** The page ends the list: it has every older operation too. */
  isEnd: boolean;
  /** The cursor of the next page, and the time of the row that it is of; null when the walk is done. */
  next: { cursor: string; below: string } | null;
  /** The oldest time that the walk has seen. */
  reached: string;
  /** The last row's time, if rows that bear it may be missing for good: more bear it than the largest page holds. */
  unprovedAt: string | null;
}

export type WalkedClient = Pick<ControlPlaneClient, 'operationsPage' | 'operationsPageEnd'>;
type Place = { cursor: string; below: string } | null;

/**
 * Walks a project's operations, newest first, down to the end or to the floor.
 *
 * A cursor is the time of a page's last row and the next page starts strictly below it, so that rows of that very time which
 * did not fit would be lost (A2). Each page is therefore asked for once more with as many rows fewer as bear its last time;
 * the page after that shorter one has them all in its inside.
 */
export async function* walkOperations(client: WalkedClient, walk: Walk): AsyncGenerator<WalkedPage> {
  const { projectId, from, maxLimit, signal } = walk;
  const floor = from === null ? walk.floor : from.floor;
  let place: Place = from;
  let beganAt = from?.beganAt;
  let limit = from === null ? walk.firstLimit : maxLimit;
  let attempt = 1;
  for (;;) {
    const page = await client.operationsPage(projectId, { limit, cursor: place?.cursor, signal });
    const askedAt = walk.datedAt(page.dateMs);
    beganAt ??= askedAt;
    assertDescends(page, { limit, place });
    const last = page.items.at(-1);
    const walked = { operations: page.items, beganAt, askedAt, floor, below: place?.below ?? null, unprovedAt: null };
    if (page.cursor === null || last === undefined) {
      yield { ...walked, isEnd: true, next: null, reached: last?.createdAt ?? place?.below ?? beganAt };
      return;
    }
    const reached = last.createdAt;
    if (floor !== null && compareInstants(reached, floor) < 0) {
      yield { ...walked, isEnd: false, next: null, reached };
      return;
    }
    if (limit < maxLimit && reached === page.items[0]?.createdAt) {
      limit = maxLimit;
      continue;
    }
    const back = await stepBack(client, { projectId, page, place, signal });
    if (back.state === 'changed' && attempt < attempts) {
      attempt += 1;
      continue;
    }
    attempt = 1;
    limit = maxLimit;
    place = back.state === 'proved' ? back.next : { cursor: page.cursor, below: reached };
    yield { ...walked, isEnd: false, next: place, reached, unprovedAt: back.state === 'proved' ? null : reached };
  }
}

/**
 * What is known of a page's last instant. proved: the next page shows all of its rows; full: they fill the page, and no cursor lies
 * above them; changed: rows went meanwhile, and the page has to be asked for again.
 */
type StepBack = { state: 'proved'; next: NonNullable<Place> } | { state: 'full' } | { state: 'changed' };

/** Looks for a cursor from which the next page shows every row of this page's last instant. */
async function stepBack(
  client: WalkedClient,
  {
    projectId,
    page,
    place,
    signal,
  }: { projectId: string; page: Page<WireOperation>; place: Place; signal: AbortSignal },
): Promise<StepBack> {
  const lastInstant = page.items.at(-1)?.createdAt;
  const above = page.items.findLastIndex((each) => each.createdAt !== lastInstant) + 1;
  if (above === 0 || lastInstant === undefined) return { state: 'full' };
  const shorter = { limit: above, cursor: place?.cursor, signal };
  const { cursor, lastCreatedAt: end } = await client.operationsPageEnd(projectId, shorter);
  // Rows that came meanwhile push it up, which only repeats some; rows that went would pull it down, and it would skip some.
  if (cursor === null || end === null || compareInstants(end, lastInstant) <= 0) return { state: 'changed' };
  return { state: 'proved', next: { cursor, below: end } };
}

/**
 * Only a short page ends a list, its rows go down, and each page lies below the one before: otherwise the walk would prove what is
 * not so.
 */
function assertDescends(
  { items, cursor: next }: Page<WireOperation>,
  { limit, place }: { limit: number; place: Place },
): void {
  const refuse = (what: string) => new ControlPlaneError('invalid_response', `a page of operations ${what}`);
  if (next === null && items.length >= limit) throw refuse('is full and has no cursor');
  if (next !== null && next === place?.cursor) throw refuse('does not go on from the page before');
  let above = place?.below;
  for (const { createdAt } of items) {
    if (above !== undefined && compareInstants(createdAt, above) > 0) throw refuse('does not go down in time');
    above = createdAt;
  }
}
