import type { ScopeFacts } from '@keywarden/core/policy';
import { currentMint, type RotationFacts, type SinkAnswer, wantsSink } from '@keywarden/core/rotation';
import { readRotationFacts, type StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { ownUsers } from './settings.ts';
import { sinkOf } from './sink-of.ts';

/** What a rotation is decided on, by what was listed last and, where that decides, by what its sink says. */
export async function factsOf(
  context: Context,
  rotation: StoredRotation,
  { scopes, connections }: { scopes: ScopeFacts[]; connections: Connection[] },
): Promise<RotationFacts> {
  const scope = scopes.find((each) => each.scope === rotation.key.factScope);
  const users = ownUsers(rotation.sink, connections).map(({ name }) => name);
  const known = await readRotationFacts(context.store, rotation, users);
  const sink = wantsSink(rotation) && !known.mayBeOnItsWay ? await askSink(context, rotation, connections) : null;
  return { nowMs: scope?.nowMs ?? null, hourPriorListedAt: scope?.hourPriorListedAt ?? null, ...known, sink };
}

/** Null while there is no such sink, or the process is about to end: another pass asks. */
async function askSink(
  context: Context,
  rotation: StoredRotation,
  connections: Connection[],
): Promise<SinkAnswer | null> {
  const keyId = currentMint(rotation)?.keyId;
  const sink = await sinkOf(context, rotation, connections);
  if (keyId == null || 'whyNot' in sink) return null;
  const answer = await sink.ask(keyId, context.signal);
  return context.signal.aborted ? null : answer;
}
