import type { LimiterStore } from './limiter-store.ts';
import type { Budget } from './limits.ts';
import { joined, type Slowdown, shifted, slowDown, slownessAt } from './slowdown.ts';

/** What is known of a budget over all replicas. Times are ms since 1970, of the rows' own clock. */
interface State {
  /** The theoretical arrival time of the generic cell rate algorithm. */
  arrival: number;
  /** Requests that may have been sent up to a time, oldest first. */
  used: [untilMs: number, count: number][];
  /** Of an account that was answered 429. */
  slow?: Slowdown | undefined;
  /** What was saved was of a later time: the clock was set back. */
  wasAhead?: boolean;
}

/** Where budgets stand: a database that all replicas share. */
export interface BudgetRows {
  /** The rows' clock, and of each budget its version and what was saved last; one that is new has version 0 and no state. */
  read: (keys: string[]) => Promise<{ nowMs: number; rows: Map<string, { version: string; state: unknown }> }>;
  /** Saves all, if each has the version still that was read. False, and nothing is saved, where one has not. */
  save: (rows: { key: string; version: string; state: unknown }[]) => Promise<boolean>;
}

export interface SharedStoreOptions {
  /** Ms of a clock that never goes back; this process's own. */
  localMs: () => number;
  /** Stands in for the rows' clock: for simulations. */
  now?: (() => number) | undefined;
  /** Waits before what another process was faster with is tried again. */
  sleep?: ((ms: number) => Promise<void>) | undefined;
}

interface Permit {
  /** By this process's clock: from when it may be taken, and until when. */
  fromMs: number;
  toMs: number;
  /** By the rows' clock: until when it counts as not sent yet. */
  untilMs: number;
}

/** Permits of one route that this process has reserved. */
interface PermitBatch {
  permits: Permit[];
  taken: number;
  size: number;
  /** How many requests waited for it. */
  waiting: number;
}

/** A budget as it stands, and how a reservation looks at it. */
interface Standing {
  budget: Budget;
  state: State;
}

/** When the rows were read, by their clock and by ours, before and after. */
interface Reading {
  nowMs: number;
  askedMs: number;
  answeredMs: number;
}

/** So far ahead permits are reserved, and so long each of them may be taken. */
const aheadMs = 1000;
const validMs = 300;
const mostPermits = 64;
/** A window is kept as so many counts at most. */
const countsOfWindow = 400;
/** What is counted later than this from now was counted before the clock was set back. */
const furthestMs = 20_000;
/** A store that takes longer to answer is none to count requests with; its permits lapse. */
const longestTripMs = 5000;
const negligibleMs = 1e-6;
/** What the clocks of two differ by while they are read makes less of a pace. */
const negligiblePace = 0.02;
const mostAttempts = 30;
const backoffMs = 15;

/**
 * A store that the limiters of many processes share: the same algorithm, with its state in rows. Permits are reserved in batches, some of which are
 * due a little later, so that a busy route costs a fraction of a write a request; what a batch leaves is given back with the next.
 */
