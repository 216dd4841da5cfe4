import { saveOperationPage } from '@keywarden/db/daemon';
import { sized } from '@keywarden/testkit';
import { type Answer, type Fixture, listKeys, makeFixture, operationCount } from '@keywarden/testkit/report/fixture';
import { makeWireKey, makeWireOperation } from '@keywarden/testkit/store/rows';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

/** Follows a list to its end by its Link header, and calls `between` between pages. */
async function follow(
  path: string,
  between: (page: number) => Promise<void> = async () => undefined,
): Promise<string[]> {
  const seen: string[] = [];
  for (let address: string | undefined = path, page = 0; address !== undefined; page += 1) {
    const { status, headers, body }: Answer = await fixture.ask(address);
    expect(status).toBe(200);
    // A link leads to further rows.
    expect(page === 0 || body.items.length > 0).toBe(true);
    seen.push(...body.items.map((item) => String(item.id)));
    const next: string | undefined = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    expect(next === undefined).toBe(body.next_cursor === null);
    if (next !== undefined) await between(page);
    address = next;
  }
  return seen;
}

test.each([1, 3, 7, 25, 1000])(
  'P2: pages of %i show each operation once, including operations of the same instant',
  async (limit) => {
    const seen = await follow(`/v1/operations?limit=${limit}`);
    expect(seen).toHaveLength(operationCount);
    expect(new Set(seen).size).toBe(operationCount);
  },
);

test('P2: a row is neither skipped nor repeated while rows arrive', async () => {
  const [project] = await fixture.store.sql`select number from keywarden.project where id = 'bold-moon'`;
  let made = 1000;
  const add = async (seconds: number[]) => {
    const operations = seconds.map((second) => {
      made += 1;
      return makeWireOperation(made, { createdAt: new Date(Date.UTC(2026, 4, 5) + second * 1000).toISOString() });
    });
    await saveOperationPage(fixture.daemon.sql, { project: String(project?.number), operations });
    return operations.map(({ id }) => id);
  };
  const second = fc.integer({ min: 0, max: 8 });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(second, { minLength: 1, maxLength: 12 }),
      fc.array(fc.array(second, { maxLength: 4 }), { maxLength: 8 }),
      async (limit, before, arriving) => {
        await fixture.store.sql`delete from keywarden.operation where project_number = ${String(project?.number)}`;
        const there = await add(before);
        const seen = await follow(`/v1/operations?project_id=bold-moon&limit=${limit}`, async (page) => {
          await add(arriving[page] ?? []);
        });
        expect(new Set(seen).size).toBe(seen.length);
        expect(there.filter((id) => !seen.includes(id))).toEqual([]);
      },
    ),
    { numRuns: sized(60) },
  );
  await fixture.store.sql`delete from keywarden.operation where project_number = ${String(project?.number)}`;
});

test('a cursor is bound to its list and its filters, and cannot be forged', async () => {
  const { body } = await fixture.ask('/v1/operations?limit=10&action=start_compute');
  expect(body.next_cursor).not.toBeNull();
  const cursor = String(body.next_cursor);
  const status = async (path: string) => (await fixture.ask(path)).status;
  expect(await status(`/v1/operations?limit=5&action=start_compute&cursor=${cursor}`)).toBe(200);
  expect(await status(`/v1/operations?limit=10&cursor=${cursor}`)).toBe(400);
  expect(await status(`/v1/keys?cursor=${cursor}`)).toBe(400);
  const [bound, ...rest] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
  for (const forged of [
    [bound],
    [bound, ...rest.slice(1)],
    [bound, 'x', ...rest.slice(1)],
    [bound, '2026-13-01 00:00:00+00', ...rest.slice(1)],
  ]) {
    const text = Buffer.from(JSON.stringify(forged)).toString('base64url');
    expect(await status(`/v1/operations?limit=10&action=start_compute&cursor=${text}`)).toBe(400);
  }
});

test.each([
  ['/v1/keys?limit=0', 'limit'],
  ['/v1/keys?limit=1001', 'limit'],
  ['/v1/keys?colour=blue', 'colour'],
  ['/v1/keys?kind=huge', 'kind'],
  ['/v1/keys?kind=project&kind=personal', 'kind'],
  ['/v1/keys?idle_for=long', 'idle_for'],
  ['/v1/keys?as_of=2999-01-01T00:00:00Z', 'as_of'],
  ['/v1/keys?q=', 'q'],
  ['/v1/operations?from=yesterday', 'from'],
  ['/v1/findings?key_id=x', 'key_id'],
  ['/v1/runs?kind=all', 'kind'],
  ['/v1/keys?cursor=abc', 'cursor'],
  ['/v1/operations/buckets?from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&size=hour', 'buckets'],
])('%s is rejected, and the error names the invalid parameter', async (path, name) => {
  const { status, body, headers } = await fixture.ask(path);
  expect(status).toBe(400);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({ type: 'about:blank', status: 400, detail: expect.stringContaining(name) });
});

test('a body that is not JSON, or is too long, is rejected with a clear error', async () => {
  const send = async (text: string) => {
    const headers = { authorization: `Bearer ${fixture.tokens.operator}`, 'content-type': 'application/json' };
    return await fixture.app.request('/v1/reviews', { method: 'POST', headers, body: text });
  };
  expect((await send('{')).status).toBe(400);
  const long = await send(JSON.stringify({ title: 'x'.repeat(1_100_000) }));
  expect(long.status).toBe(413);
  expect(await long.json()).toMatchObject({ title: 'Too long' });
});

