import type { KeyFacts } from '../policy/index.ts';
import { toMs } from '../values/time.ts';
import type { MintIntent, SinkAnswer } from './rotation.ts';

/** The longest time from the listing before a mint call to the key's creation. */
const longestCallMs = 3_600_000;

/**
 * T2: returns why a live key named by one of our intents must not be revoked as an orphan. Returns null if it may. As far as Keywarden has recorded,
 * nothing holds its secret. It must never have been used (except by us, until `ownUseUntil`), and we must have created it right after the intent. No
 * earlier listing may show it, and no sink may have it.
 */
export function whyNoOrphan(
  intent: Pick<MintIntent, 'name' | 'creatorId' | 'listedAt' | 'keyId'>,
  key: Pick<KeyFacts, 'id' | 'name' | 'creatorId' | 'createdAt' | 'firstSeenAt' | 'use'>,
  { sink, ownUseUntil = null }: { sink: SinkAnswer; ownUseUntil?: string | null },
): string | null {
  if (intent.keyId !== null && intent.keyId !== key.id) return 'the response to its intent named another key';
  if (key.name !== intent.name) return 'it has another name';
  if (key.creatorId !== intent.creatorId) return 'someone else created it';
  if (!(toMs(key.createdAt) >= toMs(intent.listedAt))) return 'it is older than our intent to mint it';
  if (toMs(key.createdAt) > toMs(intent.listedAt) + longestCallMs)
    return 'it was created long after our intent to mint it';
  // The intent's name was generated after that listing, so a listing of the same second that shows it came later.
  if (!(toMs(key.firstSeenAt) >= toMs(intent.listedAt))) return 'a listing before our intent to mint it shows it';
  const isOurs = key.use.state === 'used' && ownUseUntil !== null && toMs(key.use.at) <= toMs(ownUseUntil);
  if (key.use.state !== 'never' && !isOurs) return 'it was used';
  if (sink === 'has') return 'its sink has it';
  return sink === 'lacks' ? null : 'it is unknown whether its sink has it';
}
