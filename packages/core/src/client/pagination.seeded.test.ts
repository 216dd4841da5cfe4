import { sized } from '@keywarden/testkit';
import { answering, clientFixture, failure } from '@keywarden/testkit/client/fixture';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { collect, followPages, items, type Page } from './pagination.ts';

/** Any list that a server may return: pages of rows, each with any cursor or none. Some pages are empty, and some cursors repeat. */
const anyPages = fc.array(
  fc.record({
    rows: fc.array(fc.nat(1000), { maxLength: 5 }),
    cursor: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '')),
  }),
  { minLength: 1, maxLength: 8 },
);

test('for any pages of a server, each row of each page is yielded once, and the list ends', async () => {
  await fc.assert(
    fc.asyncProperty(anyPages, async (pages) => {
      const answered: number[] = [];
      let asked = 0;
      const fetchPage = async (): Promise<Page<number>> => {
        const page = pages[asked % pages.length] ?? { rows: [], cursor: null };
        asked += 1;
        answered.push(...page.rows);
        return { items: page.rows, cursor: page.cursor || null, dateMs: null, ageMs: 0 };
      };
      const yielded: number[] = [];
      const read = async () => {
        for await (const row of items(followPages(fetchPage))) yielded.push(row);
        return 'to its end';
      };
      expect(await read().catch(String)).toMatch(/to its end|repeats an earlier cursor/);
      expect(yielded).toEqual(answered);
      expect(asked).toBeLessThan(20);
    }),
    { numRuns: sized(500) },
  );
});

/** A server's list, newest first, that grows at its head while it is read. Its cursor is the time of a page's last row. */
const anyList = fc.record({
  start: fc.uniqueArray(fc.integer({ min: 0, max: 500 }), { maxLength: 60 }),
  inserts: fc.array(fc.array(fc.constant(null), { maxLength: 4 }), { maxLength: 40 }),
  limit: fc.integer({ min: 1, max: 9 }),
  extra: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
  status: fc.oneof(fc.constantFrom('running', 'finished'), fc.string()),
});

test('while rows arrive at the head, with unknown fields and statuses, every earlier row is yielded exactly once', async () => {
  await fc.assert(
    fc.asyncProperty(anyList, async ({ start, inserts, limit, extra, status }) => {
      const list = start.toSorted((a, b) => b - a);
      const before = [...list];
      let next = 1000;
      let asked = 0;
      const baseUrl = 'http://127.0.0.1:1/api/v2';
      const fake: typeof fetch = async (request) => {
        const { url } = new Request(request);
        const cursor = new URL(url).searchParams.get('cursor');
        const rows = list.filter((at) => cursor === null || at < Number(cursor)).slice(0, limit);
        for (const _ of inserts[asked] ?? []) list.unshift((next += 1));
        asked += 1;
        const operations = rows.map((at) => ({ ...extra, ...operationAt(at), status }));
        const pagination = rows.length === limit ? { pagination: { cursor: String(rows.at(-1)) } } : {};
        return Response.json({ operations, ...pagination });
      };
      const { createClient } = await import('./client.ts');
      const client = createClient({ baseUrl, apiKey: 'napi_x', fetch: fake });
      const seen = await collect(client.operations('p', { limit }));
      expect(seen.items.map(({ totalDurationMs }) => totalDurationMs)).toEqual(before);
      expect(seen.items.every((operation) => operation.status === status)).toBe(true);
    }),
    { numRuns: sized(200) },
  );
});

function operationAt(at: number) {
  return {
    id: '0b6c0c4e-8e5a-4b5e-a1b1-1f0c7f0e0001',
    project_id: 'p',
    action: 'start_compute',
    failures_count: 0,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    total_duration_ms: at,
  };
}

test('a list with a pagination is followed under either name of its next page; a list without one is one page', async () => {
  const { client } = await clientFixture();
  const key = (id: number) => ({
    id,
    name: 'k',
    created_at: '2026-01-01T00:00:00Z',
    created_by: { id: 'u', name: 'n' },
  });
  const answers: Record<string, unknown> = {
    '/api/v2/api_keys': [key(1)],
    '/api/v2/organizations/a/api_keys': { api_keys: [key(1)], pagination: { next: 'x' } },
    '/api/v2/organizations/a/api_keys?cursor=x': { keys: [key(2)] },
  };
  const baseUrl = await answering((request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[request.url ?? ''])),
  );
  const ids = async (pages: AsyncIterable<Page<{ id: string }>>) => (await collect(pages)).items.map(({ id }) => id);
  expect(await ids(client({ baseUrl }).personalKeys())).toEqual(['1']);
  expect(await ids(client({ baseUrl }).organizationKeys('a'))).toEqual(['1', '2']);
});

