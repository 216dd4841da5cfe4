import type { Sql } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

/** Approves a plan that was produced within the last day, as the principal. Returns false for any other plan. */
export async function approvePlan(
  sql: Sql,
  { plan, principal }: { plan: string; principal: Principal },
): Promise<boolean> {
  const [row] = await sql`select keywarden.approve_plan(${principal.credential}, ${plan}) as number`;
  return row?.number != null;
}

/** Returns whether a person's approval of a plan is already valid. One that the last pass could not accept may be given again. */
export async function hasApproved(sql: Sql, { plan, person }: { plan: string; person: string }): Promise<boolean> {
  const rows =
    await sql`select 1 from keywarden.standing_approval where plan_id = ${plan} and person = ${person} and approved_at > coalesce(
      (select s.approvals_since from keywarden.enforcement_state s order by s.at desc limit 1), '-infinity') limit 1`;
  return rows.length > 0;
}

/** Rejects a plan as the principal. Earlier approvals become invalid, and the plan's execution stops. */
export async function rejectPlan(
  sql: Sql,
  { plan, principal, reason }: { plan: string; principal: Principal; reason: string },
): Promise<void> {
  await sql`select keywarden.reject_plan(${principal.credential}, ${plan}, ${reason})`;
}
