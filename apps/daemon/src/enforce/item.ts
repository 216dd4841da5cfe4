import { isSameReason, mentions, type PlanItem, useInFlightHold } from '@keywarden/core/policy';
import type { PlanApprovalVia } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { revokeGuarded } from './guarded-revocation.ts';
import { judgeScope } from './plan.ts';
import { type Listed, type MayGo, notNow, type Revocation, type RevocationRun, type Skip } from './revocation-task.ts';
import { whyNotApproved, whyStopAutomatic } from './standing.ts';

export interface AppliedItem extends Revocation {
  item: PlanItem;
  /** What failed during the item, if that was the store or the folder with this machine's mark. */
  storeFailure?: string;
}

interface ItemTask {
  item: PlanItem;
  planId: string;
  approval: string;
  /** How the plan was approved. `enforcement`: by no person, so the conditions of automatic revocation are judged again, too (R6). */
  via: PlanApprovalVia;
  run: RevocationRun;
}

/** Revokes the key of one item if it is still flagged for a reason that its plan names. */
export async function applyItem(context: Context, task: ItemTask): Promise<AppliedItem> {
  const { item, planId, approval, via, run } = task;
  const revocation = await revokeGuarded(context, {
    key: item.key,
    cause: { planId, approval },
    ...run,
    repeats: true,
    whyStop: () => whyStopAutomatic(context, via),
    judge: (listed) => judgeItem(context, task, listed),
  });
  return { item, ...revocation };
}

/** Judges by the policy in force now (R1). The approval covers the reason: another rule's finding is not what the person approved. */
async function judgeItem(
  context: Context,
  { item, planId, via, run }: ItemTask,
  { scopeReference }: Listed,
): Promise<Skip | MayGo> {
  const whyNot = await whyNotApproved(context, planId, via);
  if (whyNot !== null) return notNow(whyNot);
  const judged = await judgeScope(context, run.connections, scopeReference);
  const incident = judged.facts.scopes.map(useInFlightHold).find((hold) => hold !== null);
  if (via === 'report' && incident !== undefined) return notNow(incident.text);
  const verdict = judged.verdicts.find(({ key }) => key.number === item.key.number);
  if (verdict === undefined) return { why: 'no rule of the policy in force flags it any more', isFinal: true };
  const why = whyItStays(verdict, judged, { item, via });
  if (why !== null) return { why, isFinal: true };
  const restsOnMembers = verdict.findings.some(({ rule }) => mentions(rule.condition, ['creator_left']));
  return { policySha256: judged.policySha256, restsOnMembers };
}

type Judged = Awaited<ReturnType<typeof judgeScope>>;

/** Returns why a key must stay on current facts; null if it may be revoked for a reason that the plan names. */
function whyItStays(
  verdict: Judged['verdicts'][number],
  { automatic }: Judged,
  { item, via }: Pick<ItemTask, 'item' | 'via'>,
): string | null {
  if (verdict.key.id !== item.key.id || verdict.key.scope !== item.key.scope)
    return 'the plan names another key than the store';
  if (verdict.held !== null) return verdict.held.text;
  const automaticItem = automatic.find((each) => each.verdict === verdict);
  if (via === 'enforcement' && automaticItem === undefined)
    return 'its rule and its organization are not both in mode: enforce';
  if (via === 'enforcement' && automaticItem?.waits != null) return automaticItem.waits;
  const flagging = via === 'enforcement' ? (automaticItem?.findings ?? []) : verdict.findings;
  if (flagging.some((finding) => item.findings.some((planned) => isSameReason(planned, finding)))) return null;
  return `it is now flagged for another reason (${flagging.map(({ rule }) => rule.name).join(', ')}), which this plan does not list; make a new plan`;
}
