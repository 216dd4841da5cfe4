import type { LimiterStore } from './limiter-store.ts';
import type { Budget } from './limits.ts';

/** What is known of a budget over all replicas. Times are ms since 1970, of the rows' own clock. */
interface State {
  /** The theoretical arrival time of the generic cell rate algorithm. */
  arrival: number;
  /** Requests that may have been sent up to a time, oldest first. */
  used: [untilMs: number, count: number][];
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
}

/** Turns of one route that this process has reserved, each with when it may be taken, by this process's clock. */
interface Block {
  turns: { fromMs: number; toMs: number; untilMs: number }[];
  taken: number;
  size: number;
  /** How many requests waited for it. */
  waiting: number;
}

/** So far ahead turns are reserved, and so long each of them may be taken. */
const aheadMs = 1000;
const validMs = 300;
const mostTurns = 64;
/** A window is kept as so many counts at most. */
const countsOfWindow = 400;
/** The rows' clock may be read as much apart by two processes. */
const toleranceMs = 50;
const negligibleMs = 1e-6;
const mostAttempts = 20;

/**
 * A store that the limiters of many processes share: the same algorithm, with its state in rows. Turns are reserved in blocks, some of which are
 * due a little later, so that a busy route costs a fraction of a write a request; what a block leaves is given back with the next.
 */
export function createSharedStore(rows: BudgetRows, { localMs, now }: SharedStoreOptions): LimiterStore {
  const blocks = new Map<string, Block>();
  const accountLeft = new Map<string, number>();

  const change = async <T>(
    budgets: readonly Budget[],
    work: (states: { budget: Budget; state: State }[], nowMs: number) => { answer: T; isChanged: boolean },
  ): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      const read = await rows.read(budgets.map(({ key }) => key));
      const nowMs = now?.() ?? read.nowMs;
      const states = budgets.map((budget) => ({
        budget,
        state: stateOf(read.rows.get(budget.key)?.state, budget, nowMs),
      }));
      const { answer, isChanged } = work(states, nowMs);
      const mustSave = isChanged || states.some(({ state }) => state.wasAhead);
      const changed = states.map(({ budget: { key }, state }) => ({
        key,
        version: read.rows.get(key)?.version ?? '0',
        state: { arrival: state.arrival, used: state.used },
      }));
      if (!mustSave || (await rows.save(changed))) {
        for (const { budget, state } of states) accountLeft.set(budget.key, budget.max - countOf(state));
        return answer;
      }
      if (attempt === mostAttempts) throw new Error('the budgets of an account change too often to be reserved from');
    }
  };

  return {
    async take(budgets, _nowMs, waiting) {
      const key = budgets.map((budget) => budget.key).join('\n');
      const own = blocks.get(key);
      const turn = nextTurn(own, localMs());
      if (own !== undefined && turn !== undefined) return takeTurn(own, turn, localMs());
      const wanted = wantedAfter(own, waiting);
      const askedMs = localMs();
      const reserved = await change(budgets, (states, nowMs) => {
        const returned = giveBack(states, own, nowMs);
        const { turns, delayMs } = reserve(states, wanted, nowMs);
        return { answer: { turns, delayMs, nowMs }, isChanged: returned || turns.length > 0 };
      });
      const answeredMs = localMs();
      const block: Block = {
        turns: reserved.turns.map((at) => ({
          fromMs: answeredMs + at - reserved.nowMs,
          toMs: askedMs + at - reserved.nowMs + validMs,
          untilMs: at + validMs,
        })),
        taken: 0,
        size: reserved.turns.length,
        waiting,
      };
      if (block.size === 0) {
        blocks.delete(key);
        return reserved.delayMs;
      }
      blocks.set(key, block);
      const first = nextTurn(block, localMs());
      // The answer came so late that its turns are over: they are given back, and others are asked for.
      return first === undefined ? negligibleMs * 2 : takeTurn(block, first, localMs());
    },
    async add(budgets) {
      await change(budgets, (states, nowMs) => {
        for (const { budget, state } of states) book(budget, state, nowMs);
        return { answer: undefined, isChanged: true };
      });
    },
    left: (budgets) => Math.min(...budgets.map(({ key, max }) => accountLeft.get(key) ?? max)),
  };
}

