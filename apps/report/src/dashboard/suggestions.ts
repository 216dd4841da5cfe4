import { type Reader, readSuggestions, type Suggestions } from '@keywarden/db/report';
import { LRUCache } from 'lru-cache';

/** Returns the values that filters suggest to a caller, read at most once a minute for the same organizations. */
export function createSuggestions(reader: Reader): (organizations: string[] | null) => Promise<Suggestions> {
  const cache = new LRUCache<string, Suggestions, string[] | null>({
    max: 100,
    ttl: 60_000,
    fetchMethod: async (_key, _stale, { context }) => await readSuggestions(reader, context),
  });
  return async (organizations) => await cache.forceFetch(JSON.stringify(organizations), { context: organizations });
}
