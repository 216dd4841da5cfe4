import type { ScopeFacts } from '@keywarden/core/policy';
import type { RotationFacts } from '@keywarden/core/rotation';
import { readRotationFacts, type StoredRotation } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { ownConnectionOf } from './who.ts';

/** What a rotation is decided on, by what was listed last. */
export async function factsOf(
  { store }: Pick<Context, 'store'>,
  rotation: StoredRotation,
  scopes: ScopeFacts[],
): Promise<RotationFacts> {
  const scope = scopes.find((each) => each.scope === rotation.key.factScope);
  return {
    nowMs: scope?.nowMs ?? null,
    hourPriorListedAt: scope?.hourPriorListedAt ?? null,
    ...(await readRotationFacts(store, rotation, ownConnectionOf(rotation.sink))),
  };
}
