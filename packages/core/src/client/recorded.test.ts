import { answering, failure } from '@keywarden/testkit/client/fixture';
import { expect, test } from 'vitest';
import { unknownCreator } from '../wire/index.ts';
import { createClient } from './client.ts';
import { collect } from './pagination.ts';

// Recorded responses of the live service that differ from its description, and what the description does not allow.

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** Returns a client of a server that sends these responses in turn and then repeats the last one. Also returns the requests. */
async function recorded(...answers: Answer[]) {
  const asked: string[] = [];
  const slept: number[] = [];
  const baseUrl = await answering((request, response) => {
    const { status = 200, headers = {}, body } = answers[Math.min(asked.length, answers.length - 1)] ?? { body: null };
    asked.push(`${request.method} ${request.url}`);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-neon-ret-request-id': 'ret-1', ...headers })
      .end(text);
  });
  const time = { now: Date.now, sleep: async (ms: number) => void slept.push(ms) };
  return { client: createClient({ baseUrl, apiKey: 'x'.repeat(80), random: () => 1, time }), asked, slept };
}

const project = {
  id: 'quiet-lake-1',
  name: 'shop',
  created_at: '2024-01-25T15:57:49Z',
  updated_at: '2024-01-25T15:57:49Z',
};
const operation = (id: number) => ({
  id: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
  project_id: 'quiet-lake-1',
  action: 'start_compute',
  status: 'finished',
  failures_count: 0,
  created_at: '2024-01-25T15:57:49Z',
  updated_at: '2024-01-25T15:57:49Z',
});

test('a list of one project has a cursor, which is its id, and ends with an empty page', async () => {
  const { client, asked } = await recorded(
    { body: { projects: [project], pagination: { cursor: 'quiet-lake-1' } } },
    { body: { projects: [] } },
  );
  const { items } = await collect(client.projects('org'));
  expect(items.map(({ id }) => id)).toEqual(['quiet-lake-1']);
  expect(asked).toEqual([
    'GET /api/v2/projects?org_id=org&limit=400',
    'GET /api/v2/projects?org_id=org&limit=400&cursor=quiet-lake-1',
  ]);
});

test('times have whole seconds, and a cursor of operations has a fraction without trailing zeros', async () => {
  const cursor = '2024-01-25T15:57:49.5451Z';
  const { client, asked } = await recorded({
    body: { operations: [operation(1), operation(2)], pagination: { cursor } },
  });
  const page = await client.operationsPage('quiet-lake-1');
  expect(asked).toEqual(['GET /api/v2/projects/quiet-lake-1/operations?limit=1000']);
  expect(page).toMatchObject({ cursor, items: [{ createdAt: '2024-01-25T15:57:49Z' }, {}] });
});

test('a list of keys is a bare array; ids keep every digit, an empty address means none, and proxy chains are kept', async () => {
  const by = { id: 'u', name: 'Ada', image: '' };
  const key = { name: 'ci', created_at: '2024-01-25T15:57:49Z', created_by: by };
  const body = `[{"id":9007199254740993,${JSON.stringify({ ...key, last_used_from_addr: '' }).slice(1)},${JSON.stringify(
    {
      ...key,
      id: 2,
      last_used_at: '2024-01-26T00:00:00Z',
      last_used_from_addr: '203.0.113.7,198.51.100.4',
    },
  )}]`;
  const { client } = await recorded({ body });
  const { items } = await collect(client.personalKeys());
  expect(items).toMatchObject([
    { id: '9007199254740993', lastUsedAt: null, lastUsedFromAddr: null },
    { id: '2', lastUsedFromAddr: '203.0.113.7,198.51.100.4', createdBy: { id: 'u', name: 'Ada' } },
  ]);
});

test('lists of keys of early 2024 have no creators: the creators are unknown', async () => {
  const { client } = await recorded({ body: [{ id: 1, name: 'ci', created_at: '2024-01-25T15:57:49Z' }] });
  const { items, rejected } = await collect(client.personalKeys());
  expect([items[0]?.createdBy.id, rejected]).toEqual([unknownCreator, []]);
});

test('a creator is an object in lists and a bare id in the response to revoking, and unknown roles are kept', async () => {
  const revoked = { id: 1, name: 'ci', created_at: '2024-01-25T15:57:49Z', created_by: 'u', revoked: true };
  const { client } = await recorded({ body: revoked });
  expect(await client.revokePersonalKey('1')).toMatchObject({ createdBy: { id: 'u', name: null }, revoked: true });
  const member = { member: { id: 'm', user_id: 'u', role: 'collaborator' }, user: { email: 'a@company.example' } };
  const { client: other } = await recorded({ body: { members: [member] } });
  expect((await collect(other.members('org'))).items).toMatchObject([{ role: 'collaborator', joinedAt: null }]);
});

