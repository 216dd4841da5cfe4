import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@keywarden/testkit';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { companyFixture, type Operation, openFixture, projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test, vi } from 'vitest';
import { createSandbox, noLimits } from './index.ts';

const at = { realNowMs: () => Date.parse('2026-06-15T12:00:00Z') };

test('a company has the requested totals; one seed makes one company; only six months are served', async () => {
  const [first, second] = [await companyFixture(at), await companyFixture(at)];
  expect(first.counts).toMatchObject({ organizations: 2, projects: 4, keys: 40, operations: 6000 });
  expect(first.counts.served_operations).toBeGreaterThan(3000);
  expect(first.counts.served_operations).toBeLessThan(6000);
  const all = async ({ api, control, project }: typeof first) => ({
    operations: (await control(`/operations?project_id=${project}`)).body,
    branches: (await api(`/projects/${project}/branches`)).body,
    endpoints: (await api(`/projects/${project}/endpoints`)).body,
  });
  expect(await all(first)).toEqual(await all(second));
});

test('a company has keys of every kind: busy, idle, never used, badly named, and with repeated names', async () => {
  const { control } = await companyFixture();
  const { body: keys } = await control<{ kind: string; name: string; last_used_at: string | null }[]>('/keys');
  expect(new Set(keys.map((key) => key.kind))).toEqual(new Set(['personal', 'organization', 'project']));
  expect(keys.some((key) => key.last_used_at === null)).toBe(true);
  expect(keys.some((key) => key.name === 'test' || key.name === 'asdf')).toBe(true);
  expect(new Set(keys.map((key) => key.name)).size).toBeLessThan(keys.length);
});

test('a company’s computes are suspended, and its operations name existing branches and computes', async () => {
  const { api, project } = await companyFixture(at);
  const { endpoints } = (
    await api<{ endpoints: { id: string; current_state: string }[] }>(`/projects/${project}/endpoints`)
  ).body;
  expect(new Set(endpoints.map((endpoint) => endpoint.current_state))).toEqual(new Set(['idle']));
  const { operations } = (await api<{ operations: Operation[] }>(`/projects/${project}/operations?limit=1000`)).body;
  const known = new Set([undefined, ...endpoints.map(({ id }) => id)]);
  expect(operations.filter((operation) => !known.has(operation.endpoint_id))).toEqual([]);
});

test('a cursor starts strictly below its time: a page that ends between two equal times loses the remaining ones', async () => {
  const { api, control, project } = await companyFixture();
  const { served } = (await control<{ served: string[] }>(`/operations?project_id=${project}`)).body;
  const seen: string[] = [];
  let cursor = '';
  for (;;) {
    const page = (
      await api<{ operations: Operation[]; pagination?: { cursor: string } }>(
        `/projects/${project}/operations?limit=3${cursor}`,
      )
    ).body;
    seen.push(...page.operations.map((each) => each.id));
    if (page.pagination === undefined) break;
    cursor = `&cursor=${encodeURIComponent(page.pagination.cursor)}`;
  }
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.length).toBeLessThan(served.length);
  expect(served).toEqual(expect.arrayContaining(seen));
});

test('a full page has a cursor even if no row follows, and the next page is then empty', async () => {
  const { api, project, settle } = await companyFixture();
  const path = `/projects/${project}/operations?limit=1000`;
  await settle(project);
  let page = (await api<{ operations: Operation[]; pagination?: { cursor: string } }>(path)).body;
  const total = page.operations.length;
  page = (await api<typeof page>(`/projects/${project}/operations?limit=${total}`)).body;
  expect(page.operations).toHaveLength(total);
  const next = await api<typeof page>(`${path}&cursor=${encodeURIComponent(page.pagination?.cursor ?? '')}`);
  expect(next.body).toEqual({ operations: expect.any(Array) });
});

test('one project of four has operations in progress when a company is made, and they end within the hour', async () => {
  const { api, control, advance } = await companyFixture();
  const { body: projects } = await control<{ id: string }[]>('/projects');
  const open = async () => {
    const lists = await Promise.all(
      projects.map(async ({ id }) => (await api<{ operations: Operation[] }>(`/projects/${id}/operations`)).body),
    );
    return lists.map(({ operations }) => operations.filter(({ status }) => ['running', 'scheduling'].includes(status)));
  };
  const counts = (await open()).map((operations) => operations.map(({ status }) => status));
  expect(counts.filter((statuses) => statuses.length > 0)).toEqual([['scheduling', 'scheduling', 'running']]);
  await advance(3600);
  expect((await open()).flat()).toEqual([]);
});

