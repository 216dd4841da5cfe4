import { copy, type Distortion, type Exchange, type Forward, type Row } from './exchange.ts';

// What stands between: caches that keep answers, replicas that lag, and identities that come again.

interface Kept {
  text: string;
  status: number;
  headers: Headers;
  atMs: number;
}

/** Everything that origins have answered to reads, by address, for caches and replicas. */
export interface Memory {
  remember: (exchange: Exchange, response: Response) => Promise<Response>;
  /** Asks everything again that was asked of late: from then on replicas that lag show that. */
  refresh: (forward: (url: URL, init: RequestInit | undefined) => Promise<Response>, nowMs: number) => Promise<void>;
  cache: Distortion;
  replica: Distortion;
}

const mostReplicated = 40;
/** A replica is never further behind than this, in ms: nothing in its answers shows that it lags. */
export const mostLagMs = 300_000;

export function createMemory(): Memory {
  const kept = new Map<string, Kept>();
  const asked = new Map<string, RequestInit | undefined>();
  const replicated = new Map<string, Kept>();
  const keep = async (into: Map<string, Kept>, key: string, response: Response, atMs: number) => {
    const text = await response.text();
    const { status, headers } = response;
    if (response.ok) into.set(key, { text, status, headers: new Headers(headers), atMs });
    return copy(response, text);
  };
  return {
    async remember({ method, url, init, nowMs }, response) {
      if (method !== 'GET') return response;
      asked.delete(url.href);
      // A caller's signal may have ended by the time it is asked again.
      asked.set(url.href, { ...init, signal: null });
      return await keep(kept, url.href, response, nowMs);
    },
    async refresh(forward, nowMs) {
      replicated.clear();
      for (const [href, init] of [...asked].slice(-mostReplicated))
        await keep(replicated, href, await forward(new URL(href), init), nowMs);
    },
    cache: async (exchange: Exchange, forward: Forward) => {
      const old = kept.get(exchange.url.href);
      const ageMs = old === undefined ? 0 : exchange.nowMs - old.atMs;
      if (old === undefined || ageMs < 60_000) return await forward();
      const { random } = exchange;
      // Honest in one way at least: by its Age, its Date, or both.
      const how = random.pick(['age', 'date', 'both']);
      const age = how === 'date' ? {} : { age: String(Math.floor(ageMs / 1000)) };
      const date = how === 'age' ? { date: new Date(exchange.nowMs).toUTCString() } : {};
      return copy(new Response(null, old), old.text, { ...age, ...date });
    },
    replica: async (exchange: Exchange, forward: Forward) => {
      const old = replicated.get(exchange.url.href);
      if (old === undefined || exchange.nowMs - old.atMs > mostLagMs || exchange.random.chance(0.5))
        return await forward();
      return copy(new Response(null, old), old.text, { date: new Date(exchange.nowMs).toUTCString() });
    },
  };
}

/**
 * New keys that others made show the ids of keys that are gone from their list. Lists and revocations agree about it, as those of a service would
 * that counts anew after a restore.
 */
export function createReusedIds(): Distortion {
  const shown = new Map<string, string>(); // true id to shown id
  const places = new Map<string, { seen: Set<string>; live: Set<string> }>();
  const ownMints = new Set<string>();
  const truthOf = (id: string) => [...shown].find(([, alias]) => alias === id)?.[0] ?? id;
  const show = (row: Row): Row => ({ ...row, id: Number(shown.get(String(row.id)) ?? row.id) });
  const reuse = (path: string, ids: string[], random: Exchange['random']) => {
    const place = places.get(path) ?? { seen: new Set(ids), live: new Set(ids) };
    places.set(path, place);
    const taken = new Set([...shown.values(), ...ids]);
    // What another distortion has made of an id is none that a key had.
    const free = [...place.seen].filter((id) => /^\d+$/.test(id) && !taken.has(id) && !place.live.has(id));
    for (const id of ids) {
      const alias = place.seen.has(id) || ownMints.has(id) || !random.chance(0.7) ? undefined : free.pop();
      if (alias !== undefined) shown.set(id, alias);
      place.seen.add(id);
    }
    place.live = new Set(ids);
  };
  return async ({ method, url, random }, forward) => {
    if (!url.pathname.includes('/api_keys')) return await forward();
    const target = new URL(url);
    if (method === 'DELETE') target.pathname = url.pathname.replace(/[^/]+$/, (id) => truthOf(id));
    const response = await forward({ url: target });
    const text = await response.text();
    if (!response.ok) return copy(response, text);
    const json = JSON.parse(text) as Row | Row[];
    if (method === 'POST') ownMints.add(String((json as Row).id));
    if (!Array.isArray(json)) return copy(response, method === 'DELETE' ? JSON.stringify(show(json)) : text);
    reuse(
      url.pathname,
      json.map(({ id }) => String(id)),
      random,
    );
    return copy(response, JSON.stringify(json.map(show)));
  };
}
