import type { LimiterStore } from './limiter-store.ts';
import type { Budget } from './limits.ts';
import { joined, type Slowdown, shifted, slowDown, slownessAt } from './slowdown.ts';

/** The state of a budget over all replicas. Times are ms since 1970, of the rows' own clock. */
interface State {
  /** The theoretical arrival time of the generic cell rate algorithm. */
  arrival: number;
  /** Counts of requests that may have been sent up to a time, oldest first. */
  used: [untilMs: number, count: number][];
  /** Set for an account that was answered 429. */
  slow?: Slowdown | undefined;
  /** The saved state has a later time: the clock was set back. */
  wasAhead?: boolean;
}

/** The rows of budgets, in a database that all replicas share. */
export interface BudgetRows {
  /** Returns the time of the rows' clock, and the version and last saved state of each budget. A new budget has version 0 and no state. */
  read: (keys: string[]) => Promise<{ nowMs: number; rows: Map<string, { version: string; state: unknown }> }>;
  /** Saves all rows if each still has the version that was read. Otherwise saves none and returns false. */
  save: (rows: { key: string; version: string; state: unknown }[]) => Promise<boolean>;
}

export interface SharedStoreOptions {
  /** Returns the ms of this process's own clock, which never goes back. */
  localMs: () => number;
  /** For simulations: replaces the rows' clock. */
  now?: (() => number) | undefined;
  /** Waits before a retry after another process saved first. */
  sleep?: ((ms: number) => Promise<void>) | undefined;
}

interface Permit {
  /** By this process's clock: the times from which and until which it may be taken. */
  fromMs: number;
  toMs: number;
  /** By the rows' clock: the time until which the request may still be sent. */
  untilMs: number;
}

/** Permits of one route that this process has reserved. */
interface PermitBatch {
  permits: Permit[];
  taken: number;
  size: number;
  /** How many requests waited for the batch. */
  waiting: number;
}

/** A budget and its current state, as a reservation uses them. */
interface Standing {
  budget: Budget;
  state: State;
}

/** The time of a read: by the rows' clock, and by this process's clock before and after. */
interface Reading {
  nowMs: number;
  askedMs: number;
  answeredMs: number;
}

/** How far ahead permits are reserved. `validMs` is how long each permit may be taken. */
const aheadMs = 1000;
const validMs = 300;
const mostPermits = 64;
/** The maximum number of counts that a window is stored as. */
const countsOfWindow = 400;
/** A count further in the future than this was saved before the clock was set back. */
const furthestMs = 20_000;
/** A store that takes longer to answer cannot count requests; its permits lapse. */
const longestTripMs = 5000;
const negligibleMs = 1e-6;
/** Ignores the pace difference that comes from reading two clocks at different moments. */
const negligiblePace = 0.02;
const mostAttempts = 30;
const backoffMs = 15;

/**
 * Returns a store that the limiters of many processes share. It uses the same algorithm, with its state in rows. Permits are reserved in batches,
 * some due a little later, so that a busy route needs a fraction of a write a request. Unused permits are given back with the next batch.
 */