test('every response names its request, and a failure has that request id', async () => {
  const { client } = await recorded({ status: 404, body: { code: '', message: 'project not found' } });
  const error = await failure(client.operation('quiet-lake-1', operation(1).id));
  expect([error.code, error.requestId]).toEqual(['not_found', 'ret-1']);
  const { client: odd } = await recorded({ body: { account_id: 1 } });
  expect((await failure(odd.auth())).requestId).toBe('ret-1');
});

test('a gateway’s 52x page and a transitive state are retried, after the delay of Retry-After in either form', async () => {
  const identity = { body: { account_id: 'u', auth_method: 'api_key_user' } };
  const html = { 'content-type': 'text/html' };
  const gateway = await recorded({ status: 521, headers: html, body: '<h1>web server is down</h1>' }, identity);
  expect(await gateway.client.auth()).toMatchObject({ accountId: 'u' });
  const busy = { status: 423, body: { code: '', message: 'endpoint is in some transitive state' } };
  const date = new Date(Date.now() + 30_000).toUTCString();
  const waiting = await recorded(
    { ...busy, headers: { 'retry-after': '7' } },
    { ...busy, headers: { 'retry-after': date } },
    identity,
  );
  await waiting.client.auth();
  expect(waiting.slept[0]).toBeGreaterThanOrEqual(7000);
  expect(waiting.slept[1]).toBeGreaterThan(25_000);
});

test.each([
  [404, 'not_found', 'branch not found'],
  [422, 'rejected', 'branch not ready yet'],
])('a write that is answered %i is not repeated: %s', async (status, code, message) => {
  const { client, asked } = await recorded({ status, body: { code: '', message } });
  expect((await failure(client.createBranch('quiet-lake-1'))).code).toBe(code);
  expect(asked).toHaveLength(1);
});

test('null or a list of keys in place of another list is an error: it does not show that there are no rows', async () => {
  for (const body of [null, { api_keys: null }])
    expect((await failure(collect((await recorded({ body })).client.personalKeys()))).code).toBe('invalid_response');
  for (const body of [{ operations: null, projects: null, pagination: {} }, { api_keys: [] }, []]) {
    const { client } = await recorded({ body });
    expect((await failure(client.operationsPage('quiet-lake-1'))).code).toBe('invalid_response');
    expect((await failure(collect(client.projects('acme')))).code).toBe('invalid_response');
  }
});

test('T3: of a row that cannot be read, only ids, times and states are kept, and of everything else the type', async () => {
  const long = 'y'.repeat(200);
  const row = {
    id: 'napi_abc',
    status: long,
    created_at: 7,
    note: 'of Ada',
    list: ['of Ada'],
    none: null,
    nested: { type: 'ci', key: 'abc' },
    [long]: 1,
  };
  const { client } = await recorded({ body: { keys: [row] } });
  const { rejected } = await collect(client.personalKeys());
  const kept = {
    id: 'string',
    status: `"${long.slice(0, 99)}`,
    created_at: '7',
    note: 'string',
    list: 'array',
    none: null,
    nested: { type: '"ci"', key: 'string' },
    [long.slice(0, 100)]: 'number',
  };
  expect(rejected.map(({ id, record }) => [id, record])).toEqual([[null, kept]]);
});

test('a list of projects names those that its responses left out', async () => {
  const { client } = await recorded(
    { body: { projects: [], unavailable_project_ids: ['p-1'], pagination: { cursor: 'a' } } },
    { body: { projects: [project], unavailable_project_ids: null } },
  );
  const unavailable = [];
  for await (const page of client.projects('org')) unavailable.push(page.unavailableIds);
  expect(unavailable).toEqual([['p-1'], []]);
});

test('the end of a page names its last row only if that can be read', async () => {
  const rows = [operation(1), { ...operation(2), created_at: '' }];
  const { client } = await recorded({ body: { operations: rows } }, { body: { operations: rows.slice(0, 1) } });
  const ends = [await client.operationsPageEnd('quiet-lake-1'), await client.operationsPageEnd('quiet-lake-1')];
  expect(ends).toEqual([
    { count: 2, lastId: null, cursor: null },
    { count: 1, lastId: operation(1).id, cursor: null },
  ]);
});

test('a time with small letters, which RFC 3339 permits, is read', async () => {
  const row = { ...operation(1), created_at: '2024-01-25t15:57:49z' };
  const { client } = await recorded({ body: { operations: [operation(2), row] } });
  const { items, rejected } = await client.operationsPage('quiet-lake-1');
  expect(items.map(({ createdAt }) => createdAt)).toEqual([operation(2).created_at, '2024-01-25T15:57:49Z']);
  expect(rejected).toBeUndefined();
});
