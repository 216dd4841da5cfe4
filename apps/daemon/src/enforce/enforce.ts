import type { Facts, Plan } from '@keywarden/core/policy';
import { listReportApprovals, openIncident } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { type Announced, announce } from '../notices/notices.ts';
import { withProcessLock } from '../sync/run.ts';
import { type Applied, applyPlan } from './apply.ts';
import { advanceMark, whyNotEnforcing } from './high-water-mark.ts';
import { whyPaused } from './item.ts';
import { planKeys, readDocument } from './plan.ts';

export interface Enforced {
  plan: Plan & { isNew: boolean };
  announced: Announced;
  /** What plans that were approved in the report did. */
  approved: Applied[];
  /** What the policy did by itself; null where it may do nothing, with why. */
  byItself: Applied | null;
  why: string | null;
}

/**
 * One pass of what the policy asks for, on keys that were just listed: plans, tells owners, carries out what was approved in the
 * report, and revokes what rule and organization are in `mode: enforce` for (R6). One process at a time does it.
 */
export async function enforce(context: Context, connections: Connection[]): Promise<Enforced> {
  return await withProcessLock(context, 'enforcement', async () => {
    const plan = await planKeys(context, connections);
    const announced = await announce(context, { plan, connections });
    const approved = await carryOutApproved(context, connections);
    return { plan, announced, approved, ...(await enforceByItself(context, plan, connections)) };
  });
}

async function carryOutApproved(context: Context, connections: Connection[]): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const { number, planId } of await listReportApprovals(context.store.sql)) {
    if ((await whyPaused(context)) !== null) break;
    const { items } = await readDocument(context, planId);
    applied.push(
      await applyPlan(context, { planId, items, approver: { via: 'report', approval: number }, connections }),
    );
  }
  return applied;
}

async function enforceByItself(
  context: Context,
  plan: Plan & { facts: Facts },
  connections: Connection[],
): Promise<Pick<Enforced, 'byItself' | 'why'>> {
  const { sql } = context.store;
  const enforcing = plan.unattended.filter(({ isEnforced }) => isEnforced);
  const scopes = new Set(enforcing.map(({ verdict }) => verdict.key.scope));
  for (const { scope, ...detail } of plan.document.breakers)
    if (scopes.has(scope)) await openIncident(sql, { kind: 'breaker', scope, detail: { ...detail, plan_id: plan.id } });
  const notEnforcing = await whyNotEnforcing(context);
  if (notEnforcing !== null && enforcing.length > 0)
    await openIncident(sql, { kind: 'high_water_mark', scope: '', detail: { why: notEnforcing, plan_id: plan.id } });
  const why = notEnforcing ?? (await whyPaused(context));
  if (why !== null) return { byItself: null, why };
  await advanceMark(context);
  const may = new Map(enforcing.filter(({ waits }) => waits === null).map((each) => [each.verdict.key.number, each]));
  const items = plan.document.items.flatMap((item) => {
    const rules = may.get(item.key.number)?.findings.map(({ rule }) => rule.name);
    return rules === undefined ? [] : [{ ...item, findings: item.findings.filter(({ rule }) => rules.includes(rule)) }];
  });
  const approver = { via: 'enforcement', approvedBy: `policy ${plan.document.policy_sha256.slice(0, 12)}` } as const;
  const byItself = await applyPlan(context, { planId: plan.id, items, approver, connections });
  // What was revoked must not be forgotten by a store that is restored from before it.
  if (byItself.items.length > 0) await advanceMark(context);
  return { byItself, why: null };
}