test('a use is recorded with its time and its chain of proxies', async () => {
  const { api, organization } = await companyFixture();
  const keys = `/organizations/${organization}/api_keys`;
  const minted = (await api<{ id: number; key: string }>(keys, { body: { key_name: 'used' } })).body;
  const find = async () => {
    const listed = await api<{ id: number; last_used_at: string | null; last_used_from_addr: string }[]>(keys);
    return listed.body.find((key) => key.id === minted.id);
  };
  expect(await find()).toMatchObject({ last_used_at: null, last_used_from_addr: '' });
  await api('/auth', { key: minted.key, headers: { 'x-forwarded-for': '203.0.113.7,198.51.100.4' } });
  expect(await find()).toMatchObject({ last_used_from_addr: '203.0.113.7,198.51.100.4' });
  expect((await find())?.last_used_at).not.toBeNull();
});

test('state in a file survives a restart: keys, operations and the clock', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const { project, ...fixture } = await companyFixture({ file });
  await fixture.advance(86_400);
  const read = async ({ control, api }: Pick<typeof fixture, 'api' | 'control'>) => ({
    keys: (await control<unknown[]>('/keys')).body.length,
    operations: (await control(`/operations?project_id=${project}`)).body,
    branches: (await api(`/projects/${project}/branches`)).body,
  });
  const before = await read(fixture);
  await fixture.sandbox.close();
  const again = await openFixture({ file, adminKey: fixture.sandbox.adminKey });
  expect(again.sandbox.isEmpty).toBe(false);
  expect(await read(again)).toEqual(before);
  const { now } = (await again.control<{ now: string }>('/clock')).body;
  expect(Date.parse(now) - Date.now()).toBeGreaterThan(86_000_000);
});

test('the clock of a sandbox without a company may begin earlier; with a company it cannot move back', async () => {
  const { api, control } = await openFixture();
  const back = { body: { advance_seconds: -90 * 86_400 } };
  const { now } = (await control<{ now: string }>('/clock', back)).body;
  expect(Date.parse(now)).toBeLessThan(Date.now() - 89 * 86_400_000);
  const keys = (await api<{ created_at: string }[]>('/api_keys')).body;
  expect(keys.map(({ created_at: at }) => Date.parse(at) <= Date.parse(now))).toEqual([true]);
  await control('/generate', { body: { organizations: 1, projects: 1, keys: 0, operations: 10 } });
  expect(await control('/clock', back)).toMatchObject({
    status: 422,
    body: { message: expect.stringMatching(/only while there is no company/) },
  });
});

test('a second sandbox on one file is refused', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  await openFixture({ file });
  await expect(createSandbox({ file, limits: noLimits })).rejects.toThrow('database is locked');
});

test('an invalid control request explains the problem and changes nothing', async () => {
  const { control } = await openFixture();
  const wrong: [string, string, unknown][] = [
    ['PUT', '/faults', [{ kind: 'earthquake' }]],
    ['PUT', '/limits', { per_minute: 0 }],
    ['PUT', '/work', { operations_per_day: -1 }],
    ['POST', '/clock', { advance_seconds: -2e9 }],
    ['POST', '/clock', { advance_seconds: 9e9 }],
    ['PUT', '/faults', [{ kind: 'drop', method: 'GTE' }]],
    ['PUT', '/faults', [{ kind: 'drop', path: '/api/v2/projects' }]],
    ['POST', '/generate', { organizations: 0 }],
  ];
  for (const [method, path, body] of wrong) {
    expect({ path, status: (await control(path, { method, body })).status }).toEqual({ path, status: 422 });
  }
  expect((await control('/clock', { body: 'no json' })).status).toBe(400);
  expect((await control('/nowhere')).status).toBe(404);
  const foreign = { headers: { origin: 'https://elsewhere.example' }, body: { advance_seconds: 1 } };
  expect((await control('/clock', foreign)).status).toBe(403);
});

test('the administrator gets a new key, even if the old one was revoked; further companies have their own ids', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const { api, control, sandbox } = await openFixture({ file });
  for (const seed of [7920, 1, 1]) {
    expect(
      (await control('/generate', { body: { organizations: 1, projects: 1, keys: 1, operations: 5, seed } })).status,
    ).toBe(200);
  }
  await api('/api_keys/1', { method: 'DELETE' });
  expect((await api('/auth')).status).toBe(401);
  await sandbox.close();
  const again = await openFixture({ file, adminKey: 'napi_new' });
  expect((await again.api('/auth')).status).toBe(200);
});

