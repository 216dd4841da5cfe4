import type { ScopeFacts } from '@keywarden/core/policy';
import { currentMint, type RotationFacts, type SinkAnswer, wantsSink } from '@keywarden/core/rotation';
import { readRotationFacts, type StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { ownUsers } from './settings.ts';
import { askSink, sinkOf } from './sink-of.ts';

/** Returns the facts that decide a rotation: the last listing and, where it matters, the sink's answer. */
export async function factsOf(
  context: Context,
  rotation: StoredRotation,
  { scopes, connections }: { scopes: ScopeFacts[]; connections: Connection[] },
): Promise<RotationFacts> {
  const scope = scopes.find((each) => each.scope === rotation.key.scopeKey);
  const users = ownUsers(rotation.sink, connections).map(({ name }) => name);
  const known = await readRotationFacts(context.store, rotation, users);
  const sink = wantsSink(rotation) && !known.mayBeOnItsWay ? await askOnce(context, rotation, connections) : null;
  return { nowMs: scope?.nowMs ?? null, hourPriorListedAt: scope?.hourPriorListedAt ?? null, ...known, sink };
}

/** Returns the sink's answer. Null if the sink does not exist, or if the process is about to end: another pass asks. */
async function askOnce(
  context: Context,
  rotation: StoredRotation,
  connections: Connection[],
): Promise<SinkAnswer | null> {
  const { keyId, sinkPath } = currentMint(rotation) ?? {};
  const sink = await sinkOf(context, rotation, connections);
  if (keyId == null || 'whyNot' in sink) return null;
  const answer = await askSink(sink, { sinkPath, keyId, signal: context.signal });
  return context.signal.aborted ? null : answer;
}
