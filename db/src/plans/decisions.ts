import { and, desc, eq, sql as raw } from 'drizzle-orm';
import { enforcementState } from '../schema/plans.ts';
import { standingApproval } from '../schema/views.ts';
import { builderOf, readValue, type Sql } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

/** Approves a plan that was produced within the last day, as the principal. Returns false for any other plan. */
export async function approvePlan(
  sql: Sql,
  { plan, principal }: { plan: string; principal: Principal },
): Promise<boolean> {
  return (await readValue(sql`select keywarden.approve_plan(${principal.credential}, ${plan})`)) != null;
}

/** Returns whether a person's approval of a plan is already valid. One that the last pass could not accept may be given again. */
export async function hasApproved(sql: Sql, { plan, person }: { plan: string; person: string }): Promise<boolean> {
  const db = builderOf(sql);
  const { planId, person: approver, approvedAt } = standingApproval;
  const since = db
    .select({ at: enforcementState.approvalsSince })
    .from(enforcementState)
    .orderBy(desc(enforcementState.at))
    .limit(1);
  const isValid = raw`${approvedAt} > coalesce((${since}), '-infinity')`;
  return (await db.$count(standingApproval, and(eq(planId, plan), eq(approver, person), isValid))) > 0;
}

/** Rejects a plan as the principal. Earlier approvals become invalid, and the plan's execution stops. */
export async function rejectPlan(
  sql: Sql,
  { plan, principal, reason }: { plan: string; principal: Principal; reason: string },
): Promise<void> {
  await sql`select keywarden.reject_plan(${principal.credential}, ${plan}, ${reason})`;
}
