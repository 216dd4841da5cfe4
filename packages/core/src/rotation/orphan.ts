import type { KeyFacts } from '../policy/index.ts';
import { toMs } from '../values/time.ts';
import { type MintIntent, type SinkAnswer } from './rotation.ts';

/** No call takes longer from the listing before it to what it makes. */
const longestCallMs = 3_600_000;

/**
 * T2: why a live key that bears the name of an intent of ours, and that nobody has the secret of as far as we know, must not be revoked as an
 * orphan; null if it may. It was never used (but by us, until `ownUseUntil`), we made it right after the intent, no listing before had shown it, and no
 * sink has it.
 */
export function whyNoOrphan(
  intent: Pick<MintIntent, 'name' | 'creatorId' | 'listedAt' | 'keyId'>,
  key: Pick<KeyFacts, 'id' | 'name' | 'creatorId' | 'createdAt' | 'firstSeenAt' | 'use'>,
  { sink, ownUseUntil = null }: { sink: SinkAnswer; ownUseUntil?: string | null },
): string | null {
  if (intent.keyId !== null && intent.keyId !== key.id) return 'its intent was answered with another key';
  if (key.name !== intent.name) return 'it bears another name';
  if (key.creatorId !== intent.creatorId) return 'somebody else has created it';
  if (!(toMs(key.createdAt) >= toMs(intent.listedAt))) return 'it is older than our intent to mint it';
  if (toMs(key.createdAt) > toMs(intent.listedAt) + longestCallMs)
    return 'it was made long after our intent to mint it';
  // The name was made after that listing: one that shows it in the same second came later.
  if (!(toMs(key.firstSeenAt) >= toMs(intent.listedAt))) return 'a listing before our intent to mint it shows it';
  const isOurs = key.use.state === 'used' && ownUseUntil !== null && toMs(key.use.at) <= toMs(ownUseUntil);
  if (key.use.state !== 'never' && !isOurs) return 'it was used';
  if (sink === 'has') return 'its sink has it';
  return sink === 'lacks' ? null : 'nobody can tell whether its sink has it';
}
