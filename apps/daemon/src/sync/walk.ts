import { ControlPlaneError, type Page, type RejectedRow } from '@keywarden/core/client';
import { compareInstants, isInstant } from '@keywarden/core/values';
import { type WireOperation } from '@keywarden/core/wire';
import type { OpenWalk } from '@keywarden/db/daemon';
import { endOfDigits, justAbove, later } from './digits.ts';
import { assertDescends, rowOf, withoutImpossible } from './page-checks.ts';
import { fetchWhole, type WalkedClient, type WholePage } from './whole-page.ts';

/** How often a page is asked for again when its rows changed while its last instant was looked at. */
const attempts = 3;

export interface Walk {
  projectId: string;
  /** When the project was created: its operations are younger. */
  projectCreatedAt: string;
  /** Where an earlier walk stands; null begins at the newest operation. */
  from: OpenWalk | null;
  /** The walk may stop below this; null goes to the end. One that goes on keeps the floor that it began with. */
  floor: string | null;
  /** Rows of the first page. */
  firstLimit: number;
  /** The most rows that a page of this service has shown of late: the walk raises it. */
  seen: { largestPage: number };
  /** Whether the list is known to end with these rows of its newest page. Absent where only an answer can say. */
  isKnownEnd?: (operations: WireOperation[]) => Promise<boolean>;
  /** The control plane's largest page. */
  maxLimit: number;
  /** The Date of an answer that was asked for at `begunMs`, as RFC 3339. Throws where a cache kept the answer. */
  datedAt: (answer: { dateMs: number | null; ageMs: number }, begunMs: number) => string;
  /** Our clock, in ms. */
  now: () => number;
  signal: AbortSignal;
}

/** One page of a walk, and where that leaves it. */
export interface WalkedPage {
  operations: WireOperation[];
  /** Rows that cannot be read. */
  rejected: RejectedRow[];
  /** With a row that cannot be read a page proves nothing, and neither does the one below it: where that row belongs is not known. */
  isWhole: boolean;
  /** The control plane's time when the walk began, and when it gave this page. */
  beganAt: string;
  askedAt: string;
  floor: string | null;
  /** The page has every operation between its last row's time and this one, both excluded. Null for a page without a cursor. */
  below: string | null;
  /** The page ends the list: it has every older operation too. */
  isEnd: boolean;
  /** The walk is done with it. */
  isDone: boolean;
  /**
   * Where a walk that is cut short goes on: at this very page, for the rows of its last instant are known for whole only by the page after it.
   * Null for a page that was asked for without a cursor, which any walk begins with.
   */
  resumeAt: { cursor: string; below: string } | null;
  /** The page has every operation above this time. Later than `reached` where that has fewer digits than the times that are compared with it. */
  provedFrom: string;
  /** The oldest time that the walk has seen. */
  reached: string;
  /** The last row's time, if rows that bear it may be missing for good: more bear it than the largest page holds. */
  unprovedAt: string | null;
}

type Place = { cursor: string; below: string } | null;