export function createSharedStore(rows: BudgetRows, { localMs, now, sleep }: SharedStoreOptions): LimiterStore {
  const batches = new Map<string, PermitBatch>();
  const accountLeft = new Map<string, number>();
  /** The slowdowns of accounts that were answered 429, by this process's clock. */
  const slow = new Map<string, Slowdown | undefined>();
  // The ms from reading the rows to having saved them. Permits are booked for after that.
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
      // The pace that the budgets were computed for.
      const pace = paceOf(
        budgets.map((budget) => slow.get(budget.key)),
        localMs(),
      );
      const { permits, delayMs } = await change(budgets, (standings, reading) => {
        const isReturned = giveBack(standings, last?.permits ?? [], reading.nowMs);
        const known = standings.map(({ state }) => state.slow);
        const blockedMs = Math.max(...known.map((each) => slownessAt(each, reading.nowMs).blockedMs));
        // The account is slower than assumed: the caller must ask again with budgets for the new pace.
        const delayMs = paceOf(known, reading.nowMs) < pace - negligiblePace ? Math.max(blockedMs, 1) : blockedMs;
        if (delayMs > 0) return { answer: { permits: [], delayMs }, isChanged: isReturned };
        const reserved = reserve(standings, { wanted, reading, saveMs });
        return { answer: reserved, isChanged: isReturned || reserved.permits.length > 0 };
      });
      if (permits.length === 0) return delayMs;
      const batch = { permits, taken: 0, size: permits.length, waiting };
      batches.set(key, batch);
      const first = nextPermit(batch, localMs());
      // The response came so late that every permit has lapsed. They are given back, and the caller asks for others.
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

/** Returns the next permit of a batch that has not lapsed. Lapsed permits stay in the batch, to be given back. */
function nextPermit(batch: PermitBatch | undefined, nowMs: number): Permit | undefined {
  return batch?.permits.find(({ toMs }) => toMs > nowMs);
}

/** Takes the permit and returns 0, or returns the ms until it may be taken. */
function takePermit(batch: PermitBatch, permit: Permit, nowMs: number): number {
  if (permit.fromMs - nowMs > negligibleMs) return permit.fromMs - nowMs;
  batch.permits.splice(batch.permits.indexOf(permit), 1);
  batch.taken += 1;
  return 0;
}

/**
 * Returns how many permits to reserve: the number of waiting requests. A single waiter may be part of a long sequence. It then gets twice the last
 * batch if that was used up, otherwise as many as were used.
 */
function wantedAfter(last: PermitBatch | undefined, waiting: number): number {
  if (last === undefined || waiting > 1 || last.waiting > 1) return Math.min(mostPermits, waiting);
  return last.permits.length === 0 ? Math.min(mostPermits, last.size * 2) : Math.max(1, last.taken);
}

/** Books as many permits as fit until a little later, or returns when to ask again. */
function reserve(
  standings: Standing[],
  { wanted, reading, saveMs }: { wanted: number; reading: Reading; saveMs: number },
): { permits: Permit[]; delayMs: number } {
  const { nowMs, askedMs, answeredMs } = reading;
  // A permit can be taken only after it is saved. The offset between our clock and the rows' clock is known only within the duration of the read.
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

/** Returns when the next request is due at an even pace, after a burst. */
const paceMs = ({ burst, intervalMs }: Budget, { arrival }: State) => arrival - (burst - 1) * intervalMs - negligibleMs;

/** Returns when the window has room for another request, once its oldest requests have certainly left. In the past if it has room now. */
function roomAtMs({ max, windowMs }: Budget, { used }: State): number {
  let count = 0;
  for (const [untilMs, requests] of used.toReversed()) {
    count += requests;
    if (count >= max) return untilMs + windowMs;
  }
  return Number.NEGATIVE_INFINITY;
}

/** Counts a request that may be sent between two times. */
function book({ windowMs, intervalMs }: Budget, state: State, permit: { atMs: number; untilMs: number }): void {
  state.arrival = Math.max(state.arrival, permit.atMs) + intervalMs;
  const untilMs = countedUntil(windowMs, permit.untilMs);
  const entry = state.used.find(([until]) => until === untilMs);
  if (entry) entry[1] += 1;
  else state.used = [...state.used, [untilMs, 1] as [number, number]].toSorted(([a], [b]) => a - b);
}

/** Returns the time under which close times are counted together: the latest of them. */
function countedUntil(windowMs: number, untilMs: number): number {
  const stepMs = windowMs / countsOfWindow;
  return Math.ceil(untilMs / stepMs) * stepMs;
}

/** Returns permits that were reserved and not taken to their budgets. The result is whether a state changed. */
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

/** Returns the saved state as of now, without what has left the window. If the clock was set back, later times count as now. */
function stateOf(saved: unknown, { windowMs, burst, intervalMs }: Budget, nowMs: number): State {
  // Only this module writes the saved state.
  const { arrival = 0, used = [], slow } = (saved ?? {}) as Partial<State>;
  const wasAhead = (used.at(-1)?.[0] ?? 0) > nowMs + furthestMs;
  const latestMs = wasAhead ? countedUntil(windowMs, nowMs + validMs) : Number.POSITIVE_INFINITY;
  return {
    ...(wasAhead ? { wasAhead } : {}),
    arrival: wasAhead ? Math.min(arrival, nowMs + burst * intervalMs) : arrival,
    // A fully recovered pace needs no record.
    slow: slownessAt(slow, nowMs).pace < 1 ? slow : undefined,
    used: used
      .filter(([untilMs, count]) => count > 0 && untilMs + windowMs > nowMs)
      .map(([untilMs, count]) => [Math.min(untilMs, latestMs), count]),
  };
}

const paceOf = (slow: (Slowdown | undefined)[], nowMs: number) =>
  Math.min(...slow.map((each) => slownessAt(each, nowMs).pace));

const countOf = ({ used }: State) => used.reduce((sum, [, count]) => sum + count, 0);
