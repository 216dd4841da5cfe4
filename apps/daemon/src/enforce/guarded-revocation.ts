import { ControlPlaneError } from '@keywarden/core/client';
import { toMs } from '@keywarden/core/values';
import type { WireCredential, WireKey } from '@keywarden/core/wire';
import {
  beginRevocation,
  factScope,
  isRefusedRow,
  listObservers,
  type RevocationCause,
  readPause,
  recordOutcome,
  type ScopeReference,
  withDestructiveCall,
} from '@keywarden/db/daemon';
import { codeOf, describeError, UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { withProcessLock } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { syncMembers } from '../sync/keys.ts';
import { isProjectScope, listScope, parseScope, type Scope, scopeLock, scopeName } from '../sync/scopes.ts';
import { callUpstream, type Ended, findEnded, NotSent } from './call-upstream.ts';

/** The outcome for one key. `skipped`: not called, with the reason. `unknown`: called, and two listings must decide. */
export interface Revocation {
  outcome: 'revoked' | 'skipped' | 'failed' | 'unknown';
  why: string | null;
  /** Whether the key was used after it was judged (R5). */
  usedInFlight: boolean;
  /** Whether another try would end the same way, as far as is known. */
  isFinal: boolean;
  /** The control plane was busy and did nothing. How long it asks to wait before another try, in ms. */
  retryAfterMs?: number;
}

/** Why a key is not revoked. */
export interface Skip {
  why: string;
  isFinal: boolean;
}

/** Returns a skip that is not final: another try may have another outcome. */
export const notNow = (why: string): Skip => ({ why, isFinal: false });

/** Why a run stops after a use in flight (R5). */
export const stoppedByUse = 'a key was used during its revocation; see keywarden incidents';

/** What is known of a key that was just listed. */
export interface Listed {
  connection: Connection;
  place: ScopeReference;
  key: WireKey | WireCredential;
}

export interface GuardedRevocation {
  key: { number: string; id: string; scope: string };
  /** The cause of the revocation, for its intent. */
  cause: RevocationCause;
  connections: Connection[];
  /** Names of connections whose credential was refused in this run. */
  refused: Set<string>;
  /** Whether a call for which the control plane was too busy is repeated in this run. */
  repeats: boolean;
  /** When this run last listed the members of each organization, in ms. */
  membersReadAt: Map<string, number>;
  /** Judges the key on current facts (R1). Returns why it must stay, or the policy by which it may be revoked. */
  judge: (listed: Listed) => Promise<Skip | MayGo>;
  /** Judges once more if the call had to wait for a rate limiter permit. It changes nothing. */
  judgeAgain: (listed: Listed) => Promise<Skip | MayGo>;
}

export interface MayGo {
  policySha256: string;
  /**
   * Whether the finding rests on the creator having left. Then this run must also have listed the organization's members.
   */
  restsOnMembers: boolean;
}

interface Target {
  connection: Connection;
  scope: Scope;
}

/** Tries for one key while the control plane is busy, the first included. */
const mostTries = 4;
const firstDelayMs = 500;
/** The longest wait for one key, in ms. After that, the next run tries it. */
const longestDelayMs = 60_000;

/**
 * Revokes a key; there is no other way. A call for which the control plane was too busy is repeated after a delay. Before each repetition,
 * all facts behind the call are checked again (R1). The key may have been exempted or used, or its approval withdrawn.
 */
export async function revokeGuarded(context: Context, task: GuardedRevocation): Promise<Revocation> {
  for (let tries = 1; ; tries += 1) {
    const target = await findTarget(context, task);
    if (target === undefined)
      return skipped(notNow('no configured connection has listed its scope with a credential that works'));
    const revocation = await revokeOnce(context, task, target);
    const delayMs = Math.max(revocation.retryAfterMs ?? Infinity, firstDelayMs * 2 ** (tries - 1));
    // The refused call itself may be why the key was skipped now: another run may still revoke it.
    if (tries > 1 && revocation.outcome === 'skipped') return { ...revocation, isFinal: false };
    const isOver = !task.repeats || tries === mostTries || delayMs > longestDelayMs || context.signal.aborted;
    if (isOver) return revocation;
    const isAborted = await target.connection.time.sleep(delayMs, context.signal).then(
      () => false,
      () => true,
    );
    if (isAborted) return revocation;
  }
}

/**
 * Lists the key's scope and judges the key right before the call, under the lock of the scope. Then commits the intent, makes the call and
 * commits the outcome (R4). One key's failure is a return value, not an error (R7).
 */
async function revokeOnce(context: Context, task: GuardedRevocation, target: Target): Promise<Revocation> {
  return await withProcessLock(context, scopeLock(target.connection.controlPlane, target.scope), async (context) => {
    const ready = await rejudge(context, task, target);
    if ('why' in ready) return skipped(ready);
    return await withDestructiveCall(context.store.locks, context, async () => {
      const intent = await withinQuota(context, task, ready, async () =>
        beginRevocation(context.store.sql, {
          cause: task.cause,
          key: task.key.number,
          connection: target.connection.name,
          listing: ready.listing,
          judgedAt: controlPlaneNow(target.connection),
          policySha256: ready.policySha256,
          lease: context.lease,
        }),
      );
      if (typeof intent === 'object') return skipped(intent);
      if (intent !== undefined) return await callAndRecord(context, task, { ...target, intent, ready });
      const pause = await whyPaused(context);
      return skipped(
        notNow(pause ?? 'an earlier attempt is unsettled; run keywarden sync keys in a minute, then try again'),
      );
    });
  });
}

/**
 * R3: commits an intent, with a quota for all scopes while no other process commits one. The key is judged again first, because another scope may have used
 * the quota up meanwhile.
 */
async function withinQuota<T>(
  context: Context,
  { judgeAgain }: GuardedRevocation,
  { listed }: Ready,
  commit: () => Promise<T>,
): Promise<T | Skip> {
  if (context.config.policy.quotas.per_day === undefined) return await commit();
  return await withProcessLock(context, 'daily quota', async () => {
    const again = await judgeAgain(listed);
    return 'why' in again ? again : await commit();
  });
}

/** R7: returns why every replica is paused, or null. */
export async function whyPaused({ store }: Pick<Context, 'store'>): Promise<string | null> {
  const pause = await readPause(store.db);
  if (pause === null) return null;
  return `paused by ${pause.pausedBy} since ${pause.pausedAt}${pause.reason === null ? '' : ` (${pause.reason})`}; run keywarden resume to end the pause`;
}

/** Returns a connection that has listed the key's scope. */
async function findTarget(
  { store }: Context,
  { key, connections, refused }: GuardedRevocation,
): Promise<Target | undefined> {
  for (const controlPlane of new Set(connections.map((connection) => connection.controlPlane))) {
    const prefix = factScope(controlPlane, '');
    if (!key.scope.startsWith(prefix)) continue;
    const scope = parseScope(key.scope.slice(prefix.length));
    const observers = await listObservers(store.db, { controlPlane, scope: scopeName(scope) });
    const connection = observers
      .filter((name) => !refused.has(name))
      .map((name) => connections.find((each) => each.name === name && each.controlPlane === controlPlane))
      .find((each) => each !== undefined);
    return connection && { connection, scope };
  }
  return undefined;
}

/** The facts on which a key was just judged. */
interface Ready {
  listing: string;
  listed: Listed;
  /** When the facts were read, by the local clock. */
  judgedMs: number;
  policySha256: string;
}

/** Lists the key's scope and judges the key now. Returns why it must stay, or the evidence. */
async function rejudge(
  context: Context,
  { key, refused, judge, membersReadAt }: GuardedRevocation,
  { connection, scope }: Target,
): Promise<Skip | Ready> {
  let listing: Awaited<ReturnType<typeof listScope>>;
  try {
    listing = await listScope(context, connection, { scope, run: null });
  } catch (error) {
    if (isRefusedRow(error)) return notNow(`the store cannot hold a row of its listing (${codeOf(error)})`);
    if (!(error instanceof ControlPlaneError || error instanceof UserError)) throw error;
    if (error instanceof ControlPlaneError && error.code === 'unauthenticated') refused.add(connection.name);
    return notNow(`its scope could not be listed again: ${error.message}`);
  }
  if (listing.whySuspect !== null) return notNow(`its listing is suspect: ${listing.whySuspect}`);
  if (listing.number === null) return notNow('another process has listed its scope in the meantime; try again');
  const listed = listing.keys.find((each) => each.id === key.id);
  if (listed === undefined) return { why: 'it is no longer listed', isFinal: true };
  const place = { controlPlane: connection.controlPlane, scope: scopeName(scope) };
  const listedKey: Listed = { connection, place, key: listed };
  let judgedMs = connection.time.now();
  let judged = await judge(listedKey);
  if ('policySha256' in judged && judged.restsOnMembers && scope.kind === 'organization') {
    if (!(await listMembersAgain(context, connection, { organizationId: scope.organizationId, membersReadAt })))
      return notNow('the members of its organization could not be listed again');
    judgedMs = connection.time.now();
    judged = await judge(listedKey);
  }
  return 'why' in judged ? judged : { ...judged, listing: listing.number, listed: listedKey, judgedMs };
}

/** In ms: a key that was judged more recently than this is not judged again before the call. */
const freshMs = 1000;
/** In ms: a listing that is older than this when the call gets its permit is no longer current evidence. */
const oldestMs = 60_000;

/**
 * R1: throws if the key may no longer be revoked, because the store and the limits may have delayed the call since it was judged.
 */
async function assertStillJudged(
  { judgeAgain }: GuardedRevocation,
  { listed, judgedMs }: Ready,
  intent: string,
): Promise<void> {
  const ageMs = listed.connection.time.now() - judgedMs;
  if (ageMs <= freshMs) return;
  if (ageMs > oldestMs)
    throw new NotSent(`its permit came ${Math.round(ageMs / 1000)} s after it was judged`, { isOld: true });
  const again = await judgeAgain({ ...listed, place: { ...listed.place, exceptIntent: intent } });
  if ('why' in again) throw new NotSent(again.why, { isOld: false });
}

/** In ms: members whose listing in this run is older than this are listed again. */
const membersAgeMs = 60_000;

/** Returns whether the members of an organization are known as of now. */
async function listMembersAgain(
  context: Context,
  connection: Connection,
  { organizationId, membersReadAt }: { organizationId: string; membersReadAt: Map<string, number> },
): Promise<boolean> {
  const place = `${connection.controlPlane}/${organizationId}`;
  const readAt = membersReadAt.get(place);
  if (readAt !== undefined && connection.time.now() - readAt < membersAgeMs) return true;
  const beganAt = connection.time.now();
  try {
    if (!(await syncMembers(context, { connection, organizationId, counts: {} }))) return false;
  } catch (error) {
    if (error instanceof ControlPlaneError) return false;
    throw error;
  }
  membersReadAt.set(place, beganAt);
  return true;
}

/** Commits the intent, makes the call, and commits its outcome. */
async function callAndRecord(
  context: Context,
  task: GuardedRevocation,
  { connection, scope, intent, ready }: Target & { intent: string; ready: Ready },
): Promise<Revocation> {
  const { store, signal } = context;
  const { key, refused } = task;
  const beforeSend = async () => await assertStillJudged(task, ready, intent);
  let revoked: Ended;
  try {
    revoked = await callUpstream(connection, { scope, key: ready.listed.key, signal, beforeSend });
  } catch (error) {
    if (error instanceof NotSent) {
      const detail = { sent: false, why: error.message };
      await recordOutcome(store.sql, intent, { outcome: 'not_revoked', at: null, detail });
      const { message: why, isOld } = error;
      return isOld
        ? { outcome: 'failed', why, usedInFlight: false, isFinal: false, retryAfterMs: 0 }
        : skipped({ why, isFinal: false });
    }
    if (!(error instanceof ControlPlaneError)) throw error;
    if (error.code === 'outcome_unknown' || error.code === 'not_found')
      return unknown(`${error.message}; the next listings decide its outcome`);
    if (error.code === 'unauthenticated') refused.add(connection.name);
    await recordOutcome(store.sql, intent, { outcome: 'failed', at: null, detail: describeError(error) });
    const busy = busyCodes.includes(error.code) ? { retryAfterMs: error.retryAfterMs } : {};
    return { outcome: 'failed', why: error.message, usedInFlight: false, isFinal: !('retryAfterMs' in busy), ...busy };
  }
  if (isProjectScope(scope)) revoked = await findEnded(context, connection, { scope, id: key.id });
  if (!revoked.revoked || revoked.id !== key.id)
    return unknown(
      `${isProjectScope(scope) ? 'its list' : 'the response'} does not show the revocation; the next listings decide its outcome`,
    );
  const usedInFlight = isLater(revoked.lastUsedAt, ready.listed.key.lastUsedAt);
  const detail = { last_used_at: revoked.lastUsedAt, last_used_from_addr: revoked.lastUsedFromAddr };
  const at = controlPlaneNow(connection);
  await recordOutcome(store.sql, intent, { outcome: 'revoked', usedInFlight, at, detail });
  return { outcome: 'revoked', why: null, usedInFlight, isFinal: true };
}

/** 423, 429 and 503: nothing was done, and the same call may succeed later. */
const busyCodes: ControlPlaneError['code'][] = ['locked', 'rate_limited', 'unavailable'];

function isLater(answered: string | null, judged: string | null): boolean {
  if (answered === null) return false;
  return judged === null || toMs(answered) > toMs(judged);
}

const unknown = (why: string): Revocation => ({ outcome: 'unknown', why, usedInFlight: false, isFinal: true });

const skipped = ({ why, isFinal }: Skip): Revocation => ({ outcome: 'skipped', why, usedInFlight: false, isFinal });
