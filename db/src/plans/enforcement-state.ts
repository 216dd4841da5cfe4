import { desc, sql as fragment } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { enforcementState } from '../schema/plans.ts';
import type { Db } from '../sql.ts';

/** What the last pass of a machine found that it may carry out. Times are RFC 3339. */
export interface EnforcementState {
  /** Why no approval of the report is carried out; null if approvals are. */
  whyNotApproved: string | null;
  /** Why nothing is revoked automatically; null if it may be. */
  whyNotAutomatic: string | null;
  /** Only approvals after this time are carried out; null for all. */
  approvalsSince: string | null;
  /** When the next pass begins; null if none is known. When it is saved, null leaves the known one. */
  nextAt: string | null;
  /** The number of configured sinks; null if a former version ran the pass. */
  sinks: number | null;
}

/** Records what a machine may carry out; with `isFirst`, only if nothing is recorded for it. */
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