/** Rows of one instant that pages further down must show again, by id, and where the page stands that showed them. */
interface Overlap {
  at: string;
  ids: Set<string>;
  before: Place;
  isWholeAbove: boolean;
}

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
  let overlaps: Overlap[] = [];
  let repeats = 0;
  let resumeAt: Place = from;
  let isWholeAbove = true;
  for (;;) {
    const begunMs = walk.now();
    const isKnownEnd = place === null ? walk.isKnownEnd : undefined;
    const { largestPage: largest } = walk.seen;
    const fetched = await fetchWhole(client, { projectId, limit, cursor: place?.cursor, signal, largest, isKnownEnd });
    // Other walks raise it meanwhile.
    walk.seen.largestPage = Math.max(walk.seen.largestPage, fetched.rows);
    const askedAt = walk.datedAt(fetched, begunMs);
    beganAt ??= askedAt;
    const page = withoutImpossible(fetched, { askedAt, projectCreatedAt: walk.projectCreatedAt });
    const [first] = page.items;
    if (place !== null && place === from && first !== undefined && compareInstants(first.createdAt, place.below) > 0)
      throw new PlaceError('goes up from where the walk stood');
    assertDescends(page, { projectId, limit, place });
    const last = page.items.at(-1);
    // A row that cannot be read any more is shown all the same.
    for (const { id } of [...page.items, ...page.rejected])
      for (const { ids } of overlaps) if (id !== null) ids.delete(id);
    const lost = overlaps.find((overlap) => overlap.ids.size > 0 && isPassed(page, overlap));
    if (lost !== undefined) {
      if (repeats === attempts) throw new OverlapError(lost.ids.size);
      // They may have gone meanwhile: the page that showed them is asked for again.
      repeats += 1;
      ({ before: place, isWholeAbove } = lost);
      overlaps = [];
      continue;
    }
    const open = overlaps.filter(({ ids }) => ids.size > 0);
    if (open.length === 0 && overlaps.length > 0) repeats = 0;
    overlaps = open;
    const rejected = [...page.passedOver, ...page.rejected];
    const isWhole = rejected.length === 0 && isWholeAbove;
    // Going on below a row that cannot be read would forget it.
    if (isWholeAbove) resumeAt = place;
    const walked = {
      operations: page.items,
      rejected,
      isWhole,
      beganAt,
      askedAt,
      floor,
      below: place?.below ?? null,
      resumeAt,
      unprovedAt: null,
    };
    if (page.cursor === null || last === undefined) {
      const reached = last?.createdAt ?? place?.below ?? beganAt;
      yield { ...walked, isEnd: true, isDone: true, reached, provedFrom: reached };
      return;
    }
    const reached = last.createdAt;
    const provedFrom = endOfDigits(reached);
    if (floor !== null && compareInstants(reached, floor) < 0) {
      yield { ...walked, isEnd: false, isDone: true, reached, provedFrom };
      return;
    }
    if (limit < maxLimit && isAt(page.items[0], reached)) {
      limit = maxLimit;
      continue;
    }
    const back = await stepBack(client, { projectId, page, signal });
    if (back.state === 'changed' && attempt < attempts) {
      attempt += 1;
      continue;
    }
    attempt = 1;
    limit = maxLimit;
    if (back.state === 'proved') overlaps.push({ at: reached, ids: back.shownAgain, before: place, isWholeAbove });
    // Rows of an instant that no cursor leads into are named as unknown, and none of them is looked for.
    else overlaps = overlaps.filter(({ at }) => compareInstants(at, reached) !== 0);
    const onward = (back.state === 'full' ? back.cursor : null) ?? page.cursor;
    place =
      back.state === 'proved'
        ? { ...back.next, below: belowOf(place, later(back.next.below, justAbove(provedFrom))) }
        : { cursor: onward, below: earlier(onward, reached) };
    // Where a row that cannot be read belongs is not known: no page proves what lies above the last row beside it.
    if (rejected.length > 0) place = { ...place, below: belowOf(place, reached) };
    isWholeAbove = rejected.length === 0;
    const unprovedAt = back.state === 'proved' ? null : reached;
    yield { ...walked, isEnd: false, isDone: false, reached, provedFrom, unprovedAt };
  }
}

/**
 * What is known of a page's last instant. proved: the next page shows all of its rows; full: they fill the page, and no cursor lies
 * above them, so that the walk goes on below; changed: rows went meanwhile, and the page has to be asked for again.
 */
type StepBack =
  | { state: 'proved'; next: NonNullable<Place>; shownAgain: Set<string> }
  | { state: 'full'; cursor: string | null }
  | { state: 'changed' };