export function createSharedStore(rows: BudgetRows, { localMs, now, sleep }: SharedStoreOptions): LimiterStore {
  const batches = new Map<string, PermitBatch>();
  const accountLeft = new Map<string, number>();
  /** What is known of accounts that were answered 429, by this process's clock. */
  const slow = new Map<string, Slowdown | undefined>();
  // From reading the rows to having saved them: permits are booked for later than that.
  let saveMs = 0;

  const change = async <T>(
    budgets: readonly Budget[],
    work: (standings: Standing[], reading: Reading) => { answer: T; isChanged: boolean },
  ): Promise<T> => {
    for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
      const askedMs = localMs();
      const read = await rows.read(budgets.map(({ key }) => key));
      const reading = { nowMs: now?.() ?? read.nowMs, askedMs, answeredMs: localMs() };
      const standings = budgets.map((budget) => ({
        budget,
        state: stateOf(read.rows.get(budget.key)?.state, budget, reading.nowMs),
      }));
      const { answer, isChanged } = work(standings, reading);
      for (const { budget, state } of standings)
        slow.set(budget.key, joined(slow.get(budget.key), shifted(state.slow, reading.answeredMs - reading.nowMs)));
      const mustSave = isChanged || standings.some(({ state }) => state.wasAhead);
      const changed = standings.map(({ budget: { key }, state }) => ({
        key,
        version: read.rows.get(key)?.version ?? '0',
        state: { arrival: state.arrival, used: state.used, slow: state.slow },
      }));
      if (!mustSave || (await rows.save(changed))) {
        if (mustSave) saveMs = Math.min(longestTripMs, localMs() - reading.answeredMs);
        for (const { budget, state } of standings) accountLeft.set(budget.key, budget.max - countOf(state));
        return answer;
      }
      await sleep?.(Math.random() * backoffMs * attempt);
    }
    throw new Error('the budgets of an account change too often to be reserved from');
  };

  return {
    async take(budgets, _nowMs, waiting) {
      const key = budgets.map((budget) => budget.key).join('\n');
      const last = batches.get(key);
      const permit = nextPermit(last, localMs());
      if (last !== undefined && permit !== undefined) return takePermit(last, permit, localMs());
      batches.delete(key);
      const wanted = wantedAfter(last, waiting);
      // What the budgets were made for.
      const pace = paceOf(
        budgets.map((budget) => slow.get(budget.key)),
        localMs(),
      );
      const { permits, delayMs } = await change(budgets, (standings, reading) => {
        const isReturned = giveBack(standings, last?.permits ?? [], reading.nowMs);
        const known = standings.map(({ state }) => state.slow);
        const blockedMs = Math.max(...known.map((each) => slownessAt(each, reading.nowMs).blockedMs));
        // Slower than was thought: it is asked for again, with budgets for that.
        const delayMs = paceOf(known, reading.nowMs) < pace - negligiblePace ? Math.max(blockedMs, 1) : blockedMs;
        if (delayMs > 0) return { answer: { permits: [], delayMs }, isChanged: isReturned };
        const reserved = reserve(standings, { wanted, reading, saveMs });
        return { answer: reserved, isChanged: isReturned || reserved.permits.length > 0 };
      });
      if (permits.length === 0) return delayMs;
      const batch = { permits, taken: 0, size: permits.length, waiting };
      batches.set(key, batch);
      const first = nextPermit(batch, localMs());
      // The answer came so late that all of them are over: they are given back, and others are asked for.
      return first === undefined ? negligibleMs * 2 : takePermit(batch, first, localMs());
    },
    async add(budgets) {
      await change(budgets, (standings, { nowMs }) => {
        for (const { budget, state } of standings) book(budget, state, { atMs: nowMs, untilMs: nowMs + validMs });
        return { answer: undefined, isChanged: true };
      });
    },
    async limited(account, _nowMs, retryAfterMs) {
      const before = slow.get(account.key);
      slow.set(account.key, slowDown(before, localMs(), retryAfterMs));
      await change([account], (standings, { nowMs, answeredMs }) => {
        for (const { state } of standings)
          state.slow = slowDown(joined(state.slow, shifted(before, nowMs - answeredMs)), nowMs, retryAfterMs);
        return { answer: undefined, isChanged: true };
      });
    },
    slowness: (account) => slownessAt(slow.get(account), localMs()),
    left: (budgets) => Math.min(...budgets.map(({ key, max }) => accountLeft.get(key) ?? max)),
  };
}

/** The next permit of a batch that is not over; those that are stay in it, to be given back. */
function nextPermit(batch: PermitBatch | undefined, nowMs: number): Permit | undefined {
  return batch?.permits.find(({ toMs }) => toMs > nowMs);
}

/** 0 takes it; else the ms until it comes. */
function takePermit(batch: PermitBatch, permit: Permit, nowMs: number): number {
  if (permit.fromMs - nowMs > negligibleMs) return permit.fromMs - nowMs;
  batch.permits.splice(batch.permits.indexOf(permit), 1);
  batch.taken += 1;
  return 0;
}

/**
 * Those who wait. One that waits alone may be one after the other of a long row: then twice the last batch if that was used up, else as many as
 * were.
 */
function wantedAfter(last: PermitBatch | undefined, waiting: number): number {
  if (last === undefined || waiting > 1 || last.waiting > 1) return Math.min(mostPermits, waiting);
  return last.permits.length === 0 ? Math.min(mostPermits, last.size * 2) : Math.max(1, last.taken);
}

