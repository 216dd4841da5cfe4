import { ControlPlaneError } from '@keywarden/core/client';
import { controlPlaneOf } from '@keywarden/core/policy';
import * as db from '@keywarden/db/daemon';
import { codeOf, succeeds, UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import { type Context, withProcessLock } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { syncMembers } from '../sync/keys.ts';
import { listScope, parseScope, scopeLock, scopeName } from '../sync/scopes.ts';
import { callAndRecord } from './call-and-record.ts';
import {
  type GuardedRevocation,
  type Listed,
  notNow,
  type Ready,
  type Revocation,
  type Skip,
  skipped,
  type Target,
} from './revocation-task.ts';

/** Why a run stops after a use in flight (R5). */
export const stoppedByUse = 'a key was used during its revocation; see keywarden incidents';

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
    if (!task.repeats || tries === mostTries || delayMs > longestDelayMs) return revocation;
    const hasWaited = await succeeds(target.connection.time.sleep(delayMs, context.signal));
    if (!hasWaited) return revocation;
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
    return await db.withDestructiveCall(context.store.locks, context, async () => {
      const intent = await withinQuota(context, task, ready, async () =>
        db.beginRevocation(context.store.sql, {
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
        notNow(pause ?? 'an earlier attempt is unsettled; wait five minutes, run keywarden sync keys, then try again'),
      );
    });
  });
}

/** R3: commits an intent within the quota, under its lock. Judges again first: another scope may have used the quota up meanwhile. */
async function withinQuota<T>(
  context: Context,
  { judge, judgeAgain = judge }: GuardedRevocation,
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
  const pause = await db.readPause(store.db);
  if (pause === null) return null;
  return `paused by ${pause.pausedBy} since ${pause.pausedAt}${pause.reason === null ? '' : ` (${pause.reason})`}; run keywarden resume to end the pause`;
}

/** Returns a connection that has listed the key's scope. */
async function findTarget(
  { store }: Context,
  { key, connections, refused }: GuardedRevocation,
): Promise<Target | undefined> {
  const controlPlane = controlPlaneOf(key.scope);
  const scope = key.scope.slice(controlPlane.length + 1);
  for (const name of await db.listObservers(store.db, { controlPlane, scope })) {
    const connection = connections.find((each) => each.name === name && each.controlPlane === controlPlane);
    if (connection !== undefined && !refused.has(name)) return { connection, scope: parseScope(scope) };
  }
  return undefined;
}

/** Lists the key's scope and judges the key now. Returns why it must stay, or the evidence. */
async function rejudge(
  context: Context,
  { key, refused, judge, membersListedMs }: GuardedRevocation,
  { connection, scope }: Target,
): Promise<Skip | Ready> {
  let listing: Awaited<ReturnType<typeof listScope>>;
  try {
    listing = await listScope(context, connection, { scope, run: null });
  } catch (error) {
    if (db.isRefusedRow(error)) return notNow(`the store cannot hold a row of its listing (${codeOf(error)})`);
    if (!(error instanceof ControlPlaneError || error instanceof UserError)) throw error;
    if (error instanceof ControlPlaneError && error.code === 'unauthenticated') refused.add(connection.name);
    return notNow(`its scope could not be listed again: ${error.message}`);
  }
  if (listing.whySuspect !== null) return notNow(`its listing is suspect: ${listing.whySuspect}`);
  if (listing.number === null) return notNow('another process has listed its scope in the meantime; try again');
  const listed = listing.keys.find((each) => each.id === key.id);
  if (listed === undefined) return { why: 'it is no longer listed', isFinal: true };
  const scopeReference = { controlPlane: connection.controlPlane, scope: scopeName(scope) };
  const listedKey: Listed = { connection, scopeReference, key: listed };
  let judgedMs = connection.time.now();
  let judged = await judge(listedKey);
  if ('policySha256' in judged && judged.restsOnMembers && scope.kind === 'organization') {
    if (!(await listMembersAgain(context, connection, { organizationId: scope.organizationId, membersListedMs })))
      return notNow('the members of its organization could not be listed again');
    judgedMs = connection.time.now();
    judged = await judge(listedKey);
  }
  return 'why' in judged ? judged : { ...judged, listing: listing.number, listed: listedKey, judgedMs };
}

/** In ms: members whose listing in this run is older than this are listed again. */
const membersAgeMs = 60_000;

/** Returns whether the members of an organization are known as of now. */
async function listMembersAgain(
  context: Context,
  connection: Connection,
  { organizationId, membersListedMs }: { organizationId: string; membersListedMs: Map<string, number> },
): Promise<boolean> {
  const organization = `${connection.controlPlane}/${organizationId}`;
  const listedMs = membersListedMs.get(organization);
  if (listedMs !== undefined && Math.abs(connection.time.now() - listedMs) < membersAgeMs) return true;
  const beganMs = connection.time.now();
  try {
    if (!(await syncMembers(context, { connection, organizationId, counts: {} }))) return false;
  } catch (error) {
    if (error instanceof ControlPlaneError) return false;
    throw error;
  }
  membersListedMs.set(organization, beganMs);
  return true;
}
