import type { Policy } from '@keywarden/core/policy';
import { readNow } from '@keywarden/db/store';
import { UserError } from '@keywarden/runtime';
import type { Connection } from './connect.ts';
import type { Context } from './context.ts';

/** Returns the current time by the control plane's own clock, as RFC 3339. */
export function controlPlaneNow({ skewMs, time }: Pick<Connection, 'skewMs' | 'time'>): string {
  return new Date(time.now() + skewMs).toISOString();
}

/**
 * Returns a function that gives each control plane's current time by its own clock (R1). It gives null, so that nothing is judged, if no
 * connection of this process has asked for that time. It also gives null if the local clock is off by more than allowed. A sandbox's time
 * is moved on purpose.
 */
export function clockOf(policy: Policy, connections: Connection[]): (controlPlane: string) => number | null {
  return (controlPlane) => {
    const known = connections.find((connection) => connection.controlPlane === controlPlane);
    return known !== undefined && isClockTrusted(policy, known) ? known.time.now() + known.skewMs : null;
  };
}

export function isClockTrusted(
  policy: Policy,
  { skewMs, isSandbox }: Pick<Connection, 'skewMs' | 'isSandbox'>,
): boolean {
  return isSandbox || Math.abs(skewMs) <= policy.max_clock_skew.ms;
}

/** Says how far another clock is from this machine's: "the control plane's clock is 90 s behind this machine's". Which of them is wrong is unknown. */
export function clockInWords(whose: string, aheadMs: number): string {
  return `${whose} clock is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
}

/**
 * Throws if the control plane's clock and the local clock are minutes apart: one of them is wrong, so nothing may be stored through the
 * connection. A walk that begins with a wrong Date would claim its coverage permanently. A listing with one would outlive all later
 * listings. A sandbox's time is moved on purpose.
 */
export function assertSaneClock({ name, skewMs, isSandbox }: Connection): void {
  if (isSandbox || Math.abs(skewMs) <= dateToleranceMs) return;
  throw new UserError(
    'clock',
    `Nothing is stored through connection ${name}, because ${clockInWords("the control plane's", skewMs)}; correct the clock that is wrong.`,
  );
}

/**
 * Throws if the database's clock is ahead of every control plane's by more than allowed: a retention would delete what it has to keep. Without a
 * connection it is compared with this machine's clock. A sandbox's time is moved on purpose.
 */
export async function assertStoreNotAhead(
  { store, config, now }: Pick<Context, 'store' | 'config' | 'now'>,
  connections: Connection[] = [],
): Promise<void> {
  const others = connections.filter(({ isSandbox }) => !isSandbox).map(({ skewMs, time }) => time.now() + skewMs);
  const [whose, clocks] = connections.length > 0 ? ["the control plane's", others] : ["this machine's", [now()]];
  if (clocks.length === 0) return;
  const aheadMs = Date.parse(await readNow(store.sql)) - Math.max(...clocks);
  if (aheadMs <= config.policy.max_clock_skew.ms) return;
  throw new UserError(
    'clock',
    `The database's clock is ${Math.round(aheadMs / 1000)} s ahead of ${whose}. Nothing was deleted; correct the clock that is wrong.`,
  );
}

/** Returns how far the database's clock is behind this machine's, in words; null if that is allowed. Until it is right, what has expired seems valid. */
export async function whyStoreBehind(context: Pick<Context, 'store' | 'config' | 'now'>): Promise<string | null> {
  const aheadMs = await storeAheadMs(context);
  return aheadMs < -context.config.policy.max_clock_skew.ms ? clockInWords("the database's", aheadMs) : null;
}

/** Returns how far the database's clock is from this machine's, in words; null if that is allowed. Its time dates each event of the ledger. */
export async function whyStoreApart(context: Pick<Context, 'store' | 'config' | 'now'>): Promise<string | null> {
  const aheadMs = await storeAheadMs(context);
  return Math.abs(aheadMs) > context.config.policy.max_clock_skew.ms ? clockInWords("the database's", aheadMs) : null;
}

async function storeAheadMs({ store, now }: Pick<Context, 'store' | 'now'>): Promise<number> {
  return Date.parse(await readNow(store.sql)) - now();
}

/** The control plane creates its own response after the request. Clocks drift by seconds, and a Date has whole seconds. */
const driftMs = 30_000;

const staleWords = 'a cache between answered';

/** A Date has whole seconds: after this time, in ms, a new response has another Date. */
const dateMovesMs = 2000;

/** Returns why a response may show an earlier state (a cache kept it, or its Date is absent or wrong); null for a fresh one. */
export function whyStale(
  { skewMs, lastDates, time, isSandbox }: Pick<Connection, 'skewMs' | 'lastDates' | 'time' | 'isSandbox'>,
  { dateMs, ageMs, begunMs, list }: { dateMs: number | null; ageMs: number; begunMs: number; list?: string },
): string | null {
  const last = list === undefined ? undefined : lastDates.get(list);
  if (list !== undefined && dateMs !== null && dateMs !== last?.dateMs)
    lastDates.set(list, { dateMs, endedMs: time.now() });
  if (last !== undefined && last.dateMs === dateMs && begunMs - last.endedMs > dateMovesMs)
    return `its Date is that of a response from ${Math.round((begunMs - last.endedMs) / 1000)} s earlier: ${staleWords}`;
  if (ageMs > 0) return `${staleWords}, as its Age or the id of its request shows`;
  if (dateMs === null) return 'it has no Date, so that its age is unknown';
  const behindMs = begunMs + skewMs - dateMs;
  if (behindMs > driftMs) return `its Date is ${Math.round(behindMs / 1000)} s in the past: ${staleWords}`;
  const aheadMs = dateMs - (time.now() + skewMs);
  return aheadMs > dateToleranceMs && !isSandbox ? `its Date is ${Math.round(aheadMs / 1000)} s in the future` : null;
}

/** How far, in ms, a response's Date may be from the expected time of the control plane's clock, between its request and now. */
const dateToleranceMs = 300_000;

/**
 * Returns a response's Date as RFC 3339. Throws if it does not fit what the connection has seen of the control plane's clock. One wrong
 * Date in the store would spoil every later judgement. A sandbox's time is moved on purpose.
 */
export function datedAt(
  { name, skewMs, isSandbox, time }: Connection,
  { dateMs, begunMs }: { dateMs: number | null; begunMs: number },
): string {
  const localMs = (dateMs ?? Number.NaN) - skewMs;
  // A list that takes many requests, such as one for each branch, has the Date of its oldest response.
  const fits = localMs >= begunMs - dateToleranceMs && localMs <= time.now() + dateToleranceMs;
  if (dateMs !== null && (isSandbox || fits)) return new Date(dateMs).toISOString();
  throw new UserError(
    'clock',
    `A response to connection ${name} has no Date, or a Date that does not fit the earlier responses. Nothing of it is stored.`,
  );
}
