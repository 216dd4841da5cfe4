import {
  explain,
  type Finding,
  findingsOf,
  limitInWords,
  type Plan,
  type Policy,
  temporaryHoldKinds,
} from '@keywarden/core/policy';
import { canonicalJson } from '@keywarden/core/values';
import { asc, desc, eq, sql as raw } from 'drizzle-orm';
import { holdList } from '../locks.ts';
import { approvalEnd, type PlanApprovalVia, planApproval, plan as planTable, policyVersion } from '../schema/plans.ts';
import { planStanding, standingApproval, standingRejection } from '../schema/views.ts';
import { builderOf, type Db, type Sql, toJson } from '../sql.ts';

/** Stores a plan with its findings and policy. The same items are the same plan, whose other content is replaced. Returns whether it is new. */
export async function savePlan(sql: Sql, plan: Plan, policy: Policy): Promise<boolean> {
  const { document } = plan;
  return await sql.begin(async (tx) => {
    // Of two processes that find another policy in force, one records the change.
    await holdList(tx, 'policies in force');
    const db = builderOf(tx);
    const version = { sha256: document.policy_sha256, document: canonicalJson(policy) };
    await db.insert(policyVersion).values(version).onConflictDoNothing();
    await tx`
      insert into keywarden.policy_in_force (policy_sha256) select ${version.sha256}
      where ${version.sha256} is distinct from (select policy_sha256 from keywarden.policy_in_force order by number desc limit 1)`;
    // An unchanged document is not written again: that of a large plan has hundreds of megabytes.
    const ifOther = (column: string) => {
      const name = raw.identifier(column);
      return raw`case when plan.sha256 = excluded.sha256 then plan.${name} else excluded.${name} end`;
    };
    const [saved] = await db
      .insert(planTable)
      .values({
        id: plan.id,
        sha256: plan.sha256,
        approves: plan.approves,
        policySha256: plan.policySha256,
        document: [...plan.canonical()].join(''),
        itemCount: document.items.length,
        heldCount: document.held.length,
        reportedCount: document.reported.length,
      })
      .onConflictDoUpdate({
        target: planTable.id,
        set: {
          lastMadeAt: raw`now()`,
          derivedFrom: null,
          sha256: raw`excluded.sha256`,
          document: ifOther('document'),
          heldCount: raw`excluded.held_count`,
          reportedCount: raw`excluded.reported_count`,
          // A part has fewer findings than a plan with the same document.
          findingsAt: raw`case when plan.sha256 = excluded.sha256 and plan.derived_from is null then plan.findings_at else now() end`,
        },
      })
      // xmax is 0 for a row that was inserted and not updated.
      .returning({ isNew: raw<boolean>`xmax = 0`, hasOtherFindings: raw<boolean>`findings_at = now()` });
    if (saved?.hasOtherFindings === true)
      await tx`
        insert into keywarden.finding (plan_id, key_number, rule, action, disposition, why_held, hold_kind, in_breaker, rule_limit, evidence, reason)
        select ${plan.id}::text, key_number, rule, action, disposition, why_held, hold_kind, in_breaker, rule_limit, evidence, reason
        from json_to_recordset(${toJson(toRows(plan))}::json) as t(key_number bigint, rule text, action text, disposition text,
          why_held text, hold_kind text, in_breaker boolean, rule_limit text, evidence jsonb, reason text)`;
    return saved?.isNew === true;
  });
}

/** Returns each finding with everything it was judged on, and the plan's result for it. */
function toRows(plan: Plan) {
  const verdicts = new Map(plan.verdicts.map((verdict) => [verdict.key, verdict]));
  const broken = new Set(plan.document.breakers.map(({ scope }) => scope));
  const exempt = new Map(plan.document.held.map((item) => [item.key.number, item.why]));
  const holdOf = (finding: Finding) => {
    const verdict = verdicts.get(finding.key);
    if (finding.rule.action !== 'revoke')
      return verdict === undefined ? (exempt.get(finding.key.number) ?? null) : null;
    return verdict?.kept.find((each) => each.finding === finding)?.hold ?? verdict?.held ?? null;
  };
  return findingsOf(plan).map((finding) => {
    const { rule, key, evidence } = finding;
    const hold = holdOf(finding);
    const free = rule.action === 'revoke' ? 'planned' : 'reported';
    return {
      key_number: key.number,
      rule: rule.name,
      action: rule.action,
      disposition: hold === null ? free : 'held',
      why_held: hold?.text ?? null,
      hold_kind: hold?.kind ?? null,
      in_breaker:
        rule.action === 'revoke' && broken.has(key.scope) && (hold === null || temporaryHoldKinds.includes(hold.kind)),
      rule_limit: limitInWords(evidence),
      evidence: { ...evidence, created_at: key.createdAt, use: key.use },
      reason: explain(finding),
    };
  });
}

