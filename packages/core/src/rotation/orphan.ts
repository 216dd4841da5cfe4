import type { KeyFacts } from '../policy/index.ts';
import { toMs } from '../wire/index.ts';
import type { MintIntent } from './rotation.ts';

/** Whether a sink has a key, as far as it can tell. */
export type SinkAnswer = 'has' | 'lacks' | 'unknown';

/**
 * T2: why a live key that bears the name of an intent of ours, and that nobody has the secret of as far as we know, must not be revoked as an
 * orphan; null if it may. It was never used, we made it after the intent, no listing before had shown it, and no sink has it.
 */
export function whyNoOrphan(
  intent: Pick<MintIntent, 'name' | 'creatorId' | 'listedAt'>,
  key: Pick<KeyFacts, 'name' | 'creatorId' | 'createdAt' | 'firstSeenAt' | 'use'>,
  sink: SinkAnswer,
): string | null {
  if (key.name !== intent.name) return 'it bears another name';
  if (key.creatorId !== intent.creatorId) return 'somebody else has created it';
  if (!(toMs(key.createdAt) >= toMs(intent.listedAt))) return 'it is older than our intent to mint it';
  if (!(toMs(key.firstSeenAt) > toMs(intent.listedAt))) return 'a listing before our intent to mint it shows it';
  if (key.use.state !== 'never') return 'it was used';
  if (sink === 'has') return 'its sink has it';
  return sink === 'lacks' ? null : 'nobody can tell whether its sink has it';
}
