import type { Random } from '@keywarden/sandbox';

/** One request of the client under test to the control plane. */
export interface Exchange {
  method: string;
  url: URL;
  init: RequestInit | undefined;
  /** The control plane's time in ms. */
  nowMs: number;
  /** A random source that depends on the seed and the request only. The order of concurrent requests does not matter. */
  random: Random;
}

export type Forward = (change?: { url?: URL; init?: RequestInit }) => Promise<Response>;

/** One way in which responses differ from the API description. It forwards the request, or responds itself. */
export type Distortion = (exchange: Exchange, forward: Forward) => Promise<Response>;

/** The subject of a request. Each distortion names the topics that it applies to. */
export type Topic =
  | 'identity'
  | 'organizations'
  | 'members'
  | 'keys'
  | 'projects'
  | 'operations'
  | 'operation'
  | 'mint'
  | 'revoke'
  | 'other';

export function topicOf({ method, url: { pathname } }: Pick<Exchange, 'method' | 'url'>): Topic {
  if (method === 'POST') return pathname.endsWith('/api_keys') ? 'mint' : 'other';
  if (method === 'DELETE') return /\/api_keys\/[^/]+$/.test(pathname) ? 'revoke' : 'other';
  if (method !== 'GET') return 'other';
  return lists.find(([, pattern]) => pattern.test(pathname))?.[0] ?? 'other';
}

const lists: [Topic, RegExp][] = [
  ['keys', /\/api_keys$/],
  ['members', /\/members$/],
  ['operations', /\/operations$/],
  ['operation', /\/operations\/[^/]+$/],
  ['projects', /\/projects$/],
  ['organizations', /\/organizations(\/[^/]+)?$/],
  ['identity', /\/auth$/],
];

export type Row = Record<string, unknown>;
/** A list in a response; `cursor` is null if the response has none. */
export interface List {
  rows: Row[];
  cursor: string | null;
}

/** Changes the rows or the cursor of a list response. Other responses pass unchanged. */
export async function changeList(
  response: Response,
  change: (list: List) => Partial<List> | Promise<Partial<List>>,
): Promise<Response> {
  if (!response.ok) return response;
  const text = await response.text();
  const json = parse(text);
  const name = Array.isArray(json) ? null : listName(json);
  if (name === undefined) return copy(response, text);
  const rows = (name === null ? json : (json as Row)[name]) as Row[];
  const pagination = name === null ? undefined : (json as { pagination?: Row }).pagination;
  const cursor = pagination?.cursor ?? pagination?.next ?? null;
  const list: List = { rows, cursor: typeof cursor === 'string' ? cursor : null };
  const changed = { ...list, ...(await change(list)) };
  if (name === null) return copy(response, JSON.stringify(changed.rows));
  const { pagination: _, ...rest } = json as Row;
  const page = changed.cursor === null ? {} : { pagination: { ...pagination, cursor: changed.cursor } };
  return copy(response, JSON.stringify({ ...rest, [name]: changed.rows, ...page }));
}

/** Changes each record of a response: the rows of a list, or the single record. */
export async function changeRecords(response: Response, change: (row: Row) => Row): Promise<Response> {
  if (!response.ok) return response;
  const text = await response.text();
  const json = parse(text);
  if (Array.isArray(json)) return copy(response, JSON.stringify(json.map(change)));
  const name = listName(json);
  if (name !== undefined) {
    const rows = (json as Row)[name] as Row[];
    return copy(response, JSON.stringify({ ...(json as Row), [name]: rows.map(change) }));
  }
  const { operation } = (json ?? {}) as { operation?: Row };
  return operation === undefined
    ? copy(response, text)
    : copy(response, JSON.stringify({ operation: change(operation) }));
}

function listName(json: unknown): string | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  return ['operations', 'organizations', 'members', 'projects', 'api_keys'].find((name) =>
    Array.isArray((json as Row)[name]),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a response that is not JSON has no list
  }
}

/** Returns the same response with another body. */
export function copy(
  { status, headers }: Response,
  body: string | null,
  change: Record<string, string> = {},
): Response {
  const own = new Headers(headers);
  own.delete('content-length');
  for (const [name, value] of Object.entries(change)) own.set(name, value);
  return new Response(body, { status, headers: own });
}