/** Looks for a cursor from which the next page shows every row of this page's last instant. */
async function stepBack(client: WalkedClient, asked: Ended): Promise<StepBack> {
  const { items } = asked.page;
  const lastInstant = items.at(-1)?.createdAt;
  const above = items.findLastIndex((each) => !isAt(each, lastInstant));
  if (above === -1) return await stepWithin(client, asked);
  const { cursor, lastId } = await endAt(client, above, asked);
  // The row's time as the page shows it, for that was looked at. One that the page does not have may be anybody's.
  const end = items.find(({ id }) => id === lastId)?.createdAt;
  // Rows that came meanwhile push it up, which only repeats some; rows that went would pull it down, and it would skip some.
  if (cursor === null || end === undefined || lastInstant === undefined || compareInstants(end, lastInstant) <= 0)
    return { state: 'changed' };
  return { state: 'proved', next: { cursor, below: end }, shownAgain: idsBelow(items, above) };
}

/**
 * The same where all rows show one time, which may have fewer digits than cursors have: rows whose cursor is not the page's own are of another instant.
 * The lowest of them is searched for by halves.
 */
async function stepWithin(client: WalkedClient, asked: Ended): Promise<StepBack> {
  const { items, rejected, cursor: own } = asked.page;
  let found: { cursor: string; item: number } | null = null;
  let [from, to] = [0, rejected.length === 0 ? items.length - 2 : -1];
  while (from <= to) {
    const item = Math.ceil((from + to) / 2);
    const { cursor, lastId } = await endAt(client, item, asked);
    if (cursor === null || lastId !== items[item]?.id) return { state: 'changed' };
    if (cursor === own) to = item - 1;
    else {
      found = { cursor, item };
      from = item + 1;
    }
  }
  const below = items[0]?.createdAt;
  if (found === null || below === undefined) return { state: 'full', cursor: await cursorOfLast(client, asked) };
  const { cursor, item } = found;
  return { state: 'proved', next: { cursor, below }, shownAgain: idsBelow(items, item) };
}

interface Ended {
  projectId: string;
  page: WholePage;
  signal: AbortSignal;
}

/** The end of the same page, asked for down to one of its items only. */
const endAt = async (client: WalkedClient, item: number, { projectId, page, signal }: Ended) =>
  await client.operationsPageEnd(projectId, { limit: rowOf(page, item) + 1, cursor: page.askedWith, signal });

const idsBelow = (items: WireOperation[], item: number) => new Set(items.slice(item + 1).map(({ id }) => id));

/** The cursor of the last row that can be read: the page's own would skip rows that have the time of one behind it that cannot. */
async function cursorOfLast(client: WalkedClient, asked: Ended): Promise<string | null> {
  const { page } = asked;
  const last = page.items.length - 1;
  if (rowOf(page, last) === page.rows - 1) return page.cursor;
  const { cursor } = await endAt(client, last, asked);
  return cursor ?? page.cursor;
}

/** By the instant: one may be written with other digits, or in another zone, from row to row. */
const isAt = (operation: WireOperation | undefined, at: string | undefined) =>
  operation !== undefined && at !== undefined && compareInstants(operation.createdAt, at) === 0;

/** No page proves what lies above it. */
const belowOf = (place: Place, at: string) =>
  place !== null && compareInstants(place.below, at) < 0 ? place.below : at;

/** A cursor that is cut to fewer digits than its row's time: the next page starts below the cursor, and proves nothing above it. */
function earlier(cursor: string, reached: string): string {
  return isInstant(cursor) && compareInstants(cursor, reached) < 0 ? cursor : reached;
}

/** The place that a walk has reached is not one to continue from. The walk forgets it, and the next one begins at the newest operation. */
export class PlaceError extends ControlPlaneError {
  constructor(what: string) {
    super('invalid_response', `a page of operations ${what}`);
  }
}

/** Rows above the place were lost, and nothing would look for them again. */
export class OverlapError extends PlaceError {
  constructor(rows: number) {
    super(`does not show ${rows} rows above it again`);
  }
}

/**
 * Whether a page has come below the rows that were to be shown again: the page after the shorter one begins with them, or one after that where
 * rows came meanwhile. Where none shows them a cursor means something else than the time of its row, perhaps one cut to whole seconds, and rows
 * between were lost.
 */
function isPassed({ items, cursor }: Page<WireOperation>, { at }: Overlap): boolean {
  const last = items.at(-1);
  return cursor === null || last === undefined || compareInstants(last.createdAt, at) < 0;
}
