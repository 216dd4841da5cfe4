import type { Policy } from '@keywarden/core/policy';
import { staleWords } from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Connection } from './connect.ts';

/** Returns the control plane's time by its own clock, RFC 3339. */
export function controlPlaneNow({ skewMs, time }: Pick<Connection, 'skewMs' | 'time'>): string {
  return new Date(time.now() + skewMs).toISOString();
}

/**
 * The present of each control plane by its own clock (R1): null, so that nothing is judged, where no connection of this process
 * has asked for it, or where our clock is off it by more than allowed. A sandbox's time is moved on purpose.
 */
export function clockOf(policy: Policy, connections: Connection[]): (controlPlane: string) => number | null {
  return (controlPlane) => {
    const known = connections.find((connection) => connection.controlPlane === controlPlane);
    if (known === undefined) return null;
    return isClockTrusted(policy, known) ? known.time.now() + known.skewMs : null;
  };
}

export function isClockTrusted(
  policy: Policy,
  { skewMs, isSandbox }: Pick<Connection, 'skewMs' | 'isSandbox'>,
): boolean {
  return isSandbox || Math.abs(skewMs) <= policy.max_clock_skew.ms;
}

/**
 * One wrong Date that a walk began with would be claimed for good, and one that a listing bears would outlive all later ones, so that nothing is
 * stored through a connection whose control plane and we are minutes apart: one of both clocks is wrong. A sandbox's time is moved on purpose.
 */
export function assertSaneClock({ name, skewMs, isSandbox }: Connection): void {
  if (isSandbox || Math.abs(skewMs) <= dateToleranceMs) return;
  throw new UserError(
    'clock',
    `Our clock is ${Math.round(Math.abs(skewMs) / 1000)} s off the control plane's of connection ${name}, and nothing is stored through it until both agree; set the clock right.`,
  );
}

/** An answer of the control plane itself is made after it was asked for; clocks drift by seconds, and a Date has whole ones. */
const driftMs = 30_000;

/** A Date has whole seconds: after this time, in ms, another answer has another. */
const dateMovesMs = 2000;

/**
 * Why an answer shows a time that is over, and not the present: a cache between has kept it. Null for a fresh one. A named `list` is compared with
 * its last answer, too.
 */
export function whyStale(
  { skewMs, lastDates, time }: Pick<Connection, 'skewMs' | 'lastDates' | 'time'>,
  { dateMs, ageMs, begunMs, list }: { dateMs: number | null; ageMs: number; begunMs: number; list?: string },
): string | null {
  const last = list === undefined ? undefined : lastDates.get(list);
  if (list !== undefined && dateMs !== null && dateMs !== last?.dateMs)
    lastDates.set(list, { dateMs, endedMs: time.now() });
  if (last !== undefined && last.dateMs === dateMs && begunMs - last.endedMs > dateMovesMs)
    return `its Date is that of an answer of ${Math.round((begunMs - last.endedMs) / 1000)} s before: ${staleWords}`;
  if (ageMs > 0) return `${staleWords}, as its Age says`;
  const behindMs = begunMs + skewMs - (dateMs ?? Number.NaN);
  return behindMs > driftMs ? `its Date lies ${Math.round(behindMs / 1000)} s back: ${staleWords}` : null;
}

/** How far an answer's Date may lie from where the control plane's clock must be by now. */
const dateToleranceMs = 300_000;

/**
 * The Date of an answer as RFC 3339. One wrong Date that was stored would spoil every later judgement, so that one which does
 * not fit what the connection knows of the control plane's clock is refused. A sandbox's time is moved on purpose.
 */
export function datedAt({ name, skewMs, isSandbox, time }: Connection, dateMs: number | null): string {
  const offMs = dateMs === null ? Number.NaN : Math.abs(dateMs - (time.now() + skewMs));
  if (dateMs !== null && (isSandbox || offMs <= dateToleranceMs)) return new Date(dateMs).toISOString();
  throw new UserError(
    'clock',
    `An answer to connection ${name} bears no Date, or one that does not fit the answers before it; nothing of it is stored.`,
  );
}
