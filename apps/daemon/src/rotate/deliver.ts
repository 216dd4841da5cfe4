import type { SinkAnswer } from '@keywarden/core/rotation';
import { moveRotation, type StoredRotation, type Transition } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf } from '../sync/organizations.ts';
import type { Delivered, OpenSink } from './sinks/sink.ts';

/** A secret that did not get there is tried once more: afterwards nobody has it. */
const mostTries = 2;

/**
 * Gives a secret to its sink, and records what came of it; answers with why it is not there, or null. A process that is told to stop meanwhile
 * records nothing: the next pass asks the sink.
 */
export async function deliver(
  context: Context,
  rotation: StoredRotation,
  {
    sink,
    minter,
    mint,
    secret,
  }: { sink: OpenSink; minter: Connection; mint: { attempt: number; keyId: string }; secret: string },
): Promise<string | null> {
  const { store, signal, log } = context;
  let delivered: Delivered = { isDelivered: false, why: 'it was not tried', mayHave: false };
  for (let tries = 0; tries < mostTries && !delivered.isDelivered; tries += 1) {
    signal.throwIfAborted();
    delivered = await sink.deliver(secret, mint.keyId, signal);
  }
  const answer = delivered.isDelivered ? 'has' : await askAgain(sink, { delivered, keyId: mint.keyId, signal });
  signal.throwIfAborted();
  const why = delivered.isDelivered ? null : delivered.why;
  const transition = toTransition(answer, { at: presentOf(minter), attempt: mint.attempt, why });
  if (await moveRotation(store.sql, rotation, transition)) return why;
  log.error({ rotation: rotation.id }, 'a rotation moved on elsewhere while its secret was delivered');
  return 'the rotation moved on elsewhere';
}

/** A failure says that nothing was stored, where the sink can say so too, or was never reached. */
async function askAgain(
  sink: OpenSink,
  {
    delivered,
    keyId,
    signal,
  }: { delivered: Extract<Delivered, { isDelivered: false }>; keyId: string; signal: AbortSignal },
): Promise<SinkAnswer> {
  if (!delivered.mayHave) return 'lacks';
  const answer = await sink.ask(keyId, signal);
  // A store that shows late what it was given says so, too: it is asked again when that cannot be any more.
  return answer === 'lacks' && sink.file === null ? 'unknown' : answer;
}

/**
 * What a sink has decides what becomes of a successor: delivered; or lost, and an orphan; or nobody can tell, and both keys stay until the sink
 * says it, the successor is seen in use, or a person has looked.
 */
function toTransition(
  answer: SinkAnswer,
  { at, attempt, why }: { at: string; attempt: number; why: string | null },
): Transition {
  switch (answer) {
    case 'has':
      return { to: 'delivered', at, mint: { attempt, fate: 'delivered', deliveredAt: at } };
    case 'lacks':
      return { to: 'orphaned', why: `its secret did not reach its sink: ${why}`, at, mint: { attempt, fate: 'lost' } };
    case 'unknown': {
      const reason = `nobody can tell whether its sink has the secret of its successor: ${why}`;
      const mint = { attempt, fate: 'unclear', deliveredAt: at } as const;
      return { to: 'stalled', why: reason, at, mint, isIncident: true };
    }
    default:
      return answer satisfies never;
  }
}
