import * as store from '@keywarden/db/report';
import { type Logger, within } from '@keywarden/runtime';
import { LRUCache } from 'lru-cache';

/** Returns the values that a filter suggests to a caller; none for a filter without suggestions. */
export type Suggestions = (filter: string, organizations: string[] | null) => Promise<store.Suggestion[]>;

/** The longest that a page waits for suggestions, in ms. */
const longestWaitMs = 5000;

/** Creates the suggestions of filters. They are read at most once a minute for the same organizations. A page works without them. */
export function createSuggestions(reader: store.Reader, log: Logger): Suggestions {
  const cache = new LRUCache<
    string,
    store.Suggestion[],
    { filter: store.SuggestedFilter; organizations: string[] | null }
  >({
    max: 300,
    ttl: 60_000,
    fetchMethod: async (_key, _stale, { context: { filter, organizations } }) =>
      await store.readSuggestions(reader, filter, organizations),
  });
  return async (name, organizations) => {
    const filter = store.suggestedFilters.find((each) => each === name);
    if (filter === undefined) return [];
    try {
      const read = cache.forceFetch(JSON.stringify([filter, organizations]), { context: { filter, organizations } });
      return await within(longestWaitMs, read, []);
    } catch (err) {
      log.warn({ err, filter }, 'the suggestions of a filter cannot be read');
      return [];
    }
  };
}