/** Books as many permits as there is room for up to a little later; or answers with when to ask again. */
function reserve(
  standings: Standing[],
  { wanted, reading, saveMs }: { wanted: number; reading: Reading; saveMs: number },
): { permits: Permit[]; delayMs: number } {
  const { nowMs, askedMs, answeredMs } = reading;
  // What is booked can be taken only when it has been saved; and of our clock we know the rows' within the time that the reading took.
  const earliestMs = nowMs + saveMs;
  const takenWithinMs = validMs + Math.min(longestTripMs, answeredMs - askedMs);
  const permits: Permit[] = [];
  while (permits.length < wanted) {
    const due = standings.flatMap(({ budget, state }) => [paceMs(budget, state), roomAtMs(budget, state)]);
    const atMs = Math.max(earliestMs, ...due);
    if (atMs > earliestMs + aheadMs) return { permits, delayMs: atMs - earliestMs - aheadMs / 2 };
    const untilMs = atMs + takenWithinMs;
    for (const { budget, state } of standings) book(budget, state, { atMs, untilMs });
    permits.push({ fromMs: answeredMs + atMs - nowMs, toMs: askedMs + untilMs - nowMs, untilMs });
  }
  return { permits, delayMs: 0 };
}

/** When the next request is due at an even pace, after a burst. */
const paceMs = ({ burst, intervalMs }: Budget, { arrival }: State) => arrival - (burst - 1) * intervalMs - negligibleMs;

/** When the window takes another, its oldest requests being surely over; in the past if it does now. */
function roomAtMs({ max, windowMs }: Budget, { used }: State): number {
  let count = 0;
  for (const [untilMs, requests] of used.toReversed()) {
    count += requests;
    if (count >= max) return untilMs + windowMs;
  }
  return Number.NEGATIVE_INFINITY;
}

/** Counts a request that may be sent from a time on, and until another. */
function book({ windowMs, intervalMs }: Budget, state: State, permit: { atMs: number; untilMs: number }): void {
  state.arrival = Math.max(state.arrival, permit.atMs) + intervalMs;
  const untilMs = countedUntil(windowMs, permit.untilMs);
  const entry = state.used.find(([until]) => until === untilMs);
  if (entry) entry[1] += 1;
  else state.used = [...state.used, [untilMs, 1] as [number, number]].toSorted(([a], [b]) => a - b);
}

/** Times are counted together where they are close: as of the latest of them. */
function countedUntil(windowMs: number, untilMs: number): number {
  const stepMs = windowMs / countsOfWindow;
  return Math.ceil(untilMs / stepMs) * stepMs;
}

/** What was reserved and nobody took any more. */
function giveBack(standings: Standing[], permits: Permit[], nowMs: number): boolean {
  let isChanged = false;
  for (const { untilMs } of permits)
    for (const { budget, state } of standings) {
      const entry = state.used.find(([until]) => until === countedUntil(budget.windowMs, untilMs));
      if (entry === undefined || entry[1] === 0) continue;
      entry[1] -= 1;
      state.arrival = Math.max(nowMs, state.arrival - budget.intervalMs);
      isChanged = true;
    }
  return isChanged;
}

/** The saved state as of now: without what has left the window; where the clock was set back, what it says of later counts as of now. */
function stateOf(saved: unknown, { windowMs, burst, intervalMs }: Budget, nowMs: number): State {
  // What this module has saved itself.
  const { arrival = 0, used = [], slow } = (saved ?? {}) as Partial<State>;
  const wasAhead = (used.at(-1)?.[0] ?? 0) > nowMs + furthestMs;
  const latestMs = wasAhead ? countedUntil(windowMs, nowMs + validMs) : Number.POSITIVE_INFINITY;
  return {
    ...(wasAhead ? { wasAhead } : {}),
    arrival: wasAhead ? Math.min(arrival, nowMs + burst * intervalMs) : arrival,
    // Once the pace is whole again there is nothing left to know.
    slow: slownessAt(slow, nowMs).pace < 1 ? slow : undefined,
    used: used
      .filter(([untilMs, count]) => count > 0 && untilMs + windowMs > nowMs)
      .map(([untilMs, count]) => [Math.min(untilMs, latestMs), count]),
  };
}

const paceOf = (slow: (Slowdown | undefined)[], nowMs: number) =>
  Math.min(...slow.map((each) => slownessAt(each, nowMs).pace));

const countOf = ({ used }: State) => used.reduce((sum, [, count]) => sum + count, 0);
