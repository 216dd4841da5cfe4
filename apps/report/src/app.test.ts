import { makePlan, policySchema } from '@keywarden/core/policy';
import { createLogger } from '@keywarden/core/process';
import {
  createToken,
  finishRun,
  makeOperationPartitions,
  readFacts,
  revokeToken,
  saveKeyListing,
  saveOperationPage,
  savePlan,
  saveProjects,
  startRun,
} from '@keywarden/db/daemon';
import { makeControlPlane, makeWireKey, makeWireOperation } from '@keywarden/db/daemon-testing';
import { createTestStore, type TestStore } from '@keywarden/db/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createApp } from './app.ts';

const operations = 25;
const present = '2026-06-01T00:00:00Z';
const tokens: Record<string, string> = {};
let store: TestStore;
let app: ReturnType<typeof createApp>;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  app = createApp({ db: store.db, log: createLogger({ level: 'silent', format: 'json', name: 'test' }) });
  await fill();
  for (const role of ['viewer', 'auditor', 'operator'] as const) await makeToken(role, role, null);
  await makeToken('acme-only', 'viewer', ['acme']);
});
afterAll(async () => await store.close());

async function makeToken(
  name: string,
  role: 'viewer' | 'auditor' | 'operator',
  organizationIds: string[] | null,
): Promise<string> {
  const { number, secret } = await createToken(store.sql, { name, role, organizationIds });
  tokens[name] = secret;
  return number;
}

/** Two organizations: acme with a project of 25 operations and two keys, other with a project and a key. */
async function fill(): Promise<void> {
  const { sql } = store;
  const controlPlane = await makeControlPlane(sql);
  await makeOperationPartitions(sql, ['2026-05', present.slice(0, 7)]);
  for (const [organizationId, projectId] of [
    ['acme', 'quiet-river'],
    ['other', 'bold-moon'],
  ] as const) {
    const project = {
      id: projectId,
      name: projectId,
      createdAt: present,
      updatedAt: present,
      extra: { locked: false },
    };
    const place = { controlPlane, seenAt: present, organizationId, unavailableIds: [] };
    await saveProjects(sql, place, [
      { ...project, orgId: undefined, ownerId: undefined, regionId: undefined, pgVersion: 17 },
    ]);
    const keys =
      organizationId === 'acme'
        ? [makeWireKey('9007199254740993', { name: '50%_off' }), makeWireKey('12', { projectId })]
        : [makeWireKey('13')];
    const listing = {
      controlPlane,
      scope: `organization:${organizationId}`,
      organizationId,
      connection: 'main',
      run: null,
    };
    // Two listings in a row, the second begun after the first had ended.
    for (const begunAt of [present, '2999-01-01T00:00:00Z'])
      await saveKeyListing(sql, { ...listing, listedAt: present, begunAt, keys });
  }
  // The connection's own key is one that its listings show.
  await sql`update keywarden.connection set own_key_id = 12`;
  const [row] = await sql`select number from keywarden.project where id = 'quiet-river'`;
  const rows = Array.from({ length: operations }, (_, index) =>
    makeWireOperation(index, index < 20 ? { createdAt: '2026-05-03T00:00:00.5Z' } : {}),
  );
  await saveOperationPage(sql, { project: String(row?.number), operations: rows });
  const policy = policySchema.parse({ rules: [{ name: 'never-used', never_used_for: '30d', action: 'revoke' }] });
  const facts = await readFacts(store, {
    nowMs: () => Date.parse(present),
    policySha256: '',
    channels: [],
    addressesSinceMs: null,
    needsProjects: false,
    configured: [],
  });
  await savePlan(sql, makePlan(policy, facts), policy);
  const run = await startRun(sql, { kind: 'keys', connection: 'main' });
  await finishRun(sql, run, { status: 'finished', counts: { keys: 3 } });
}

interface Answer {
  status: number;
  // The tests look into answers of many shapes.
  body: { items: Record<string, never>[]; next_cursor: string | null } & Record<string, never>;
}

