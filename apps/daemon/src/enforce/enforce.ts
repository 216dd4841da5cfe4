import { hostname } from 'node:os';
import { type Facts, type Plan, type PlanItem, toItem } from '@keywarden/core/policy';
import { sha256 } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import { Cron } from 'croner';
import type { Connection } from '../connect.ts';
import { type Context, withProcessLock } from '../context.ts';
import { type Announced, announce } from '../notices/notices.ts';
import { remindReviewers } from '../notices/review-reminders.ts';
import { type Applied, applyPlan, hasUseInFlight } from './apply.ts';
import { stoppedByUse } from './guarded-revocation.ts';
import { type ApprovalScope, reportBetweenMarks } from './high-water-mark.ts';
import { planKeys, readDocument } from './plan.ts';
import { readPermissions } from './standing.ts';

export interface Enforced {
  plan: Plan & { isNew: boolean };
  announced: Announced;
  /** The results of plans that were approved in the report. */
  approved: Applied[];
  /** The result of automatic enforcement; null if it may do nothing, with the reason in `why`. */
  automatic: Applied | null;
  why: string | null;
  /** Why the mark after the pass could not be made, as a sentence; null if it was. */
  whyUnmarked: string | null;
}

/**
 * Runs one pass of enforcement on keys that were just listed. It plans, notifies owners, and applies what was approved in the report. Then
 * it revokes the keys whose rule and organization are in `mode: enforce` (R6). One process at a time does it. A store that may be an older
 * one only plans and notifies, and a machine without a person's permission does not enforce automatically (R10).
 */
export async function enforce(context: Context, connections: Connection[]): Promise<Enforced> {
  return await withProcessLock(context, 'enforcement', async (context) => {
    const plan = await planKeys(context, connections);
    const announced = await announce(context, { plan, connections });
    await remindReviewers(context, connections);
    await recordIncidents(context, plan);
    await db.endEarlyApprovals(context.store.db);
    const { why, approvals } = await recordState(context);
    return await reportBetweenMarks(context, async () => {
      const approved = approvals.why === null ? await carryOutApproved(context, connections, approvals.since) : [];
      const lost = approved.find(({ hasStoreFailed }) => hasStoreFailed);
      // R5: the lost response may have shown a use in flight.
      const whyNot = lost?.stopped ?? (approved.some(hasUseInFlight) ? stoppedByUse : why);
      const automatic = whyNot === null ? await enforceAutomatically(context, plan, connections) : null;
      return { plan, announced, approved, automatic, why: whyNot };
    });
  });
}

/** Opens an incident for each open breaker that holds back automatic revocations, and ends it when the breaker is closed. */
async function recordIncidents(
  { store }: Context,
  { automatic, document, facts, id }: Plan & { facts: Facts },
): Promise<void> {
  const scopes = new Set(automatic.map(({ verdict }) => verdict.key.scope));
  const open = new Set(document.breakers.map(({ scope }) => scope));
  // For a scope that was not judged, it is unknown whether its breaker is closed.
  const shut = facts.scopes.filter(({ scope, nowMs }) => nowMs !== null && !open.has(scope)).map(({ scope }) => scope);
  await db.closeIncidents(store.db, { kind: 'breaker', scopes: shut }, { note: 'the breaker is closed' });
  for (const { scope, ...detail } of document.breakers)
    if (scopes.has(scope))
      await db.openIncident(store.db, { kind: 'breaker', scope, detail: { ...detail, plan_id: id } });
}

/** Records for the report what this machine may carry out and when its next pass begins; with `isFirst` only what is not recorded yet. */
export async function recordState(
  context: Context,
  { isFirst = false }: { isFirst?: boolean } = {},
): Promise<{ why: string | null; approvals: ApprovalScope }> {
  const { store, config, environment, replica, now } = context;
  const { whyNotAutomatic: why, approvals } = await readPermissions(context);
  const machine = sha256(`${hostname()} ${environment.KEYWARDEN_DATA}`).slice(0, 12);
  const cron = new Cron(config.schedules.enforce, { paused: true, timezone: 'UTC' });
  // A command makes one pass; only the daemon makes the next.
  const next = replica === null ? null : cron.nextRun(new Date(now()));
  const state = {
    whyNotApproved: approvals.why,
    whyNotAutomatic: why,
    approvalsSince: approvals.since,
    nextAt: next?.toISOString() ?? null,
    sinks: config.sinks.length,
  };
  await db.saveEnforcementState(store.db, machine, state, { isFirst });
  return { why, approvals };
}

/** Applies the approved plans. A plan that fails does not stop the others, nor automatic enforcement. */
async function carryOutApproved(context: Context, connections: Connection[], since: string | null): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const { number, planId } of await db.listReportApprovals(context.store.sql, since)) {
    try {
      const items = await readItems(context, { planId, approval: number });
      if (items === undefined) continue;
      const approver = { via: 'report', approval: number } as const;
      applied.push(await applyPlan(context, { planId, items, approver, connections }));
    } catch (error) {
      context.signal.throwIfAborted();
      context.log.error(
        { plan: planId, err: error },
        'an approved plan failed; it is retried until its approval expires',
      );
    }
    if (applied.some(({ stopped }) => stopped !== null)) break;
  }
  return applied;
}

async function readItems(
  context: Context,
  { planId, approval }: { planId: string; approval: string },
): Promise<PlanItem[] | undefined> {
  try {
    return (await readDocument(context, planId)).items;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    context.log.error({ plan: planId, err: error }, 'an approved plan cannot be carried out');
    await db.endApproval(context.store.db, approval, 'stopped');
    return undefined;
  }
}

async function enforceAutomatically(context: Context, plan: Plan, connections: Connection[]): Promise<Applied> {
  const items = plan.automatic
    .filter(({ waits }) => waits === null)
    .map(({ verdict: { key }, findings }) => toItem({ key, findings }));
  const approver = { via: 'enforcement', approvedBy: `policy ${plan.policySha256.slice(0, 12)}` } as const;
  return await applyPlan(context, { planId: plan.id, items, approver, connections });
}
