import { desc, sql as fragment } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { enforcementState } from '../schema/plans.ts';
import type { Db } from '../sql.ts';

/** What the last pass of a machine found that it may carry out. */
export type EnforcementState = Omit<typeof enforcementState.$inferSelect, 'machine' | 'at'>;

/** Records what a machine may carry out; with `isFirst`, only if nothing is recorded for it. If `nextAt` is null, the known one stays. */
export async function saveEnforcementState(
  db: Db,
  machine: string,
  state: EnforcementState,
  { isFirst = false }: { isFirst?: boolean } = {},
): Promise<void> {
  const row = { ...state, at: fragment`now()` };
  const nextAt = fragment`coalesce(excluded.next_at, enforcement_state.next_at)`;
  const insert = db.insert(enforcementState).values({ machine, ...row });
  if (isFirst) await insert.onConflictDoNothing();
  else await insert.onConflictDoUpdate({ target: enforcementState.machine, set: { ...row, nextAt } });
}

/** Returns the state of the machine that ran a pass last, with the time of that pass; undefined before the first one. */
export async function readEnforcementState(db: Reader): Promise<(EnforcementState & { at: string }) | undefined> {
  const { at, whyNotApproved, whyNotAutomatic, approvalsSince, nextAt, sinks } = enforcementState;
  const next = fragment`case when ${nextAt} > now() then ${nextAt} end`.mapWith(nextAt);
  const [row] = await db
    .select({ at, whyNotApproved, whyNotAutomatic, approvalsSince, nextAt: next, sinks })
    .from(enforcementState)
    .orderBy(desc(at))
    .limit(1);
  return row;
}
