import type { SinkAnswer } from '@keywarden/core/rotation';
import { moveRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf } from '../sync/organizations.ts';
import type { Delivered, OpenSink } from './sinks/sink.ts';
import { stall } from './stall.ts';

/** A secret that did not get there is tried once more: afterwards nobody has it. */
const mostTries = 2;

/** Gives a secret to its sink, and records what came of it; answers with why it is not there, or null. */
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
  let delivered: Delivered = { isDelivered: false, why: 'it was not tried', mayHave: false };
  for (let tries = 0; tries < mostTries && !delivered.isDelivered; tries += 1)
    delivered = await sink.deliver(secret, mint.keyId, context.signal);
  const at = presentOf(minter);
  if (delivered.isDelivered) {
    await recordAnswer(context, rotation, { answer: 'has', at, attempt: mint.attempt, place: sink.place, why: null });
    return null;
  }
  const answer = delivered.mayHave ? await sink.ask(mint.keyId, context.signal) : 'lacks';
  await recordAnswer(context, rotation, { answer, at, attempt: mint.attempt, place: sink.place, why: delivered.why });
  return delivered.why;
}

/**
 * What a sink has decides what becomes of a successor: delivered; or lost, and an orphan; or nobody can tell, and both keys stay until it is
 * seen in use or a person has looked.
 */
export async function recordAnswer(
  context: Context,
  rotation: StoredRotation,
  {
    answer,
    at,
    attempt,
    place,
    why,
  }: { answer: SinkAnswer; at: string; attempt: number; place: string; why: string | null },
): Promise<void> {
  const { sql } = context.store;
  switch (answer) {
    case 'has':
      await moveRotation(sql, rotation, {
        to: 'delivered',
        at,
        mint: { attempt, fate: 'delivered', deliveredAt: at, place },
      });
      return;
    case 'lacks': {
      const reason = `its secret did not reach ${place}${why === null ? '' : `: ${why}`}`;
      await moveRotation(sql, rotation, { to: 'orphaned', why: reason, at, mint: { attempt, fate: 'lost', place } });
      return;
    }
    case 'unknown': {
      const reason = `nobody can tell whether ${place} has the secret of its successor${why === null ? '' : `: ${why}`}`;
      const mint = { attempt, fate: 'unclear', deliveredAt: at, place } as const;
      await stall(context, rotation, { why: reason, at, mint });
      return;
    }
    default:
      answer satisfies never;
  }
}
