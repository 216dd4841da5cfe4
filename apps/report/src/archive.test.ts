import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import { operationCount } from '@keywarden/testkit/report/fixture';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { createApiClient } from '@neondatabase/api-client';
import { expect, test } from 'vitest';

useServedFixture();

/** Returns the official client of the control plane, configured only with our base URL and a token. */
const client = () => createApiClient({ apiKey: fixture.tokens.viewer ?? '', baseURL: `${server.url}/api/v2` });

test('the official client lists operations that the control plane no longer serves', async () => {
  const old = Array.from({ length: 30 }, (_, index) =>
    makeWireOperation(5000 + index, {
      createdAt: `2025-03-0${1 + (index % 3)}T00:00:00Z`,
      updatedAt: '2025-03-05T00:00:00Z',
    }),
  );
  await makeOperationPartitions(fixture.daemon.sql, ['2025-03']);
  const [project] = await fixture.store.sql`select number from keywarden.project where id = 'bold-moon'`;
  await saveOperationPage(fixture.daemon.sql, { project: String(project?.number), operations: old });
  const projects = (await client().listProjects({ limit: 10 })).data.projects;
  expect(projects.map(({ id }) => id)).toEqual(['bold-moon', 'quiet-river']);
  const seen: string[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = { projectId: 'bold-moon', limit: 7, ...(cursor === undefined ? {} : { cursor }) };
    const { data } = await client().listProjectOperations(page);
    seen.push(...data.operations.map(({ id }) => id));
    cursor = data.pagination?.cursor;
  }
  expect(seen.toSorted()).toEqual(old.map(({ id }) => id));
  const { data } = await client().getProjectOperation('bold-moon', old[0]?.id ?? '');
  expect(data.operation).toMatchObject({ id: old[0]?.id, project_id: 'bold-moon', created_at: '2025-03-01T00:00:00Z' });
});

interface ArchivePage {
  operations: { id: string }[];
  pagination?: { cursor: string };
}
const pageOf = async (query: string) =>
  (await fixture.ask(`/api/v2/projects/quiet-river/operations?${query}`)).body as unknown as ArchivePage;

