import { readStanding } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { whyDisagreeing } from '../current-policy.ts';
import { whyPaused } from './guarded-revocation.ts';
import { whyNotEnforcing } from './high-water-mark.ts';

/** Why nothing goes without a person at the command line: the store may be an older one, replicas differ, or somebody has paused. */
export async function whyNotByItself(
  context: Pick<Context, 'store' | 'environment' | 'config'>,
): Promise<string | null> {
  return (await whyNotEnforcing(context)) ?? (await whyDisagreeing(context)) ?? (await whyPaused(context));
}

/** Why what persons have said of the plan does not let its next key go; null if it does. Nobody has to say yes to what goes by itself. */
export async function whyNotApproved(
  { store }: Pick<Context, 'store'>,
  planId: string,
  via: 'command line' | 'report' | 'enforcement',
): Promise<string | null> {
  const { rejection, approvers, needed } = await readStanding(store.sql, planId);
  if (rejection !== null)
    return `plan ${planId} was rejected by ${rejection.by} (${rejection.reason}); an approval in the report overrules that`;
  if (via === 'enforcement' || approvers.length >= needed) return null;
  if (needed === 1)
    return `no approval of plan ${planId} stands any more: another run of it has ended meanwhile, or a day has gone by; apply it again for what is left`;
  return `plan ${planId} takes approvals of ${needed} persons (second_person_above), and has ${approvers.length === 0 ? 'none' : `that of ${approvers.join(', ')}`}: let another operator approve it in the report, then apply again`;
}
