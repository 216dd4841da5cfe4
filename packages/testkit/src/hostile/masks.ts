import { changeList, changeRecords, copy, type Row, topicOf } from './exchange.ts';

// For counter-tests: each mask hides from a client exactly what one of its guards checks, which disables that guard. The harm that follows is what
// the guard prevents.

type Fetch = typeof fetch;
export type Mask = (way: Fetch) => Fetch;

/** Changes the responses to reads of some topics. */
const masked =
  (topics: readonly string[], change: (response: Response, url: URL) => Promise<Response>): Mask =>
  (way) =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const response = await way(input, init);
    const topic = topicOf({ method: init?.method ?? 'GET', url });
    return response.ok && topics.includes(topic) ? await change(response, url) : response;
  };

/** Removes what shows the age of responses. */
export const hideAge = (now: () => number): Mask =>
  masked(['members', 'keys', 'organizations', 'projects', 'operations', 'identity'], async (response) => {
    const fresh = copy(response, await response.text(), { date: new Date(now()).toUTCString() });
    for (const name of ['age', 'x-neon-ret-request-id']) fresh.headers.delete(name);
    return fresh;
  });

/** Removes the cursor of empty pages, so that the list seems to end. */
export const hideCursorsOfEmptyPages: Mask = masked(
  ['members', 'keys', 'organizations', 'projects', 'operations'],
  async (response) => await changeList(response, ({ rows }) => (rows.length === 0 ? { cursor: null } : {})),
);

/** Changes the length of a list that is cut off at a round number of rows. */
export const hideRoundNumbers: Mask = masked(
  ['operations'],
  async (response) =>
    await changeList(response, ({ rows, cursor }) =>
      cursor === null && rows.length >= 100 && rows.length % 50 === 0 ? { rows: rows.slice(0, -3) } : {},
    ),
);

/** Keeps the first creation time and creator of each record id. */
export function hideIdentity(): Mask {
  const first = new Map<unknown, Row>();
  return masked(
    ['keys'],
    async (response) =>
      await changeRecords(response, (row) => {
        const known = first.get(row.id) ?? first.set(row.id, row).get(row.id);
        return { ...row, created_at: known?.created_at, created_by: known?.created_by };
      }),
  );
}

/** Replaces impossible creation times with plausible ones, consistently for each record. */
export function hideImpossibleTimes(topics: readonly string[], plausible: () => string): Mask {
  const changed = new Set<unknown>();
  return masked(
    topics,
    async (response) =>
      await changeRecords(response, (row) => {
        if (!/^20(0[1-9]|1|2[0-6])/.test(String(row.created_at))) changed.add(row.id);
        return changed.has(row.id) ? { ...row, created_at: plausible() } : row;
      }),
  );
}

/** Replaces the project of operation rows with the requested project. */
export const hideProjects: Mask = masked(
  ['operations'],
  async (response, url) =>
    await changeRecords(response, (row) => ({ ...row, project_id: url.pathname.split('/').at(-2) })),
);

/** Repeats the previous response when the same request is repeated. */
export const hideDifferences: Mask = (way) => {
  let last: { href: string; text: string; response: Response } | null = null;
  return async (input, init) => {
    const href = input instanceof Request ? input.url : input.toString();
    if (last?.href === href) return copy(last.response, last.text);
    const response = await way(input, init);
    if (topicOf({ method: init?.method ?? 'GET', url: new URL(href) }) !== 'operations' || !response.ok)
      return response;
    last = { href, text: await response.text(), response };
    return copy(response, last.text);
  };
};

/** Repeats responses to member lists for a time, in ms. */
export function hideChangesOfMembers(now: () => number, forMs: number): Mask {
  const kept = new Map<string, { text: string; response: Response; atMs: number }>();
  return (way) => async (input, init) => {
    const href = input instanceof Request ? input.url : input.toString();
    const known = kept.get(href);
    if (known !== undefined && now() - known.atMs < forMs)
      return copy(known.response, known.text, { date: new Date(now()).toUTCString() });
    const response = await way(input, init);
    if (!new URL(href).pathname.endsWith('/members') || !response.ok) return response;
    const text = await response.text();
    kept.set(href, { text, response, atMs: now() });
    return copy(response, text);
  };
}

/** Longer than the waits that responses request, in ms. */
const longestWaitMs = 310_000;

/** Repeats a revocation below the client when the control plane was too busy for it. */
export const repeatRevocations =
  (sleep: (ms: number) => Promise<void>): Mask =>
  (way) =>
  async (input, init) => {
    for (let tries = 1; ; tries += 1) {
      const response = await way(input, init);
      if (init?.method !== 'DELETE' || ![423, 429, 503].includes(response.status) || tries === 8) return response;
      await sleep(longestWaitMs);
    }
  };
