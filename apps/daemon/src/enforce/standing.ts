import { readStanding } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';

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
  return `plan ${planId} takes approvals of ${needed} persons (second_person_above), and has ${approvers.length === 0 ? 'none' : `that of ${approvers.join(', ')}`}: let another operator approve it in the report, then apply again`;
}
