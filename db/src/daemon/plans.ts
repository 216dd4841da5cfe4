import type { Plan } from '@keywarden/core/policy';
import { eq } from 'drizzle-orm';
import { plan as planTable } from '../schema/tables.ts';
import type { Db, Sql } from '../store.ts';

/** Stores a plan with its findings; the same plan twice is stored once. Answers whether it is new. */
export async function savePlan(sql: Sql, plan: Plan): Promise<boolean> {
  const { document } = plan;
  const verdicts = new Map(plan.verdicts.map((verdict) => [verdict.key.number, verdict]));
  const findings = plan.findings.map((finding) => {
    const held = finding.action === 'revoke' ? (verdicts.get(finding.key.number)?.held ?? null) : null;
    const planned = held === null ? 'planned' : 'held';
    return {
      key_number: finding.key.number,
      rule: finding.rule,
      action: finding.action,
      disposition: finding.action === 'report' ? 'reported' : planned,
      why_held: held,
      rule_limit: finding.limit,
      evidence: finding.evidence,
      reason: finding.reason,
    };
  });
  return await sql.begin(async (tx) => {
    const saved = await tx`
      insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count)
      values (${plan.id}, ${plan.sha256}, ${plan.canonical}, ${document.items.length}, ${document.held.length}, ${document.reported.length})
      on conflict (id) do update set last_made_at = now() returning xmax = 0 as is_new`;
    if (!saved[0]?.is_new) return false; // xmax is 0 on a row that was inserted and not updated
    await tx`
      insert into keywarden.finding (plan_id, key_number, rule, action, disposition, why_held, rule_limit, evidence, reason)
      select ${plan.id}::text, key_number, rule, action, disposition, why_held, rule_limit, evidence, reason
      from json_to_recordset(${JSON.stringify(findings)}::json) as t(key_number bigint, rule text, action text, disposition text,
        why_held text, rule_limit text, evidence jsonb, reason text)`;
    return true;
  });
}

export async function readPlan(db: Db, id: string): Promise<typeof planTable.$inferSelect | undefined> {
  const [found] = await db.select().from(planTable).where(eq(planTable.id, id));
  return found;
}

/** Records that a person approves exactly this plan, by carrying it out from the command line. */
export async function approvePlan(
  sql: Sql,
  { planId, approvedBy }: { planId: string; approvedBy: string },
): Promise<string> {
  const [row] = await sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via) values (${planId}, ${approvedBy}, 'command line') returning number`;
  return String(row?.number);
}
