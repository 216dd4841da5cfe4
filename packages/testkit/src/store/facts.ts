import { readFacts } from '@keywarden/db/daemon';
import type { Store } from '@keywarden/db/store';

/** Reads the facts of all keys at a time, RFC 3339. By default evidence is a day old at most, as in evidence packs. */
export async function readFactsAt(
  store: Pick<Store, 'db' | 'sql'>,
  at: string,
  {
    maxEvidenceAgeMs = 86_400_000,
    configured = [],
  }: Partial<Pick<Parameters<typeof readFacts>[1], 'maxEvidenceAgeMs' | 'configured'>> = {},
) {
  return await readFacts(store, {
    nowMs: () => Date.parse(at),
    ourNowMs: Date.now(),
    maxEvidenceAgeMs,
    otherKinds: [],
    channels: [],
    policySha256: '',
    addressesSinceMs: null,
    needsProjects: false,
    configured,
  });
}
