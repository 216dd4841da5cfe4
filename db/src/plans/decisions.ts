import { planRejection } from '../schema/plans.ts';
import type { Db, Sql } from '../sql.ts';

/** Approves a plan that was produced within the last day. Returns false for any other plan. */
export async function approvePlan(sql: Sql, { plan, by }: { plan: string; by: string }): Promise<boolean> {
  const [row] = await sql`select keywarden.approve_plan(${plan}, ${by}) as number`;
  return row?.number != null;
}

/** Returns whether a person's approval of a plan is already valid. */
export async function hasApproved(sql: Sql, { plan, person }: { plan: string; person: string }): Promise<boolean> {
  const rows =
    await sql`select 1 from keywarden.standing_approval where plan_id = ${plan} and person = ${person} limit 1`;
  return rows.length > 0;
}

/** Rejects a plan. Earlier approvals become invalid, and the plan's execution stops. */
export async function rejectPlan(
  db: Db,
  { plan, by, reason }: { plan: string; by: string; reason: string },
): Promise<void> {
  await db.insert(planRejection).values({ planId: plan, rejectedBy: by, reason });
}
