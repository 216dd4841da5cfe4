import { ControlPlaneError } from '@keywarden/core/client';
import { busyCodes } from '@keywarden/core/rotation';
import { secondOf, toMs } from '@keywarden/core/values';
import { hasIntent, recordOutcome } from '@keywarden/db/daemon';
import { describeError, UserError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { isProjectScope } from '../sync/scopes.ts';
import { callUpstream, type Ended, findEnded, NotSent } from './call-upstream.ts';
import { markCall } from './high-water-mark.ts';
import { type GuardedRevocation, type Ready, type Revocation, skipped, type Target } from './revocation-task.ts';

// One call that revokes a key, after its intent. Only guarded-revocation.ts makes it.

/** In ms: a key that was judged more recently than this is not judged again before the call. */
const freshMs = 1000;
/** In ms: a listing that is older than this when the call gets its permit is no longer current evidence. */
const oldestMs = 60_000;

/** R1: throws if the key may no longer be revoked, because the store and the limits may have delayed the call since it was judged. */
async function assertStillJudged(
  { judge, judgeAgain = judge }: GuardedRevocation,
  ready: Ready,
  intent: string,
): Promise<void> {
  const { listed } = ready;
  if (currentAgeMs(ready) <= freshMs) return;
  const again = await judgeAgain({ ...listed, scopeReference: { ...listed.scopeReference, exceptIntent: intent } });
  if ('why' in again) throw new NotSent(again.why, { isOld: false });
  // The store may have delayed this judgement too, or the process was suspended meanwhile.
  currentAgeMs(ready);
}

/** Returns how long ago the key was judged, in ms; a clock that was set back meanwhile counts as age. Throws if its listing is no longer current evidence. */
function currentAgeMs({ listed, judgedMs }: Ready): number {
  const ageMs = Math.abs(listed.connection.time.now() - judgedMs);
  if (ageMs <= oldestMs) return ageMs;
  throw new NotSent(`its permit came ${Math.round(ageMs / 1000)} s after it was judged`, { isOld: true });
}

/** Makes the call of a committed intent, and commits its outcome. */
export async function callAndRecord(
  context: Context,
  task: GuardedRevocation,
  { connection, scope, intent, ready }: Target & { intent: string; ready: Ready },
): Promise<Revocation> {
  const { store, signal } = context;
  const { key, refused } = task;
  const beforeSend = async () => {
    await markCall(context);
    // R4: after a failover the intent may be lost before the call.
    if (!(await hasIntent(store.db, intent)))
      throw new UserError(
        'store',
        'The store has lost the intent of a revocation before its call, which was not sent; check what else it lacks.',
      );
    const why = await task.whyStop();
    if (why !== null) throw new NotSent(why, { isOld: false });
    await assertStillJudged(task, ready, intent);
  };
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
    return { outcome: 'failed', why: error.message, usedInFlight: false, isFinal: !error.canRetry, ...busy };
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

/** Returns whether an answer shows a use that the evidence did not have. An answer may show more digits of the same time, so uses within one second are one. */
function isLater(answered: string | null, judged: string | null): boolean {
  if (answered === null || judged === null) return answered !== null;
  return toMs(`${secondOf(answered)}Z`) > toMs(judged);
}

const unknown = (why: string): Revocation => ({ outcome: 'unknown', why, usedInFlight: false, isFinal: true });