test('a restart finds the operations in progress and ends them', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const { api, sandbox, project } = await projectFixture({ file });
  await api(`/projects/${project}/branches`, { body: { endpoints: [{ type: 'read_write' }] } });
  await sandbox.close();
  const again = await openFixture({ file, adminKey: sandbox.adminKey });
  const [start, branch] = await again.settle(project);
  expect([branch?.status, start?.status]).toEqual(['finished', 'finished']);
});

test('a response’s Date is not before its data, even if the clock is moved while it is written', async () => {
  const sandbox = await createSandbox({ ...at, limits: noLimits });
  const headers = { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' };
  const ask = (path: string, init = {}) => sandbox.app.request(path, { headers, ...init });
  const answers = Array.from({ length: 20 }, () => ask('/api/v2/api_keys'));
  const moved = ask('/_sandbox/clock', { method: 'POST', body: JSON.stringify({ advance_seconds: 900 }) });
  for (const answer of answers) expect((await answer).headers.get('date')).toBe('Mon, 15 Jun 2026 12:00:00 GMT');
  expect((await moved).status).toBe(200);
  expect((await ask('/api/v2/api_keys')).headers.get('date')).toBe('Mon, 15 Jun 2026 12:15:00 GMT');
  await sandbox.close();
});

test('where no state is kept for later, the app responds without a server', async () => {
  const { sandbox } = await openFixture();
  const response = await sandbox.app.request('/api/v2/auth', {
    headers: { authorization: `Bearer ${sandbox.adminKey}` },
  });
  expect(response.status).toBe(200);
});

test('the recorded behaviour of the service: a cursor on every page with rows, ids of projects, whole seconds, administrators', async () => {
  const { api, control, project, organization, sandbox } = await projectFixture();
  await control('/settings', {
    method: 'PUT',
    body: { pagination: 'every_page', times: 'seconds', project_keys: 'administrators' },
  });
  interface Page {
    operations: { id: string; created_at: string }[];
    projects: { id: string }[];
    pagination?: { cursor: string };
  }
  const read = async (path: string, cursor?: string) =>
    (await api<Page>(`${path}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)).body;
  const operations = `/projects/${project}/operations?limit=1000`;
  const page = await read(operations);
  expect(page.operations.every(({ created_at: at }) => /:\d\dZ$/.test(at))).toBe(true);
  expect(page.pagination?.cursor).toMatch(/\.\d+Z$/);
  // A list and a single operation have their times rendered in two places.
  for (const operation of page.operations)
    expect((await api(`/projects/${project}/operations/${operation.id}`)).body).toEqual({ operation });
  const end = await read(operations, page.pagination?.cursor);
  expect([end.operations, end.pagination]).toEqual([[], undefined]);
  const projects = `/projects?org_id=${organization}&limit=10`;
  const listed = await read(projects);
  expect(listed.pagination?.cursor).toBe(listed.projects.at(-1)?.id);
  expect((await read(projects, listed.pagination?.cursor)).projects).toEqual([]);
  const mint = await fetch(`${sandbox.url}/organizations/${organization}/api_keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key_name: 'of a project', project_id: project }),
  });
  expect(mint.status).toBe(200);
});

test('a sandbox that closes ends the requests that still run, before it closes its database', async () => {
  const complaint = vi.spyOn(console, 'error');
  let readings = 0;
  const realNowMs = () => {
    readings += 1;
    return Date.now();
  };
  const sandbox = await createSandbox({ realNowMs });
  const controls = createControls(sandbox.controlUrl);
  await controls.setFaults([{ method: 'GET', path: '/auth', kind: 'latency', latency_ms: 60_000 }]);
  const headers = { authorization: `Bearer ${sandbox.adminKey}` };
  const ended = fetch(`${sandbox.url}/auth`, { headers }).then(
    () => 'answered',
    () => 'cut',
  );
  await until(async () => (await controls.stats()).requests === 1);
  const before = readings;
  await sandbox.close();
  expect(await ended).toBe('cut');
  // The request has looked at the clock again after its wait.
  expect(readings).toBeGreaterThan(before);
  expect(complaint).not.toHaveBeenCalled();
});