/** The next turn of a block that is not over; those that are stay in it, to be given back. */
function nextTurn(block: Block | undefined, nowMs: number): Block['turns'][number] | undefined {
  return block?.turns.find(({ toMs }) => toMs > nowMs);
}

/** 0 takes it; else the ms until it comes. */
function takeTurn(block: Block, turn: Block['turns'][number], nowMs: number): number {
  if (turn.fromMs - nowMs > negligibleMs) return turn.fromMs - nowMs;
  block.turns.splice(block.turns.indexOf(turn), 1);
  block.taken += 1;
  return 0;
}

/**
 * Those who wait. One that waits alone may be one after the other of a long row: then twice the last block if that was used up, else as many as
 * were.
 */
function wantedAfter(last: Block | undefined, waiting: number): number {
  if (last === undefined || waiting > 1 || last.waiting > 1) return Math.min(mostTurns, waiting);
  return last.turns.length === 0 ? Math.min(mostTurns, last.size * 2) : Math.max(1, last.taken);
}

/** Books as many turns as there is room for up to a little later, and answers with their times; or with when to ask again. */
function reserve(
  states: { budget: Budget; state: State }[],
  wanted: number,
  nowMs: number,
): { turns: number[]; delayMs: number } {
  const turns: number[] = [];
  while (turns.length < wanted) {
    const due = states.flatMap(({ budget, state }) => [paceMs(budget, state), roomAtMs(budget, state)]);
    const dueMs = Math.max(nowMs, ...due);
    if (dueMs > nowMs + aheadMs) return { turns, delayMs: dueMs - nowMs - aheadMs / 2 };
    for (const { budget, state } of states) book(budget, state, dueMs);
    turns.push(dueMs);
  }
  return { turns, delayMs: 0 };
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

/** Counts a request that may be sent from a time on. */
function book({ windowMs, intervalMs }: Budget, state: State, atMs: number): void {
  state.arrival = Math.max(state.arrival, atMs) + intervalMs;
  const untilMs = countedUntil(windowMs, atMs + validMs);
  const entry = state.used.find(([until]) => until === untilMs);
  if (entry) entry[1] += 1;
  else state.used = [...state.used, [untilMs, 1] as [number, number]].toSorted(([a], [b]) => a - b);
}

/** Times are counted together where they are close: as of the latest of them. */
function countedUntil(windowMs: number, untilMs: number): number {
  const stepMs = windowMs / countsOfWindow;
  return Math.ceil(untilMs / stepMs) * stepMs;
}

/** What a block reserved and nobody took any more. */
function giveBack(states: { budget: Budget; state: State }[], block: Block | undefined, nowMs: number): boolean {
  let isChanged = false;
  for (const { untilMs } of block?.turns ?? [])
    for (const { budget, state } of states) {
      const entry = state.used.find(([until]) => until === countedUntil(budget.windowMs, untilMs));
      if (entry === undefined || entry[1] === 0) continue;
      entry[1] -= 1;
      state.arrival = Math.max(nowMs, state.arrival - budget.intervalMs);
      isChanged = true;
    }
  block?.turns.splice(0);
  return isChanged;
}

/** The saved state as of now: without what has left the window; where the clock was set back, what it says of later counts as of now. */
function stateOf(saved: unknown, { windowMs, burst, intervalMs }: Budget, nowMs: number): State {
  // What this module has saved itself.
  const { arrival = 0, used = [] } = (saved ?? {}) as Partial<State>;
  const latestMs = countedUntil(windowMs, nowMs + aheadMs + validMs + toleranceMs);
  const wasAhead = (used.at(-1)?.[0] ?? 0) > latestMs;
  return {
    ...(wasAhead ? { wasAhead } : {}),
    arrival: wasAhead ? Math.min(arrival, nowMs + burst * intervalMs) : arrival,
    used: used
      .filter(([untilMs, count]) => count > 0 && untilMs + windowMs > nowMs)
      .map(([untilMs, count]) => [Math.min(untilMs, latestMs), count]),
  };
}

const countOf = ({ used }: State) => used.reduce((sum, [, count]) => sum + count, 0);