export async function readPlan(db: Db, id: string): Promise<typeof planTable.$inferSelect | undefined> {
  const [found] = await db.select().from(planTable).where(eq(planTable.id, id));
  return found;
}

type Approval = Pick<typeof planApproval.$inferSelect, 'number' | 'planId' | 'approvedBy'>;

/** Records who approved a plan: a person on the command line, or the policy if it enforces automatically. */
export async function recordApproval(
  db: Db,
  { planId, approvedBy, via }: { planId: string; approvedBy: string; via: Exclude<PlanApprovalVia, 'report'> },
): Promise<Approval> {
  const [row] = await db
    .insert(planApproval)
    .values({ planId, approvedBy, via })
    .returning({ number: planApproval.number });
  if (row === undefined) throw new Error('the approval was not stored');
  return { number: row.number, planId, approvedBy };
}

/**
 * Returns the newest valid approval in the report of each plan that has enough approvers and whose approval has not been carried out. Older
 * approvals have expired after 24 hours, and a rejection ends those before it. Only approvals after `since` count, RFC 3339; null for all.
 */
export async function listReportApprovals(sql: Sql, since: string | null = null): Promise<Approval[]> {
  return await sql<Approval[]>`
    select number, plan_id as "planId", approved_by as "approvedBy" from (
      select distinct on (a.plan_id) a.number, a.plan_id, a.approved_by, (
          select count(distinct b.person) from keywarden.standing_approval b
          where b.plan_id = a.plan_id and b.approved_at > coalesce(${since}::timestamptz, '-infinity')) as approvers
      from keywarden.standing_approval a
      where a.via = 'report' and a.approved_at > coalesce(${since}::timestamptz, '-infinity')
        and not exists (select from keywarden.approval_end e where e.approval_number = a.number)
      order by a.plan_id, a.number desc) newest
    where approvers >= (select s.approvers_needed from keywarden.plan_standing s where s.plan_id = newest.plan_id)
    order by number`;
}

/** The decisions of persons about a plan. */
export interface Standing {
  /** The newest rejection that no later approval in the report overrules; null if there is none. */
  rejection: { by: string; reason: string } | null;
  /** The persons whose approval is valid, and the number that the plan's own policy requires. */
  approvers: string[];
  needed: number;
}

/** Returns the valid decisions about a plan. An approval on the command line overrules no rejection, which may have come during its prompt. */
export async function readStanding(sql: Sql, planId: string): Promise<Standing> {
  const db = builderOf(sql);
  const { rejectedBy, reason, rejectedAt } = standingRejection;
  const [rejection] = await db
    .select({ by: rejectedBy, reason })
    .from(standingRejection)
    .where(eq(standingRejection.planId, planId))
    .orderBy(desc(rejectedAt))
    .limit(1);
  const persons = await db
    .selectDistinct({ person: standingApproval.person })
    .from(standingApproval)
    .where(eq(standingApproval.planId, planId))
    .orderBy(asc(standingApproval.person));
  const [standing] = await db
    .select({ needed: planStanding.approversNeeded })
    .from(planStanding)
    .where(eq(planStanding.planId, planId));
  return {
    rejection: rejection ?? null,
    approvers: persons.map(({ person }) => person),
    needed: standing?.needed ?? 1,
  };
}

/** Ends the approvals that were given while the database's clock was ahead. They would become valid again at their date. */
export async function endEarlyApprovals(db: Db): Promise<void> {
  const { number, approvedAt } = planApproval;
  const early = db.select({ number }).from(planApproval).where(raw`keywarden.clock_was_ahead(${approvedAt})`);
  for (const each of await early) await endApproval(db, each.number, 'stopped');
}

/** Ends an approval: `done` if each of its items is done, `stopped` if it was not to continue. */
export async function endApproval(db: Db, approval: string, how: 'done' | 'stopped'): Promise<void> {
  await db.insert(approvalEnd).values({ approvalNumber: approval, how }).onConflictDoNothing();
}
