import { ControlPlaneError } from '@keywarden/core/client';
import { isSameReason, type PlanItem } from '@keywarden/core/policy';
import { describeError, UserError } from '@keywarden/core/process';
import { toMs, type WireRevokedKey } from '@keywarden/core/wire';
import {
  beginRevocation,
  factScope,
  listObservers,
  readPause,
  recordOutcome,
  withDestructiveCall,
} from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf } from '../sync/organizations.ts';
import { withProcessLock } from '../sync/run.ts';
import { listScope, parseScope, type Scope, scopeLock, scopeName } from '../sync/scopes.ts';
import { judgeScope } from './plan.ts';

/** What became of one item. `skipped`: not called, with why. `unknown`: called, and two listings must tell. */
export interface AppliedItem {
  item: PlanItem;
  outcome: 'revoked' | 'skipped' | 'failed' | 'unknown';
  why: string | null;
  /** The key was used after it was judged (R5). */
  usedInFlight: boolean;
  /** Another try of the same plan would end no other way, as far as can be told. */
  isFinal: boolean;
}

/** R7: somebody has paused every replica. */
export async function whyPaused({ store }: Pick<Context, 'store'>): Promise<string | null> {
  const pause = await readPause(store.sql);
  if (pause === null) return null;
  return `paused by ${pause.pausedBy} since ${pause.pausedAt}${pause.reason === null ? '' : ` (${pause.reason})`}; keywarden resume ends that`;
}

export interface ItemTask {
  item: PlanItem;
  planId: string;
  approval: string;
  /** No person is at hand. By the policy itself: what must hold for that is judged again, too (R6). */
  via: 'command line' | 'report' | 'enforcement';
  connections: Connection[];
  /** Names of connections whose credential was refused in this run. */
  refused: Set<string>;
}

interface Place {
  connection: Connection;
  scope: Scope;
}

/**
 * Revokes the key of one item, if it is condemned still: its scope is listed and judged right before, under the lock of the scope. One
 * key's failure is an answer, not an error (R7).
 */
