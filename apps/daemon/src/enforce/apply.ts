import { ControlPlaneError } from '@keywarden/core/client';
import type { PlanDocument, PlanItem } from '@keywarden/core/policy';
import { describeError } from '@keywarden/core/process';
import { toMs, type WireRevokedKey } from '@keywarden/core/wire';
import {
  approvePlan,
  beginRevocation,
  factScope,
  listGoneKeys,
  listObservers,
  readPause,
  recordOutcome,
  withDestructiveCall,
} from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { withProcessLock } from '../sync/run.ts';
import { listScope, parseScope, type Scope, scopeLock, scopeName } from '../sync/scopes.ts';
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

/** Items of a plan that are still to be done: whose key is there, as far as the store knows. */
export async function remainingItems({ store }: Context, { items }: PlanDocument): Promise<PlanItem[]> {
  const gone = await listGoneKeys(
    store.sql,
    items.map((item) => item.key.number),
  );
  return items.filter((item) => !gone.has(item.key.number));
}

/**
 * Carries out a plan that a person has approved by asking for it (R6). Each key is listed and judged again right before: what
 * is not condemned at that moment, by a rule that the plan names for it, stays. One key's failure does not stop the others, a
 * refused credential stops its connection (R7), and a use in flight stops all (R5).
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
  const remaining = await remainingItems(context, document);
  const applied: Applied = { doneBefore: document.items.length - remaining.length, items: [], stopped: null };
  if (remaining.length === 0) return applied;
  const approval = await approvePlan(context.store.sql, { planId, approvedBy });
  const part = context.progress.part(`plan ${planId}`, 'keys');
  const refused = new Set<string>();
  for (const [index, item] of remaining.entries()) {
    part.update(index, remaining.length);
    if (context.signal.aborted) {
      applied.stopped = 'stopped by a signal';
      break;
    }
    applied.stopped = await whyPaused(context);
    if (applied.stopped !== null) break;
    const result = await applyItem(context, { item, planId, approval, connections, refused });
    applied.items.push(result);
    if (result.usedInFlight) {
      applied.stopped = `key ${item.key.id} was used between its last listing and its revocation; keywarden incidents tells what is known, look at what uses it before you apply again`;
      break;
    }
  }
  part.end(`${applied.items.filter((each) => each.outcome === 'revoked').length} of ${remaining.length} revoked`);
  return applied;
}

/** R7: somebody has paused every replica. */
export async function whyPaused({ store }: Pick<Context, 'store'>): Promise<string | null> {
  const pause = await readPause(store.sql);
  if (pause === null) return null;
  return `paused by ${pause.pausedBy} since ${pause.pausedAt}${pause.reason === null ? '' : ` (${pause.reason})`}; keywarden resume ends that`;
}

interface ItemTask {
  item: PlanItem;
  planId: string;
  approval: string;
  connections: Connection[];
  /** Names of connections whose credential was refused in this run. */
  refused: Set<string>;
}

interface Place {
  connection: Connection;
  scope: Scope;
}

async function applyItem(context: Context, task: ItemTask): Promise<AppliedItem> {
  const { item } = task;
  const place = await findPlace(context, task);
  if (place === undefined)
    return skipped(item, 'no configured connection has listed its scope with a credential that works');
  return await withProcessLock(context, scopeLock(place.connection.controlPlane, place.scope), async () => {
    const ready = await rejudge(context, task, place);
    if (typeof ready === 'string') return skipped(item, ready);
    return await withDestructiveCall(context.store.sql, context, async () => {
      const intent = await beginRevocation(context.store.sql, {
        planId: task.planId,
        key: item.key.number,
        connection: place.connection.name,
        approval: task.approval,
        listing: ready.listing,
      });
      if (intent !== undefined) {
        return await callAndRecord(context, task, { ...place, intent, lastUsedAt: ready.lastUsedAt });
      }
      const pause = await whyPaused(context);
      return skipped(
        item,
        pause ?? 'an earlier attempt is not settled; run keywarden sync keys in a minute, then apply again',
      );
    });
  });
}

/** A connection that has listed the key's scope. */
async function findPlace(
  { store }: Context,
  { item: { key }, connections, refused }: ItemTask,
): Promise<Place | undefined> {
  for (const controlPlane of new Set(connections.map((connection) => connection.controlPlane))) {
    const prefix = factScope(controlPlane, '');
    if (!key.scope.startsWith(prefix)) continue;
    const scope = parseScope(key.scope.slice(prefix.length));
    const observers = await listObservers(store.sql, { controlPlane, scope: scopeName(scope) });
    const connection = observers
      .filter((name) => !refused.has(name))
      .map((name) => connections.find((each) => each.name === name && each.controlPlane === controlPlane))
      .find((each) => each !== undefined);
    return connection && { connection, scope };
  }
  return undefined;
}

/**
 * Lists the key's scope and judges by the policy in force, this moment (R1). Answers with why it must stay, or with the
 * evidence. An approval is of a reason, too: another rule that condemns the key since is not what the person approved.
 */
async function rejudge(
  { store, config, signal }: Context,
  { item, connections, refused }: ItemTask,
  { connection, scope }: Place,
): Promise<string | { listing: string; lastUsedAt: string | null }> {
  let listing: Awaited<ReturnType<typeof listScope>>;
  try {
    listing = await listScope(store.sql, connection, { scope, run: null, signal });
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    if (error.code === 'unauthenticated') refused.add(connection.name);
    return `its scope could not be listed again: ${error.message}`;
  }
  if (listing.doubt !== null) return `its listing is doubted: ${listing.doubt}`;
  if (listing.number === null) return 'another process has listed its scope meanwhile; apply again';
  const listed = listing.keys.find((key) => key.id === item.key.id);
  if (listed === undefined) return 'it is not listed any more';
  const { verdicts } = await judge(store.db, { policy: config.policy, connections });
  const verdict = verdicts.find(({ key }) => key.number === item.key.number);
  if (verdict === undefined) return 'no rule of the policy in force condemns it any more';
  if (verdict.key.id !== item.key.id || verdict.key.scope !== item.key.scope)
    return 'the plan names another key than the store';
  if (verdict.held !== null) return verdict.held;
  const approved = item.findings.map((finding) => finding.rule);
  if (!verdict.findings.some((finding) => approved.includes(finding.rule))) {
    return `it is condemned by ${verdict.findings.map((finding) => finding.rule).join(', ')} now, which this plan does not say; plan again`;
  }
  return { listing: listing.number, lastUsedAt: listed.lastUsedAt };
}

/** The call, between its intent, which is committed, and its outcome. */
async function callAndRecord(
  { store, signal }: Context,
  { item, refused }: ItemTask,
  { connection, scope, intent, lastUsedAt }: Place & { intent: string; lastUsedAt: string | null },
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
    if (error.code === 'unauthenticated') refused.add(connection.name);
    await recordOutcome(store.sql, intent, { outcome: 'failed', at: null, detail: describeError(error) });
    return { item, outcome: 'failed', why: error.message, usedInFlight: false };
  }
  if (!revoked.revoked || revoked.id !== item.key.id) {
    return {
      item,
      outcome: 'unknown',
      why: 'the answer does not say that this key is revoked; the next listings tell',
      usedInFlight: false,
    };
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
