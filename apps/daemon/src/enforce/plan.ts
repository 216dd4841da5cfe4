import { makePlan, type Plan, type Policy } from '@keywarden/core/policy';
import { readFacts, savePlan } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';

/** Judges the stored keys, lays down a plan and stores it. Changes nothing upstream. `isNew` is false for a plan known before. */
export async function planKeys(context: Context, connections: Connection[]): Promise<Plan & { isNew: boolean }> {
  const plan = await judge(context.store.db, { policy: context.config.policy, connections });
  return { ...plan, isNew: await savePlan(context.store.sql, plan) };
}

/** The policy in force on the facts as they are stored now. */
export async function judge(
  db: Db,
  { policy, connections }: { policy: Policy; connections: Connection[] },
): Promise<Plan> {
  return makePlan(policy, await readFacts(db, clockOf(policy, connections)));
}

/**
 * The present of each control plane by its own clock (R1): null, so that nothing is judged, where no connection of this process
 * has asked for it, or where our clock is off it by more than allowed. A sandbox's time is moved on purpose.
 */
function clockOf(policy: Policy, connections: Connection[]): (controlPlane: string) => number | null {
  return (controlPlane) => {
    const known = connections.find((connection) => connection.controlPlane === controlPlane);
    if (known === undefined) return null;
    return isClockTrusted(policy, known) ? Date.now() + known.skewMs : null;
  };
}

export function isClockTrusted(
  policy: Policy,
  { skewMs, isSandbox }: Pick<Connection, 'skewMs' | 'isSandbox'>,
): boolean {
  return isSandbox || Math.abs(skewMs) <= policy.max_clock_skew.ms;
}
