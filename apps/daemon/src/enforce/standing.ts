import { doubtOfStore, hasOpenIncident, type PlanApprovalVia, readStanding } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { whyStoreBehind } from '../control-plane-clock.ts';
import { whyDisagreeing } from '../current-policy.ts';
import { whyLedgerDiffers } from '../ledger/checks.ts';
import { whyPaused } from './guarded-revocation.ts';
import { type ApprovalScope, approvalScope, whyNotEnforcing, whyNotPermitted } from './high-water-mark.ts';

type Standing = Pick<Context, 'store' | 'environment' | 'config' | 'now' | 'signal'>;

/** What a machine may carry out without a person at its command line. */
export interface Permissions {
  whyNotAutomatic: string | null;
  approvals: ApprovalScope;
}

/** Returns what this machine carries out: nothing while the store may be older, replicas differ, or there is a pause. */
export async function readPermissions(context: Standing): Promise<Permissions> {
  const nothing = await whyNothing(context);
  const { why, since } = await approvalScope(context);
  return {
    whyNotAutomatic: (await whyNotEnforcing(context)) ?? nothing,
    approvals: { why: why ?? (await whyUntimed(context)) ?? nothing, since },
  };
}

/** Returns why neither the policy nor the report revokes a key, or null. */
const whyNothing = async (context: Standing): Promise<string | null> =>
  (await whyLedgerDiffers(context)) ?? (await whyDisagreeing(context)) ?? (await whyPaused(context));

/**
 * Returns why a pass stops before its next key, or null. What other machines find meanwhile holds for this one, too. Approvals of the report need no permission
 * of this machine. A person at the command line is not stopped by any of this.
 */
export async function whyStopAutomatic(context: Standing, via: PlanApprovalVia): Promise<string | null> {
  if (via === 'command line') return null;
  const notPermitted = via === 'enforcement' ? whyNotPermitted(context) : null;
  if (notPermitted !== null) return notPermitted;
  for (const kind of doubtOfStore)
    if (await hasOpenIncident(context.store.db, kind))
      return `an incident ${kind} is open; keywarden incidents has the reason`;
  return await whyDisagreeing(context);
}

/** Returns why the age of an approval is unknown, or null: one that has expired seems valid while the database's clock is behind. */
async function whyUntimed(context: Standing): Promise<string | null> {
  const why = await whyStoreBehind(context);
  return why === null ? null : `${why}, so that an approval may have expired; correct the clock that is wrong`;
}

/** Returns why the approvals and rejections of the plan do not allow its next key; null if they do. Automatic enforcement needs no approval. */
export async function whyNotApproved(context: Standing, planId: string, via: PlanApprovalVia): Promise<string | null> {
  const { rejection, approvers, needed } = await readStanding(context.store.sql, planId);
  if (rejection !== null)
    return `plan ${planId} was rejected by ${rejection.by} (${rejection.reason}); an approval in the report overrules that`;
  if (via === 'enforcement') return null;
  // A person at the command line has just approved it.
  const isOld = via === 'report' || needed > 1;
  if (approvers.length >= needed) return isOld ? await whyUntimed(context) : null;
  if (needed === 1)
    return (
      // A failover may have lost the approval.
      (await approvalScope(context)).why ??
      `the approval of plan ${planId} is no longer valid: another run of the plan has ended, its token was revoked, or a day has passed. Apply the plan again for the remaining keys`
    );
  return `plan ${planId} needs approvals from ${needed} persons (second_person_above), and has ${approvers.length === 0 ? 'none' : `those of ${approvers.join(', ')}`}: ask another operator to approve it in the report, then apply again`;
}