test.each([
  '/v1/keys?as_of=2026-01-01T00:00:00%2B16:00',
  '/v1/operations?from=2026-01-01T00:00:00-23:59',
  '/v1/revocations?from=0000-01-01T00:00:00Z',
  '/v1/keys?idle_for=99999w',
])('%s, which Postgres does not accept, is rejected, and the error names the parameter', async (path) => {
  const { status, body } = await fixture.ask(path);
  expect([status, body.detail]).toEqual([400, expect.stringMatching(/^(as_of|from|idle_for): /)]);
});

test('a time before 1901 is a time like any other', async () => {
  for (const from of ['0001-01-01T00:00:00Z', '1900-01-01T00:00:00Z'])
    expect((await fixture.ask(`/v1/operations?from=${from}`)).body.items).toHaveLength(operationCount);
});

test('a body of another type, and an invalid form, are rejected', async () => {
  const send = async (path: string, type: string, text: string) => {
    const headers = {
      authorization: `Bearer ${fixture.tokens.operator}`,
      'content-type': type,
      host: 'h',
      origin: 'http://h',
    };
    return (await fixture.app.request(path, { method: 'POST', headers, body: text })).status;
  };
  expect(await send('/v1/exemptions', 'application/x-www-form-urlencoded', '{}')).toBe(415);
  expect(await send('/sign-in', 'multipart/form-data; boundary=x', 'nothing')).toBe(400);
  expect(await send('/sign-in', 'text/plain', 'x')).toBe(400);
  expect(await send('/reviews', 'text/plain', 'x')).toBe(400);
});

test('filters: ids keep every digit, a wildcard in a name is a plain character, and ages use the control plane’s clock', async () => {
  const ids = async (query: string) => (await fixture.ask(`/v1/keys?${query}`)).body.items.map((item) => item.id);
  expect(await ids('q=50%25_')).toEqual(['9007199254740993']);
  expect(await ids('kind=project')).toEqual(['12']);
  expect(await ids('state=gone')).toEqual([]);
  expect(await ids('older_than=150d')).toHaveLength(3);
  expect(await ids('older_than=153d')).toEqual([]);
  expect(await ids('idle_for=150d&organization_id=other')).toEqual(['13']);
  expect(await ids('owner=ada')).toHaveLength(3);
  expect(await ids('owner=grace')).toEqual([]);
  expect(await ids('sort=name&order=desc')).toEqual(['13', '12', '9007199254740993']);
  expect((await fixture.ask('/v1/operations?to=2026-05-02T00:00:00Z')).body.items).toHaveLength(5);
});

test('P2: keys are paged in any order, including keys of the same name and keys that were never used', async () => {
  for (const sort of ['name', 'created_at', 'last_used_at', 'number'])
    for (const order of ['asc', 'desc'])
      expect(new Set(await follow(`/v1/keys?limit=1&sort=${sort}&order=${order}`)).size).toBe(3);
});

test('an unchanged answer is not sent again', async () => {
  const { headers } = await fixture.ask(`/v1/plans/${fixture.planId}`);
  const tag = headers.get('etag') ?? '';
  expect(tag).not.toBe('');
  const again = await fixture.ask(`/v1/plans/${fixture.planId}`, { headers: { 'if-none-match': tag } });
  expect([again.status, again.text]).toEqual([304, '']);
});

test("an operation's versions are listed, newest first", async () => {
  const { body } = await fixture.ask(
    '/v1/projects/quiet-river/operations/00000000-0000-4000-8000-000000000003/versions',
  );
  expect(body.items.map(({ status, replaced_at: at }) => [status, at === null])).toEqual([
    ['failed', true],
    ['running', false],
  ]);
});

test('operations are counted by time and by the requested fields', async () => {
  const range = 'from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z';
  const counts = async (query: string) =>
    (await fixture.ask(`/v1/operations/buckets?${range}&${query}`)).body.items.map((item) => [
      item.start,
      item.status,
      item.operations,
    ]);
  expect(await counts('size=day')).toEqual([
    ['2026-05-01T00:00:00Z', null, 5],
    ['2026-05-03T00:00:00Z', null, 20],
  ]);
  expect(await counts('size=month&by=status')).toEqual([
    ['2026-05-01T00:00:00Z', 'failed', 1],
    ['2026-05-01T00:00:00Z', 'finished', 24],
  ]);
});

test('connections list blind spots, coverage lists its intervals, and keys list observations and uses', async () => {
  const [connection] = (await fixture.ask('/v1/connections')).body.items;
  expect(connection?.blind_spots).toEqual(
    expect.arrayContaining([expect.objectContaining({ kind: 'members_unknown', scope: 'organization:acme' })]),
  );
  const [coverage] = (await fixture.ask('/v1/coverage/operations?project_id=quiet-river')).body.items;
  expect(coverage).toMatchObject({ known: [{ from: '2026-05-01T00:00:00Z', to_included: false }] });
  const { items } = (await fixture.ask(`/v1/keys/${fixture.keys['12']}/observations`)).body;
  expect(items.map(({ event }) => event)).toEqual(['first_seen']);
  await listKeys(fixture, '2026-06-02T00:00:00Z', [
    makeWireKey('9007199254740993', { name: '50%_off' }),
    makeWireKey('12', {
      projectId: 'quiet-river',
      lastUsedAt: '2026-06-01T10:11:12Z',
      lastUsedFromAddr: '192.0.2.7',
    }),
  ]);
  expect((await fixture.ask(`/v1/keys/${fixture.keys['12']}/uses`)).body.items).toEqual([
    { last_used_at: '2026-06-01T10:11:12Z', address: '192.0.2.7', hour: '2026-06-01T10:00:00Z' },
  ]);
});