test('a repeated cursor is an error and not an endless loop, also when two cursors alternate', async () => {
  const { client } = await clientFixture();
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    const member = { member: { id: '1', user_id: 'u', role: 'admin' }, user: { email: 'a@b.example' } };
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ members: [member], pagination: { next: asked % 2 === 0 ? 'x' : 'y' } }));
  });
  const error = await failure(collect(client({ baseUrl }).members('acme')));
  expect(error.code).toBe('invalid_response');
  expect(asked).toBe(3);
});

test('an empty page that repeats its own cursor ends a list if a second response shows the same', async () => {
  const read = async (...answers: [rows: number[], cursor: string | null][]) => {
    const queue = answers.values();
    const fetchPage = async (): Promise<Page<number>> => {
      const [rows, cursor] = queue.next().value ?? [[], null];
      return { items: rows, cursor, dateMs: null, ageMs: 0 };
    };
    return (await collect(followPages(fetchPage))).items;
  };
  expect(await read([[1, 2], 'a'], [[], 'a'], [[], 'a'], [[9], null])).toEqual([1, 2]);
  expect(await read([[1, 2], 'a'], [[], 'a'], [[3], 'b'], [[4], null])).toEqual([1, 2, 3, 4]);
});

test.each([
  ['of honest pages the first', [1000, 2000, 3000], 1000],
  ['that of a later page that a cache kept', [3000, 1000, 4000], 1000],
  ['none where the first has none', [null, 1000], null],
  ['none where a later page has none', [3000, null, 4000], null],
])('the Date of a list with several pages is the earliest: %s', async (_which, dates, expected) => {
  const pages = dates.map((dateMs, index) => ({
    items: [index],
    cursor: index + 1 < dates.length ? `${index}` : null,
    dateMs,
    ageMs: 0,
  }));
  const queue = pages.values();
  const listed = await collect(followPages(async () => queue.next().value as Page<number>));
  expect([listed.items.length, listed.dateMs]).toEqual([dates.length, expected]);
});

test('a list that shows the same rows under ever new cursors is an error and not an endless loop', async () => {
  let pages = 0;
  const fetchPage = async (): Promise<Page<{ id: string }>> => {
    pages += 1;
    return { items: [{ id: String(pages % 3) }], cursor: `cursor ${pages}`, dateMs: null, ageMs: 0 };
  };
  await expect(collect(followPages(fetchPage))).rejects.toMatchObject({
    code: 'invalid_response',
    message: 'a list shows the same rows again and again',
  });
  expect(pages).toBeLessThan(1100);
});

test('a list with hundreds of thousands of unreadable rows is read to its end', async () => {
  const rejected = Array.from({ length: 300_000 }, (_, index) => ({ index, id: null, why: 'odd', record: null }));
  const fetchPage = async (): Promise<Page<unknown>> => ({ items: [], rejected, cursor: null, dateMs: null, ageMs: 0 });
  expect((await collect(followPages(fetchPage))).rejected).toHaveLength(300_000);
});

test('an unreadable row has an id and a time only if these can be read: the id of a key is an int64, and any other a text', async () => {
  const { client } = await clientFixture();
  const whole = { name: 'a', created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' };
  const baseUrl = await answering((_request, response) => {
    const rows = [
      { ...whole, id: 7 },
      { id: 7, created_at: whole.created_at },
      { id: 'p', created_at: 'soon' },
      {},
      null,
    ];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ projects: rows, keys: rows }));
  });
  const read = async (pages: AsyncIterable<Page<unknown>>) =>
    (await collect(pages)).rejected.map(({ id, createdAt }) => [id, createdAt]);
  const at = whole.created_at;
  const others = [
    [null, undefined],
    [null, undefined],
  ];
  expect(await read(client({ baseUrl }).projects('a'))).toEqual([[null, at], [null, at], ['p', undefined], ...others]);
  expect(await read(client({ baseUrl }).personalKeys())).toEqual([['7', at], [null, undefined], ...others]);
});