async function get(path: string, token: string | undefined = tokens.viewer): Promise<Answer> {
  const response = await app.request(path, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  const text = await response.text();
  return {
    status: response.status,
    body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
  };
}

const lists = ['/v1/keys', '/v1/operations', '/v1/findings', '/v1/plans', '/v1/runs'];
const archive = ['/api/v2/projects', '/api/v2/projects/quiet-river/operations'];
const open = ['/healthz', '/readyz', '/openapi.json', '/docs'];

test.each(lists)('%s answers a list to every role', async (path) => {
  for (const role of ['viewer', 'auditor', 'operator']) {
    const { status, body } = await get(path, tokens[role]);
    expect(status).toBe(200);
    expect(body.items.length).toBeGreaterThan(0);
    expect(body.next_cursor).toBeNull();
  }
});

test.each([...lists, ...archive])('%s wants a live token', async (path) => {
  const number = await makeToken('ended', 'operator', null);
  await revokeToken(store.sql, number);
  await makeToken('expired', 'operator', null);
  await store.sql`update keywarden.report_token set expires_at = now() - interval '1 second' where name = 'expired'`;
  for (const token of ['', 'kwr_wrong', tokens.ended, tokens.expired]) {
    const { status, body } = await get(path, token);
    expect(status).toBe(401);
    expect(JSON.stringify(body)).not.toContain(token || 'nothing');
  }
});

test.each(open)('%s is open', async (path) => {
  expect((await app.request(path)).status).toBe(200);
});

test.each([
  ['/v1/keys?limit=0', 'limit'],
  ['/v1/keys?limit=1001', 'limit'],
  ['/v1/keys?colour=blue', 'colour'],
  ['/v1/keys?kind=huge', 'kind'],
  ['/v1/operations?from=yesterday', 'from'],
  ['/v1/findings?key_id=x', 'key_id'],
  ['/v1/runs?kind=all', 'kind'],
  ['/v1/keys?cursor=abc', 'cursor'],
])('%s is refused by the name of what is wrong', async (path, name) => {
  const { status, body } = await get(path);
  expect(status).toBe(400);
  expect(body).toMatchObject({ type: 'about:blank', status: 400, detail: expect.stringContaining(name) });
});

test('a cursor is bound to its filters', async () => {
  const { body } = await get('/v1/operations?limit=10&action=start_compute');
  expect(body.next_cursor).not.toBeNull();
  expect((await get(`/v1/operations?limit=10&cursor=${body.next_cursor}`)).status).toBe(400);
  expect((await get(`/v1/operations?limit=5&action=start_compute&cursor=${body.next_cursor}`)).status).toBe(200);
});

test.each([1, 3, 7, 25])('P2: pages of %i show each operation once, those of one instant too', async (limit) => {
  const seen: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: Answer = await get(`/v1/operations?limit=${limit}${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.items.map((item) => item.id));
    cursor = body.next_cursor;
  }
  expect(seen).toHaveLength(operations);
  expect(new Set(seen).size).toBe(operations);
});

test.each([1, 3, 25])(
  'the archive pages as the control plane does, by %i, and loses no row of one instant',
  async (limit) => {
    const seen: unknown[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await get(`/api/v2/projects/quiet-river/operations?limit=${limit}${query}`);
      const page = body as unknown as { operations: { id: string }[]; pagination?: { cursor: string } };
      seen.push(...page.operations.map((each) => each.id));
      cursor = page.pagination?.cursor;
    }
    expect(new Set(seen).size).toBe(operations);
    expect(seen).toHaveLength(operations);
  },
);

test("the archive's records have the control plane's own fields, unknown ones too, and its errors its own shape", async () => {
  const projects = (await get('/api/v2/projects?limit=1')).body as unknown as {
    projects: object[];
    pagination: object;
  };
  expect(projects.projects[0]).toMatchObject({ id: 'bold-moon', org_id: 'other', pg_version: 17, locked: false });
  const listed = (await get('/api/v2/projects/quiet-river/operations?limit=1')).body as unknown as {
    operations: object[];
  };
  expect(Object.keys(listed.operations[0] ?? {})).toEqual([
    'id',
    'project_id',
    'branch_id',
    'action',
    'status',
    'failures_count',
    'created_at',
    'updated_at',
    'total_duration_ms',
  ]);
  expect(await get('/api/v2/projects/nowhere/operations')).toMatchObject({
    status: 404,
    body: { code: '', message: 'project not found' },
  });
  expect((await get('/api/v2/projects/quiet-river/operations?limit=1001')).status).toBe(400);
  expect((await get('/api/v2/projects/quiet-river/operations?cursor=x')).status).toBe(400);
  expect((await get('/api/v2/nowhere')).status).toBe(404);
});

test("the archive takes the control plane's own cursors: strictly below their time", async () => {
  const { body } = await get('/api/v2/projects/quiet-river/operations?limit=1000&cursor=2026-05-03T00:00:00.500000Z');
  expect((body as unknown as { operations: unknown[] }).operations).toHaveLength(5);
});

test('P1: a token of one organization sees nothing of another', async () => {
  const token = tokens['acme-only'];
  expect((await get('/v1/keys', token)).body.items.map((item) => item.organization_id)).toEqual(['acme', 'acme']);
  expect((await get('/v1/findings', token)).body.items.length).toBeLessThan(
    (await get('/v1/findings')).body.items.length,
  );
  const seen = (await get('/api/v2/projects', token)).body as unknown as { projects: { id: string }[] };
  expect(seen.projects.map((project) => project.id)).toEqual(['quiet-river']);
  expect((await get('/api/v2/projects/bold-moon/operations', token)).status).toBe(404);
  for (const path of ['/v1/plans', '/v1/runs']) expect((await get(path, token)).status).toBe(403);
});

test('filters: ids keep every digit, and a wildcard in a name is only a character', async () => {
  const { body } = await get('/v1/keys?q=50%25_');
  expect(body.items.map((item) => item.id)).toEqual(['9007199254740993']);
  expect((await get('/v1/keys?kind=project')).body.items.map((item) => item.id)).toEqual(['12']);
  expect((await get('/v1/keys?state=gone')).body.items).toEqual([]);
  expect((await get('/v1/operations?to=2026-05-02T00:00:00Z')).body.items).toHaveLength(5);
});

test('a plan is shown with the document that its hash is of', async () => {
  const [plan] = (await get('/v1/plans')).body.items;
  const { status, body } = await get(`/v1/plans/${String(plan?.id)}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ items: 1, held: 2, document: { version: 2 } });
  expect((await get('/v1/plans/p-none')).status).toBe(404);
});