test.each([1, 3, 25])(
  'the archive pages like the control plane, %i rows per page, and loses no row of the same instant',
  async (limit) => {
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: ArchivePage = await pageOf(
        `limit=${limit}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      seen.push(...page.operations.map((each) => each.id));
      cursor = page.pagination?.cursor;
    }
    expect(new Set(seen).size).toBe(operationCount);
    expect(seen).toHaveLength(operationCount);
  },
);

test("the archive's records have the control plane's fields, including unknown ones, and its errors have the control plane's shape", async () => {
  const { projects } = (await fixture.ask('/api/v2/projects?limit=1')).body as unknown as { projects: object[] };
  expect(projects[0]).toMatchObject({ id: 'bold-moon', org_id: 'other', pg_version: 17, locked: false });
  const [operation] = (await pageOf('limit=1')).operations;
  expect(Object.keys(operation ?? {})).toEqual([
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
  const missing = { status: 404, body: { code: '', message: 'project not found' } };
  expect(await fixture.ask('/api/v2/projects/nowhere/operations')).toMatchObject(missing);
  for (const path of ['quiet-river/operations/x', 'quiet-river/operations/00000000-0000-4000-8000-00000000ffff'])
    expect(await fixture.ask(`/api/v2/projects/${path}`)).toMatchObject({
      status: 404,
      body: { message: 'operation not found' },
    });
  for (const query of ['limit=1001', 'limit=0', 'cursor=x', 'cursor=0000-01-01T00:00:00Z'])
    expect((await fixture.ask(`/api/v2/projects/quiet-river/operations?${query}`)).status).toBe(400);
  expect((await fixture.ask('/api/v2/nowhere')).status).toBe(404);
});

test("the archive accepts the control plane's own cursors and returns rows strictly below their time", async () => {
  expect((await pageOf('limit=1000&cursor=2026-05-03T00:00:00.500000Z')).operations).toHaveLength(5);
});

test('the official client reads its account, organizations and one project; answers repeat request ids', async () => {
  expect((await client().getAuthDetails()).data).toMatchObject({ auth_method: 'api_key_user' });
  expect((await client().getCurrentUserInfo()).data).toMatchObject({ login: 'viewer' });
  const { organizations } = (await client().getCurrentUserOrganizations()).data;
  expect(organizations.map(({ id }) => id)).toEqual(['acme', 'other']);
  expect((await client().getOrganization('acme')).data.id).toBe('acme');
  expect((await client().getProject('bold-moon')).data.project).toMatchObject({ id: 'bold-moon', org_id: 'other' });
  expect((await client().listSharedProjects({})).data.projects).toEqual([]);
  const headers = { 'x-request-id': 'mine' };
  const missing = await fixture.ask('/api/v2/projects?org_id=nobody', { headers });
  expect(missing).toMatchObject({ status: 404, body: { request_id: 'mine', message: 'organization not found' } });
  expect((await fixture.ask('/api/v2/auth', { as: 'acme' })).body).toEqual({
    account_id: 'acme',
    auth_method: 'api_key_org',
  });
  expect((await fixture.ask('/api/v2/users/me', { as: 'acme' })).status).toBe(404);
  expect((await fixture.ask('/api/v2/projects/bold-moon', { as: 'acme' })).status).toBe(404);
  expect((await fixture.ask('/api/v2/organizations/other', { as: 'acme' })).status).toBe(404);
});

test('projects are found by a part of their name, and gone projects are listed separately', async () => {
  const idsOf = async (query: string) => {
    const { body } = await fixture.ask(`/api/v2/projects?${query}`);
    return (body as unknown as { projects: { id: string; deleted_at?: string }[] }).projects;
  };
  expect((await idsOf('search=BOLD')).map(({ id }) => id)).toEqual(['bold-moon']);
  expect(await idsOf('recoverable=true')).toEqual([]);
  await fixture.store.sql`update keywarden.project set gone_at = '2026-05-04T00:00:00Z' where id = 'bold-moon'`;
  expect((await idsOf('')).map(({ id }) => id)).toEqual(['quiet-river']);
  expect(await idsOf('recoverable=true')).toMatchObject([{ id: 'bold-moon', deleted_at: '2026-05-04T00:00:00Z' }]);
  await fixture.store.sql`update keywarden.project set gone_at = null where id = 'bold-moon'`;
  expect((await fixture.ask('/api/v2/projects?recoverable=perhaps')).status).toBe(400);
});

test('a project that the last list lacks is missing, not active, until it is gone', async () => {
  const listed = async (state: string) =>
    (await fixture.ask(`/v1/projects?state=${state}`)).body.items as unknown as { id: string; state: string }[];
  const shown = async () => (await fixture.ask('/projects/bold-moon', { headers: { accept: 'text/html' } })).text;
  const at = '2026-05-04T00:00:00Z';
  for (const [state, times] of Object.entries({
    missing: { missing_since: at, gone_at: null },
    gone: { missing_since: at, gone_at: at },
    active: { missing_since: null, gone_at: null },
  })) {
    await fixture.store.sql`update keywarden.project set ${fixture.store.sql(times)} where id = 'bold-moon'`;
    for (const other of ['active', 'missing', 'gone'])
      expect((await listed(other)).some(({ id }) => id === 'bold-moon')).toBe(other === state);
    expect(await shown()).toMatch(new RegExp(`<dt>State</dt><dd>[^/]*>${state}<`));
  }
});

test('P1: a token of one organization sees only the archive of that organization', async () => {
  const { projects } = (await fixture.ask('/api/v2/projects', { as: 'acme' })).body as unknown as {
    projects: { id: string }[];
  };
  expect(projects.map(({ id }) => id)).toEqual(['quiet-river']);
  expect((await fixture.ask('/api/v2/projects/bold-moon/operations', { as: 'acme' })).status).toBe(404);
  expect((await fixture.ask('/api/v2/projects', { as: null })).status).toBe(401);
});

test('a reader loses no operation of the same time when their positions increase between two pages', async () => {
  const createdAt = '2025-04-01T00:00:00Z';
  const rows = Array.from({ length: 7 }, (_, index) =>
    makeWireOperation(7000 + index, { createdAt, updatedAt: createdAt }),
  );
  await makeOperationPartitions(fixture.daemon.sql, ['2025-04']);
  const [project] = await fixture.store.sql`select number from keywarden.project where id = 'quiet-river'`;
  const number = String(project?.number);
  await saveOperationPage(fixture.daemon.sql, { project: number, operations: rows.slice(0, 3) });
  const read = async (cursor: string) =>
    (await client().listProjectOperations({ projectId: 'quiet-river', limit: 2, cursor })).data;
  const first = await read('2025-04-01T00:00:01Z');
  await saveOperationPage(fixture.daemon.sql, { project: number, operations: rows });
  const seen = first.operations.map(({ id }) => id);
  for (let cursor = first.pagination?.cursor; cursor !== undefined; ) {
    const page = await read(cursor);
    seen.push(...page.operations.map(({ id }) => id));
    cursor = page.pagination?.cursor;
  }
  expect(seen.filter((id) => id.endsWith('07000') || Number(id.slice(-4)) >= 7000).toSorted()).toEqual(
    rows.map(({ id }) => id).toSorted(),
  );
});

test('the description has the limits and flags that the archive takes, and each status that a reader may get', async () => {
  const { paths } = JSON.parse((await fixture.ask('/openapi.json')).text) as {
    paths: Record<string, { get: { parameters: { name: string; schema: object }[]; responses: object } }>;
  };
  const described = (path: string, name: string) =>
    paths[path]?.get.parameters.find((each) => each.name === name)?.schema as { maximum?: number; enum?: string[] };
  const accepts = async (query: string, path = 'projects') =>
    (await fixture.ask(`/api/v2/${path}?${query}`)).status === 200;
  for (const [path, place] of [
    ['/api/v2/projects', 'projects'],
    ['/api/v2/projects/{project_id}/operations', 'projects/quiet-river/operations'],
  ] as const) {
    const { maximum = 0 } = described(path, 'limit');
    expect([await accepts(`limit=${maximum}`, place), await accepts(`limit=${maximum + 1}`, place)]).toEqual([
      true,
      false,
    ]);
  }
  for (const value of ['true', 'false', 'yes', ''])
    expect(await accepts(`recoverable=${value}`)).toBe(
      described('/api/v2/projects', 'recoverable').enum?.includes(value) === true,
    );
  const places = Object.keys(paths).filter((path) => path.startsWith('/api/v2/'));
  for (const path of places) expect(paths[path]?.get.responses).toHaveProperty('503');
});
