import { companyFixture, type Operation, projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

const at = { realNowMs: () => Date.parse('2026-06-15T12:00:00Z') };

test('a fault affects the requests that its method, path, after and times select, and an empty list ends all faults', async () => {
  const { api, control, organization } = await companyFixture();
  const keys = `/organizations/${organization}/api_keys`;
  const fault = {
    method: 'get',
    path: '/organizations/{org_id}/api_keys',
    kind: 'status',
    status: 503,
    after: 1,
    times: 2,
  };
  await control('/faults', { method: 'PUT', body: [fault] });
  const statuses = [];
  for (let index = 0; index < 4; index += 1) statuses.push((await api(keys)).status);
  expect(statuses).toEqual([200, 503, 503, 200]);
  expect((await api(keys, { body: { key_name: 'x' } })).status).toBe(200);
  await control('/faults', { method: 'PUT', body: [{ kind: 'status', status: 500 }] });
  expect((await api('/auth')).status).toBe(500);
  await control('/faults', { method: 'PUT', body: [] });
  expect((await api('/auth')).status).toBe(200);
});

test('a dropped connection leaves nothing done; a lost response leaves it done', async () => {
  const { api, control, organization } = await companyFixture();
  const keys = `/organizations/${organization}/api_keys`;
  const count = async () => (await control<unknown[]>('/keys')).body.length;
  const before = await count();
  await control('/faults', { method: 'PUT', body: [{ method: 'POST', kind: 'drop' }] });
  await expect(api(keys, { body: { key_name: 'x' } })).rejects.toThrow('fetch failed');
  expect(await count()).toBe(before);
  await control('/faults', { method: 'PUT', body: [{ method: 'POST', kind: 'lose_response' }] });
  await expect(api(keys, { body: { key_name: 'x' } })).rejects.toThrow('fetch failed');
  expect(await count()).toBe(before + 1);
});

test('a truncated body ends before its declared length', async () => {
  const { api, control } = await companyFixture();
  await control('/faults', { method: 'PUT', body: [{ kind: 'truncate', times: 1 }] });
  await expect(api('/users/me')).rejects.toThrow('terminated');
  expect((await api('/users/me')).status).toBe(200);
});

test('late commits: rows appear below rows that were already listed, with the time at which they were made', async () => {
  const { api, control, project, branch, settle, advance } = await projectFixture(at);
  const list = async () => (await api<{ operations: Operation[] }>(`/projects/${project}/operations`)).body.operations;
  const branches = '/projects/{project_id}/branches';
  await control('/faults', {
    method: 'PUT',
    body: [{ method: 'POST', path: branches, kind: 'late_commit', latency_ms: 60_000 }],
  });
  const [late] = (await api<{ operations: Operation[] }>(`/projects/${project}/branches`, { body: {} })).body
    .operations;
  expect((await list()).map(({ id }) => id)).not.toContain(late?.id);
  expect((await api(`/projects/${project}/operations/${late?.id}`)).status).toBe(404);
  await advance(10);
  await api(`/projects/${project}/branches/${branch}/roles`, { body: { role: { name: 'reporter' } } });
  await settle(project);
  const [newest] = await list();
  expect(newest?.action).toBe('apply_config');
  await advance(60);
  const seen = await list();
  expect(seen.map(({ id }) => id).indexOf(late?.id ?? '')).toBe(1);
  expect(seen[1]).toMatchObject({ status: 'finished', created_at: late?.created_at });
});

test('late commits without a route also apply to the control plane’s own work', async () => {
  const { api, control, project, advance } = await companyFixture(at);
  const newest = async () =>
    (await api<{ operations: Operation[] }>(`/projects/${project}/operations?limit=1`)).body.operations[0]?.id;
  const before = await newest();
  await control('/faults', { method: 'PUT', body: [{ kind: 'late_commit', latency_ms: 86_400_000 }] });
  const total = async () =>
    (await control<{ id: string; operations: number }[]>('/projects')).body.find(({ id }) => id === project)
      ?.operations;
  const made = Number(await total());
  await advance(30 * 3600);
  expect(await total()).toBe(made + 1);
  expect(await newest()).toBe(before);
  await advance(24 * 3600);
  expect(await newest()).not.toBe(before);
});

test('a late last use: lists show the earlier value, the revoke response the true one', async () => {
  const { api, control, organization, advance } = await companyFixture(at);
  const keys = `/organizations/${organization}/api_keys`;
  const minted = (await api<{ id: number; key: string }>(keys, { body: { key_name: 'used' } })).body;
  const fault = {
    method: 'GET',
    path: '/organizations/{org_id}/api_keys',
    kind: 'late_last_used',
    latency_ms: 3_600_000,
  };
  await control('/faults', { method: 'PUT', body: [fault] });
  interface Key {
    id: number;
    last_used_at: string | null;
    last_used_from_addr: string;
  }
  const listed = async () => (await api<Key[]>(keys)).body.find(({ id }) => id === minted.id);
  const use = async (address: string) =>
    await api('/auth', { key: minted.key, headers: { 'x-forwarded-for': address } });
  await use('203.0.113.1');
  expect(await listed()).toMatchObject({ last_used_at: null, last_used_from_addr: '' });
  await advance(3601);
  expect(await listed()).toMatchObject({ last_used_from_addr: '203.0.113.1' });
  const first = (await listed())?.last_used_at;
  await use('203.0.113.2');
  expect(await listed()).toMatchObject({ last_used_at: first, last_used_from_addr: '203.0.113.1' });
  const revoked = (await api<Key>(`${keys}/${minted.id}`, { method: 'DELETE' })).body;
  expect(revoked.last_used_from_addr).toBe('203.0.113.2');
  expect(Date.parse(revoked.last_used_at ?? '')).toBeGreaterThan(Date.parse(first ?? ''));
});

test('half a page of projects is left out and listed as unavailable', async () => {
  const { api, control, organization } = await companyFixture();
  const list = async () =>
    (await api<{ projects: unknown[]; unavailable_project_ids?: string[] }>(`/projects?org_id=${organization}`)).body;
  const whole = await list();
  await control('/faults', { method: 'PUT', body: [{ path: '/projects', kind: 'partial_projects' }] });
  const half = await list();
  expect(half.projects.length + (half.unavailable_project_ids?.length ?? 0)).toBe(whole.projects.length);
  expect(half.unavailable_project_ids?.length).toBeGreaterThan(0);
});

test('operations can be added with one time, late, and in progress', async () => {
  const { control, advance, project } = await projectFixture(at);
  const add = async (groups: object[]) =>
    (await control<string[][]>('/operations', { body: { project_id: project, groups } })).body;
  const served = async () => (await control<{ served: string[] }>(`/operations?project_id=${project}`)).body.served;
  const [same, late] = await add([
    { count: 3, age_seconds: 60 },
    { count: 2, age_seconds: 90, late_seconds: 600 },
  ]);
  expect(same).toHaveLength(3);
  expect(await served()).toEqual(expect.arrayContaining(same ?? []));
  expect(await served()).not.toContain(late?.[0]);
  await advance(601);
  expect(await served()).toEqual(expect.arrayContaining(late ?? []));
});

test('a status may come as a gateway’s HTML page, with a custom message, and with either form of Retry-After', async () => {
  const { api, control, sandbox, project } = await projectFixture();
  const path = '/projects/{project_id}';
  const ask = async () =>
    await fetch(`${sandbox.url}/projects/${project}`, { headers: { authorization: `Bearer ${sandbox.adminKey}` } });
  const date = 'Mon, 15 Jun 2026 12:00:00 GMT';
  const faults = [
    { kind: 'status', path, status: 523, body: 'html', times: 1 },
    { kind: 'status', path, status: 503, retry_after: '25', after: 1, times: 1 },
    { kind: 'status', path, status: 429, retry_after: date, after: 2, times: 1 },
    { kind: 'status', path, status: 422, message: 'branch not ready yet', after: 3, times: 1 },
  ];
  await control('/faults', { method: 'PUT', body: faults });
  const page = await ask();
  expect([page.status, page.headers.get('content-type')]).toEqual([523, expect.stringMatching(/^text\/html/)]);
  expect((await ask()).headers.get('retry-after')).toBe('25');
  expect((await ask()).headers.get('retry-after')).toBe(date);
  expect((await api<{ message: string }>(`/projects/${project}`)).body.message).toBe('branch not ready yet');
  expect((await ask()).status).toBe(200);
});
