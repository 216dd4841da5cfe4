import type { PlanItem } from '@keywarden/core/policy';
import {
  endApproval,
  listGoneKeys,
  listObservers,
  listUnsettledScopes,
  type PlanApprovalVia,
  recordApproval,
} from '@keywarden/db/daemon';
import { codeOf, codesOfFullDisks, UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import { type Context, withProcessLock } from '../context.ts';
import { listScope, parseScope, scopeLock } from '../sync/scopes.ts';
import { whyPaused } from './guarded-revocation.ts';
import { type AppliedItem, applyItem } from './item.ts';
import { whyNotApproved, whyStopAutomatic } from './standing.ts';

export interface Applied {
  /** Items that an earlier run of this plan carried out. */
  doneBefore: number;
  items: AppliedItem[];
  untried: number;
  /** Why the run ended before its last item; null if it did not. */
  stopped: string | null;
  /** Whether that was because the store failed, or the folder with this machine's mark. */
  hasStoreFailed?: true;
}

/** Returns a plan's remaining items: those whose key still exists, according to the store. */
export async function remainingItems({ store }: Context, items: PlanItem[]): Promise<PlanItem[]> {
  const gone = await listGoneKeys(
    store.db,
    items.map((item) => item.key.number),
  );
  return items.filter((item) => !gone.has(item.key.number));
}

/** The approver of a plan (R6): a person at the command line, a person in the report, or the policy automatically. */
export type Approver =
  | { via: Exclude<PlanApprovalVia, 'report'>; approvedBy: string }
  | { via: 'report'; approval: string };

/**
 * Applies items of a plan. Each key is listed and judged again right before its revocation. It stays unless a rule that the plan names for
 * it still flags it. One key's failure does not stop the others, and a refused credential stops its connection (R7). A use in flight stops
 * the run (R5). First settles what an earlier run left open (R4).
 */
export async function applyPlan(
  context: Context,
  {
    planId,
    items,
    approver,
    connections,
  }: { planId: string; items: PlanItem[]; approver: Approver; connections: Connection[] },
): Promise<Applied> {
  await settleOpenIntents(context, connections);
  const remaining = await remainingItems(context, items);
  const applied: Applied = {
    doneBefore: items.length - remaining.length,
    items: [],
    untried: remaining.length,
    stopped: null,
  };
  // A plan without items can still be approved: the approval shows that a person has read its breakers.
  const isOver = remaining.length === 0 && items.length > 0;
  if (approver.via === 'enforcement' ? remaining.length === 0 : isOver && approver.via !== 'report') return applied;
  const approval =
    approver.via === 'report'
      ? approver.approval
      : (await recordApproval(context.store.db, { planId, ...approver })).number;
  const part = context.progress.part(`plan ${planId}`, 'keys');
  const run = { connections, refused: new Set<string>(), membersListedMs: new Map<string, number>() };
  for (const [index, item] of remaining.entries()) {
    part.update(index, remaining.length);
    Object.assign(applied, await whyNotNext(context, { planId, via: approver.via }));
    if (applied.stopped !== null) break;
    const result = await applyItem(context, { item, planId, approval, via: approver.via, run }).catch(
      (error: unknown) => (context.signal.aborted && isAbort(error) ? null : lostItem(context, item, error)),
    );
    // The signal has ended the wait for a lock. All of them are taken before the intent, so nothing was called.
    if (result === null) {
      Object.assign(applied, stoppedBySignal(context));
      break;
    }
    applied.items.push(result);
    applied.untried -= 1;
    if (result.storeFailure !== undefined) {
      Object.assign(applied, stoppedByStore(result.storeFailure));
      break;
    }
    if (result.usedInFlight) {
      applied.stopped = `key ${item.key.id} was used between its last listing and its revocation; run keywarden incidents to see the use, and find out what uses the key before you apply again`;
      break;
    }
  }
  const how = howItEnded(applied);
  // Report what was revoked even if the store can record nothing more.
  if (how !== null)
    await endApproval(context.store.db, approval, how).catch((error: unknown) => {
      applied.stopped ??= `the store failed (${codeOf(error)}) while it recorded the plan's end`;
      applied.hasStoreFailed = true;
    });
  part.end(`${applied.items.filter((each) => each.outcome === 'revoked').length} of ${remaining.length} revoked`);
  return applied;
}

async function whyNotNext(
  context: Context,
  { planId, via }: { planId: string; via: PlanApprovalVia },
): Promise<Pick<Applied, 'stopped' | 'hasStoreFailed'>> {
  if (context.signal.aborted) return stoppedBySignal(context);
  try {
    const why = await whyStopAutomatic(context, via);
    return { stopped: why ?? (await whyPaused(context)) ?? (await whyNotApproved(context, planId, via)) };
  } catch (error) {
    return stoppedByStore(storeFailureOf(context, error));
  }
}

const stoppedBySignal = ({ signal: { reason } }: Context): Pick<Applied, 'stopped' | 'hasStoreFailed'> =>
  codeOf(reason) === 'lock_lost'
    ? stoppedByStore(inWordsOfFailure('the store failed', 'lock_lost'))
    : { stopped: 'stopped by a signal' };

const isAbort = (error: unknown): error is Error => error instanceof Error && error.name === 'AbortError';

const stoppedByStore = (stopped: string): Pick<Applied, 'stopped' | 'hasStoreFailed'> => ({
  stopped,
  hasStoreFailed: true,
});

const inWordsOfFailure = (what: string, code: string) => `${what} (${code}); fix it, then apply the plan again`;

/** Returns what failed, so that the run can report what it has done: the store, or the folder with this machine's mark. Rethrows any other error: it is a bug. */
function storeFailureOf({ signal }: Context, error: unknown): string {
  if (error instanceof UserError) return error.message.replace(/\.$/, '');
  const code = codeOf(isAbort(error) ? error.cause : error);
  // SQLSTATE classes of a store that is away, read-only, full, locked or broken, the driver's codes for a lost connection, and a lost lock.
  if (!signal.aborted && /^((08|25|40|53|55|57|58)[0-9A-Z]{3}|CONNECTION_\w+|ECONN\w+|KW005|lock_lost)$/.test(code))
    return inWordsOfFailure('the store failed', code);
  if (codesOfFullDisks.includes(code)) return inWordsOfFailure('KEYWARDEN_DATA cannot be written', code);
  throw error;
}

/** Returns the item that a store failure cut short, perhaps between the call and its outcome. */
function lostItem(context: Context, item: PlanItem, error: unknown): AppliedItem {
  const storeFailure = storeFailureOf(context, error);
  const why = `its revocation was cut short (${codeOf(isAbort(error) ? error.cause : error)}); the next listings show whether the key is gone`;
  return { item, outcome: 'unknown', why, usedInFlight: false, isFinal: false, storeFailure };
}

/**
 * Returns how the approval ended. It is done if each item is: only then does it cover what the plan flags. A use in flight also ends an
 * approval: another one may follow after a person has reviewed the incident. Returns null while the rest may be tried again.
 */
function howItEnded(applied: Applied): 'done' | 'stopped' | null {
  const { stopped, items } = applied;
  if (hasUseInFlight(applied)) return 'stopped';
  if (stopped !== null || !items.every(({ isFinal }) => isFinal)) return null;
  return items.length === 0 || items.some(({ outcome }) => outcome === 'revoked') ? 'done' : 'stopped';
}

/** Returns whether a key was used during its revocation (R5). Then nothing else may be revoked until a person has reviewed it. */
export function hasUseInFlight({ items }: Applied): boolean {
  return items.some(({ usedInFlight }) => usedInFlight);
}

/** Lists the scopes in which an earlier run was cut off between a call and its outcome, so that the listings decide the outcome. */
async function settleOpenIntents(context: Context, connections: Connection[]): Promise<void> {
  const { store, log } = context;
  for (const { controlPlane, scope } of await listUnsettledScopes(store.db)) {
    const observers = await listObservers(store.db, { controlPlane, scope });
    const connection = connections.find((each) => each.controlPlane === controlPlane && observers.includes(each.name));
    if (connection === undefined) continue;
    const parsed = parseScope(scope);
    await withProcessLock(context, scopeLock(controlPlane, parsed), (leased) =>
      listScope(leased, connection, { scope: parsed, run: null }),
    ).catch((error: unknown) => {
      log.warn({ scope, err: error }, 'a scope with an unsettled revocation could not be listed; it stays unsettled');
    });
  }
}