test('when the store fails the answer has a code and a request id, and nothing of the query', async () => {
  const broken = await createTestStore(inject('postgresUrl'));
  const { secret } = await createToken(broken.sql, { name: 'x', role: 'viewer', organizationIds: null });
  const failing = createApp({ db: broken.db, log: createLogger({ level: 'silent', format: 'json', name: 'test' }) });
  await broken.sql`alter table keywarden.key rename to hidden`;
  const response = await failing.request('/v1/keys?q=confidential', { headers: { authorization: `Bearer ${secret}` } });
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(text).not.toMatch(/confidential|select|keywarden\./);
  expect((await failing.request('/readyz')).status).toBe(503);
  expect((await failing.request('/healthz')).status).toBe(200);
  await broken.close();
});

test("the API's description names every route, and its page carries no script and nothing from elsewhere", async () => {
  const document = (await get('/openapi.json')).body as unknown as { paths: object };
  expect(Object.keys(document.paths)).toEqual(
    expect.arrayContaining([
      ...lists,
      '/v1/plans/{plan_id}',
      '/healthz',
      '/readyz',
      '/api/v2/projects',
      '/api/v2/projects/{project_id}/operations',
    ]),
  );
  const page = await (await app.request('/docs')).text();
  expect(page).not.toMatch(/<script|https?:\/\//);
  expect(page).toContain('/v1/operations');
});
