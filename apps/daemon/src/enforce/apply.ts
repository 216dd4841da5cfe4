import { ControlPlaneError } from '@keywarden/core/client';
import type { PlanDocument, PlanItem } from '@keywarden/core/policy';
import { describeError } from '@keywarden/core/process';
import { toMs, type WireRevokedKey } from '@keywarden/core/wire';
import { approvePlan, beginRevocation, factScope, readPlanProgress, recordOutcome } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { withConnectionLock } from '../sync/run.ts';
import { listScope, parseScope, type Scope } from '../sync/scopes.ts';
import { judge } from './plan.ts';

/** What became of one item. `skipped`: not called, with why. `unknown`: called, and two listings must tell. */
interface AppliedItem {
  item: PlanItem;
  outcome: 'revoked' | 'skipped' | 'failed' | 'unknown';
  why: string | null;
  /** The key was used after it was judged (R5). */
  usedInFlight: boolean;
}

export interface Applied {
  /** Items that were carried out before, by this plan. */
  doneBefore: number;
  items: AppliedItem[];
  /** Why the run ended before its last item; null if it did not. */
  stopped: string | null;
}

/** Items of a plan that are still to be done. */
export async function remainingItems({ store }: Context, planId: string, document: PlanDocument): Promise<PlanItem[]> {
  const progress = await readPlanProgress(store.sql, planId);
  return document.items.filter((item) => !['revoked', 'gone'].includes(progress.get(item.key.number) ?? ''));
}

/**
 * Carries out a plan that a person has approved by asking for it (R6). Each key is listed and judged again right before: what
 * is not condemned at that moment stays. One key's failure does not stop the others; a use in flight stops all (R5).
 */
export async function applyPlan(
  context: Context,
  {
    planId,
    document,
    approvedBy,
    connections,
  }: { planId: string; document: PlanDocument; approvedBy: string; connections: Connection[] },
): Promise<Applied> {
  const remaining = await remainingItems(context, planId, document);
  const applied: Applied = { doneBefore: document.items.length - remaining.length, items: [], stopped: null };
  if (remaining.length === 0) return applied;
  const approval = await approvePlan(context.store.sql, { planId, approvedBy });
  const part = context.progress.part(`plan ${planId}`, 'keys');
  for (const [index, item] of remaining.entries()) {
    part.update(index, remaining.length);
    if (context.signal.aborted) {
      applied.stopped = 'stopped by a signal';
      break;
    }
    const result = await applyItem(context, { item, planId, approval, connections });
    applied.items.push(result);
    if (result.usedInFlight) {
      applied.stopped = `key ${item.key.id} was used between its last listing and its revocation`;
      break;
    }
  }
  part.end(`${applied.items.filter((each) => each.outcome === 'revoked').length} of ${remaining.length} revoked`);
  return applied;
}

interface ItemTask {
  item: PlanItem;
  planId: string;
  approval: string;
  connections: Connection[];
}

async function applyItem(context: Context, task: ItemTask): Promise<AppliedItem> {
  const { item, connections } = task;
  const place = placeOf(item, connections);
  if (place === undefined) return skipped(item, 'no configured connection can list and revoke it');
  return await withConnectionLock(context, { connection: place.connection, kind: 'keys' }, async () => {
    const ready = await rejudge(context, { ...task, ...place });
    if (typeof ready === 'string') return skipped(item, ready);
    const intent = await beginRevocation(context.store.sql, {
      planId: task.planId,
      key: item.key.number,
      connection: place.connection.name,
      approval: task.approval,
      listing: ready.listing,
    });
    if (intent === undefined)
      return skipped(item, 'an earlier attempt is not settled; run keywarden sync keys in a minute, then apply again');
    return await callAndRecord(context, { item, intent, lastUsedAt: ready.lastUsedAt, ...place });
  });
}

/** A connection that reaches the key's scope: of its own user, or of its organization. */
function placeOf({ key }: PlanItem, connections: Connection[]): { connection: Connection; scope: Scope } | undefined {
  for (const connection of connections) {
    const prefix = factScope(connection.controlPlane, '');
    if (!key.scope.startsWith(prefix)) continue;
    const scope = parseScope(key.scope.slice(prefix.length));
    const reaches =
      scope.kind === 'user'
        ? connection.isPersonal && connection.accountId === scope.userId
        : connection.isPersonal || connection.accountId === scope.organizationId;
    if (reaches) return { connection, scope };
  }
  return undefined;
}

/** Lists the key's scope and judges by the policy in force, this moment (R1). Answers with why it must stay, or with the evidence. */
async function rejudge(
  { store, config, signal }: Context,
  { item, connection, connections, scope }: ItemTask & { connection: Connection; scope: Scope },
): Promise<string | { listing: string; lastUsedAt: string | null }> {
  let listing: Awaited<ReturnType<typeof listScope>>;
  try {
    listing = await listScope(store.sql, connection, { scope, run: null, signal });
  } catch (error) {
    if (error instanceof ControlPlaneError) return `its scope could not be listed again: ${error.message}`;
    throw error;
  }
  if (listing.doubt !== null) return `its listing is doubted: ${listing.doubt}`;
  if (listing.number === null) return 'another process has listed its scope meanwhile; apply again';
  const listed = listing.keys.find((key) => key.id === item.key.id);
  if (listed === undefined) return 'it is not listed any more';
  const { verdicts } = await judge(store.db, { policy: config.policy, connections });
  const verdict = verdicts.find(({ key }) => key.number === item.key.number);
  if (verdict === undefined) return 'no rule of the policy in force condemns it any more';
  if (verdict.held !== null) return verdict.held;
  return { listing: listing.number, lastUsedAt: listed.lastUsedAt };
}

/** The call, between its intent, which is committed, and its outcome. */
async function callAndRecord(
  { store, signal }: Context,
  {
    item,
    intent,
    connection,
    scope,
    lastUsedAt,
  }: { item: PlanItem; intent: string; connection: Connection; scope: Scope; lastUsedAt: string | null },
): Promise<AppliedItem> {
  const { client } = connection;
  let revoked: WireRevokedKey;
  try {
    revoked =
      scope.kind === 'user'
        ? await client.revokePersonalKey(item.key.id, { signal })
        : await client.revokeOrganizationKey(scope.organizationId, item.key.id, { signal });
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    if (error.code === 'outcome_unknown' || error.code === 'not_found') {
      return { item, outcome: 'unknown', why: `${error.message}; the next listings tell`, usedInFlight: false };
    }
    await recordOutcome(store.sql, intent, { outcome: 'failed', at: null, detail: describeError(error) });
    return { item, outcome: 'failed', why: error.message, usedInFlight: false };
  }
  const usedInFlight = isLater(revoked.lastUsedAt, lastUsedAt);
  const detail = { last_used_at: revoked.lastUsedAt, last_used_from_addr: revoked.lastUsedFromAddr };
  const at = new Date(Date.now() + connection.skewMs).toISOString();
  await recordOutcome(store.sql, intent, { outcome: 'revoked', usedInFlight, at, detail });
  return { item, outcome: 'revoked', why: null, usedInFlight };
}

function isLater(answered: string | null, judged: string | null): boolean {
  if (answered === null) return false;
  return judged === null || toMs(answered) > toMs(judged);
}

function skipped(item: PlanItem, why: string): AppliedItem {
  return { item, outcome: 'skipped', why, usedInFlight: false };
}