export async function applyItem(context: Context, task: ItemTask): Promise<AppliedItem> {
  const { item } = task;
  const place = await findPlace(context, task);
  if (place === undefined)
    return skipped(item, notNow('no configured connection has listed its scope with a credential that works'));
  return await withProcessLock(context, scopeLock(place.connection.controlPlane, place.scope), async () => {
    const ready = await rejudge(context, task, place);
    if ('why' in ready) return skipped(item, ready);
    return await withDestructiveCall(context.store.sql, context, async () => {
      const intent = await beginRevocation(context.store.sql, {
        planId: task.planId,
        key: item.key.number,
        connection: place.connection.name,
        approval: task.approval,
        listing: ready.listing,
        judgedAt: presentOf(place.connection),
        policySha256: ready.policySha256,
      });
      if (intent !== undefined) {
        return await callAndRecord(context, task, { ...place, intent, lastUsedAt: ready.lastUsedAt });
      }
      const pause = await whyPaused(context);
      return skipped(
        item,
        notNow(pause ?? 'an earlier attempt is not settled; run keywarden sync keys in a minute, then apply again'),
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

/** Why an item is not carried out. */
interface Skip {
  why: string;
  isFinal: boolean;
}

const notNow = (why: string): Skip => ({ why, isFinal: false });

/** What a key was judged on a moment ago. */
interface Ready {
  listing: string;
  lastUsedAt: string | null;
  policySha256: string;
}

/**
 * Lists the key's scope and judges by the policy in force, this moment (R1). Answers with why it must stay, or with the
 * evidence. An approval is of a reason, too: another rule that condemns the key since is not what the person approved.
 */
async function rejudge(
  context: Context,
  { item, via, connections, refused }: ItemTask,
  { connection, scope }: Place,
): Promise<Skip | Ready> {
  const { store, signal } = context;
  let listing: Awaited<ReturnType<typeof listScope>>;
  try {
    listing = await listScope(store.sql, connection, { scope, run: null, signal });
  } catch (error) {
    if (!(error instanceof ControlPlaneError || error instanceof UserError)) throw error;
    if (error instanceof ControlPlaneError && error.code === 'unauthenticated') refused.add(connection.name);
    return notNow(`its scope could not be listed again: ${error.message}`);
  }
  if (listing.doubt !== null) return notNow(`its listing is doubted: ${listing.doubt}`);
  if (listing.number === null) return notNow('another process has listed its scope meanwhile; apply again');
  const listed = listing.keys.find((key) => key.id === item.key.id);
  if (listed === undefined) return { why: 'it is not listed any more', isFinal: true };
  const place = { controlPlane: connection.controlPlane, scope: scopeName(scope) };
  const judged = await judgeScope(context, connections, place);
  if (via === 'report' && judged.facts.scopes.some(({ openIncidents }) => openIncidents > 0))
    return notNow('an incident of its scope is open; see keywarden incidents');
  const why = whyItStays(judged, { item, via });
  if (why !== null) return { why, isFinal: true };
  return { listing: listing.number, lastUsedAt: listed.lastUsedAt, policySha256: judged.policySha256 };
}

/** Why a key must stay by what is known this moment; null if it may go for a reason that the plan names. */
function whyItStays(
  { verdicts, unattended }: Awaited<ReturnType<typeof judgeScope>>,
  { item, via }: Pick<ItemTask, 'item' | 'via'>,
): string | null {
  const verdict = verdicts.find(({ key }) => key.number === item.key.number);
  if (verdict === undefined) return 'no rule of the policy in force condemns it any more';
  if (verdict.key.id !== item.key.id || verdict.key.scope !== item.key.scope)
    return 'the plan names another key than the store';
  if (verdict.held !== null) return verdict.held.text;
  const alone = unattended.find((each) => each.verdict === verdict);
  if (via === 'enforcement' && alone === undefined)
    return 'its rule and its organization are not both in mode: enforce';
  if (via === 'enforcement' && alone?.waits != null) return alone.waits;
  const condemning = via === 'enforcement' ? (alone?.findings ?? []) : verdict.findings;
  if (condemning.some((finding) => item.findings.some((planned) => isSameReason(planned, finding)))) return null;
  return `it is condemned for another reason now (${condemning.map(({ rule }) => rule.name).join(', ')}), which this plan does not say; plan again`;
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
      return {
        item,
        outcome: 'unknown',
        why: `${error.message}; the next listings tell`,
        usedInFlight: false,
        isFinal: true,
      };
    }
    if (error.code === 'unauthenticated') refused.add(connection.name);
    await recordOutcome(store.sql, intent, { outcome: 'failed', at: null, detail: describeError(error) });
    return { item, outcome: 'failed', why: error.message, usedInFlight: false, isFinal: true };
  }
  if (!revoked.revoked || revoked.id !== item.key.id) {
    return {
      item,
      outcome: 'unknown',
      why: 'the answer does not say that this key is revoked; the next listings tell',
      usedInFlight: false,
      isFinal: true,
    };
  }
  const usedInFlight = isLater(revoked.lastUsedAt, lastUsedAt);
  const detail = { last_used_at: revoked.lastUsedAt, last_used_from_addr: revoked.lastUsedFromAddr };
  const at = new Date(Date.now() + connection.skewMs).toISOString();
  await recordOutcome(store.sql, intent, { outcome: 'revoked', usedInFlight, at, detail });
  return { item, outcome: 'revoked', why: null, usedInFlight, isFinal: true };
}

function isLater(answered: string | null, judged: string | null): boolean {
  if (answered === null) return false;
  return judged === null || toMs(answered) > toMs(judged);
}

function skipped(item: PlanItem, { why, isFinal }: Skip): AppliedItem {
  return { item, outcome: 'skipped', why, usedInFlight: false, isFinal };
}
