import { copy, type Distortion, type Exchange, type Forward, type Row } from './exchange.ts';

// Intermediaries: caches that keep responses, replicas that lag, and ids that are reused.

interface Kept {
  text: string;
  status: number;
  headers: Headers;
  atMs: number;
}

/** Every origin response to a read, by address, for caches and replicas. */
export interface Memory {
  remember: (exchange: Exchange, response: Response) => Promise<Response>;
  /** Repeats all recent reads. From then on lagging replicas show these responses. */
  refresh: (forward: (url: URL, init: RequestInit | undefined) => Promise<Response>, nowMs: number) => Promise<void>;
  cache: Distortion;
  replica: Distortion;
}

const mostReplicated = 40;
/** The largest lag of a replica, in ms. Nothing in its responses shows that it lags. */
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
      // A caller's signal may have ended before the request is repeated.
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
      // The response shows its age in at least one way: by Age, Date, or both.
      const how = random.pick(['age', 'date', 'both']);
      const age = how === 'date' ? {} : { age: String(Math.floor(ageMs / 1000)) };
      const date = how === 'age' ? { date: new Date(exchange.nowMs).toUTCString() } : {};
      return copy(new Response(null, old), old.text, { ...age, ...date });
    },
    replica: async (exchange: Exchange, forward: Forward) => {
      const old = replicated.get(exchange.url.href);
      if (old === undefined || exchange.nowMs - old.atMs > mostLagMs || exchange.random.chance(0.5))
        return await forward();
      // A replica answers each request itself.
      const fresh = {
        date: new Date(exchange.nowMs).toUTCString(),
        'x-neon-ret-request-id': exchange.random.uuid(),
      };
      return copy(new Response(null, old), old.text, fresh);
    },
  };
}

/**
 * Returns a distortion in which new keys made by others show the ids of keys that are gone from their list. Lists and revocations agree about these
 * ids, as in a service that restarts its numbering after a restore.
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
    // An id that another distortion changed never belonged to a key.
    const free = [...place.seen].filter((id) => /^\d{1,18}$/.test(id) && !taken.has(id) && !place.live.has(id));
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
