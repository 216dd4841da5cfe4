import type { SinkAnswer } from '@keywarden/core/rotation';
import { advanceRotation, isHeld, type StoredRotation } from '@keywarden/db/daemon';
import { codeOf } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import type { Delivered, OpenSink } from './sinks/sink.ts';

/** A delivery that fails is tried once more, because the secret is lost afterwards. */
const mostTries = 2;

/** Delivers a secret to its sink and records the result. Returns why the sink lacks it, or null. If stopped, the next pass asks the sink. */
export async function deliver(
  context: Context,
  rotation: StoredRotation,
  { sink, minter, keyId, secret }: { sink: OpenSink; minter: Connection; keyId: string; secret: string },
): Promise<string | null> {
  const { store, signal, log } = context;
  const guard = { signal, whyNotWrite: async () => await whyNotWrite(context) };
  let delivered: Delivered = { isDelivered: false, why: 'it was not tried', mayHave: false };
  let mayHave = false;
  for (let tries = 0; tries < mostTries && !delivered.isDelivered; tries += 1) {
    signal.throwIfAborted();
    delivered = await sink.deliver(secret, keyId, guard);
    // What a try may have stored is not undone by a later one that never reached the sink.
    mayHave ||= !delivered.isDelivered && delivered.mayHave;
  }
  const answer = delivered.isDelivered ? 'has' : await askAgain(sink, { mayHave, keyId, signal });
  signal.throwIfAborted();
  const why = delivered.isDelivered ? null : delivered.why;
  const ended = { event: 'delivery_ended', answer, why, at: controlPlaneNow(minter) } as const;
  if ((await advanceRotation(store.sql, rotation, ended)) !== undefined) return why;
  log.error({ rotation: rotation.id }, 'another process advanced a rotation while its secret was delivered');
  return 'another process advanced the rotation';
}

/** Returns why the secret must not be written now, or null. A store that fails may answer at the next try. */
async function whyNotWrite({ store, lease }: Context): Promise<string | null> {
  try {
    return (await isHeld(store.sql, lease)) ? null : 'another process has taken over the rotations';
  } catch (error) {
    return `the store failed (${codeOf(error)}) before the secret was written`;
  }
}

/** Returns whether the sink has the secret after a failed delivery. It lacks it for certain only if unreached, or if it confirms that. */
async function askAgain(
  sink: OpenSink,
  { mayHave, keyId, signal }: { mayHave: boolean; keyId: string; signal: AbortSignal },
): Promise<SinkAnswer> {
  if (!mayHave) return 'lacks';
  const answer = await sink.ask(keyId, signal);
  // It is asked again once a delay is no longer possible.
  return answer === 'lacks' && sink.isDelayed ? 'unknown' : answer;
}
