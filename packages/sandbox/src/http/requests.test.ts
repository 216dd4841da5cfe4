import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

test('invalid requests get the service’s status and error body, and change nothing', async () => {
  const { api, organization, project, branch } = await projectFixture();
  const at = `/projects/${project}`;
  const keys = `/organizations/${organization}/api_keys`;
  const json = { 'content-type': 'application/json' };
  const consumption = `/consumption_history/projects?org_id=${organization}`;
  const span = 'from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z';
  const wrong: [status: number, method: string, path: string, body?: unknown, headers?: Record<string, string>][] = [
    [400, 'GET', `${at}/operations?cursor=yesterday`],
    [400, 'GET', `${at}/operations?limit=0`],
    [400, 'GET', `${at}/operations?limit=1001`],
    [400, 'GET', `${at}/operations?limit=ten`],
    [400, 'GET', `/projects?org_id=${organization}&limit=401`],
    [400, 'GET', `/projects?org_id=${organization}&cursor=x`],
    [400, 'GET', `/projects?org_id=${organization}&recoverable=perhaps`],
    [400, 'GET', `/organizations/${organization}/members?limit=501`],
    [400, 'GET', `/organizations/${organization}/members?sort_by=mood`],
    [400, 'GET', `/organizations/${organization}/members?cursor=%25`],
    [400, 'GET', `${at}/branches?limit=10001`],
    [400, 'GET', `${at}/branches?sort_order=up`],
    [400, 'GET', `${at}/branches?sort_by=constructor`],
    [400, 'GET', `${consumption}&granularity=constructor&${span}`],
    [406, 'GET', `${consumption}&granularity=hourly&from=1990-01-01T00:00:00Z&to=2026-01-01T00:00:00Z`],
    [400, 'POST', `${at}/branches`, { branch: { expires_at: '9999-01-01T00:00:00Z' } }],
    [400, 'POST', `${at}/transfer_requests`, { ttl_seconds: 1e13 }],
    [404, 'DELETE', `${keys}/9223372036854775807`],
    [400, 'GET', `${at}/connection_uri?database_name=neondb`],
    [400, 'GET', `${consumption}&${span}`],
    [400, 'GET', `${consumption}&granularity=weekly&${span}`],
    [406, 'GET', `${consumption}&granularity=daily&${span}`],
    [400, 'GET', `${consumption}&granularity=daily&from=2020-02-01T00:00:00Z&to=2020-01-01T00:00:00Z`],
    [404, 'GET', '/nowhere'],
    [404, 'PUT', '/projects'],
    [404, 'GET', `${at}/operations/none`],
    [404, 'GET', `${at}/branches/none`],
    [404, 'POST', `${at}/branches`, { branch: { parent_id: 'none' } }],
    [400, 'POST', keys, {}],
    [400, 'POST', keys, { key_name: '' }],
    [400, 'POST', keys, { key_name: 'x'.repeat(65) }],
    [400, 'POST', keys, '{"key_name":'],
    [400, 'POST', keys, '[]'],
    [415, 'POST', keys, 'key_name=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    [415, 'POST', keys, '{"key_name":"x"}', { 'content-type': 'text/plain' }],
    [400, 'DELETE', `${keys}/abc`],
    [400, 'POST', '/projects', { project: { org_id: organization, pg_version: 9 } }],
    [400, 'POST', '/projects', { project: { org_id: organization, region_id: 'moon-1' } }],
    [400, 'PATCH', at, { project: { history_retention_seconds: -1 } }],
    [422, 'POST', `${at}/branches`, { branch: { expires_at: '2001-01-01T00:00:00Z' } }],
    [400, 'POST', `${at}/branches`, { branch: { expires_at: 'soon' } }],
    [
      422,
      'POST',
      `${at}/branches`,
      { endpoints: [{ type: 'read_only', autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 1 }] },
    ],
    [404, 'POST', `${at}/jwks`, { jwks_url: 'https://keys.example', provider_name: 'x', branch_id: 'none' }],
    [422, 'POST', `${at}/branches/${branch}/databases`, { database: { name: 'x', owner_name: 'nobody' } }],
  ];
  for (const [status, method, path, body, headers] of wrong) {
    const answer = await api(path, { method, body, headers: { ...json, ...headers } });
    const seen = { method, path, sent: body, ...answer };
    expect(seen).toEqual({
      method,
      path,
      sent: body,
      status,
      body: { request_id: expect.any(String), code: '', message: expect.stringMatching(/./) },
    });
  }
  const { branches } = (await api<{ branches: unknown[] }>(`${at}/branches`)).body;
  expect(branches).toHaveLength(1);
  expect((await api<unknown[]>(keys)).body).toEqual([]);
});

test('an unserved route of the API document gets 501, an unknown route 404', async () => {
  const { api, project } = await projectFixture();
  const unserved = await api<{ message: string }>(`/projects/${project}/advisors`);
  expect([unserved.status, unserved.body.message]).toEqual([
    501,
    'the sandbox does not serve GET /projects/{project_id}/advisors',
  ]);
  expect((await api(`/projects/${project}/nothing`)).status).toBe(404);
  expect((await api(`/projects/${project}/advisors`, { method: 'PUT' })).status).toBe(404);
});

test('each response has a request id, and repeats the id that a client sent', async () => {
  const { sandbox } = await projectFixture();
  const ask = async (headers: Record<string, string>) => {
    const answer = await fetch(`${sandbox.url}/projects/none`, {
      headers: { authorization: `Bearer ${sandbox.adminKey}`, ...headers },
    });
    const { request_id: id } = (await answer.json()) as { request_id: string };
    return [answer.headers.get('x-neon-ret-request-id'), id];
  };
  expect(await ask({ 'x-request-id': 'mine' })).toEqual(['mine', 'mine']);
  const [header, body] = await ask({});
  expect(header).toBe(body);
  expect(header).toMatch(/^[\da-f-]{36}$/);
});

test.each([
  ['POST', '/branches/{branch}/snapshot?lsn=zz', undefined],
  ['POST', '/branches/{branch}/restore', { source_branch_id: '{branch}', source_lsn: 'zz' }],
  ['PATCH', '', { project: { settings: { allowed_ips: { ips: ['999.1.1.1'] } } } }],
  ['PATCH', '', { project: { settings: { quota: { active_time_seconds: -1 } } } }],
  ['PATCH', '', { project: { default_endpoint_settings: { suspend_timeout_seconds: -2 } } }],
])('%s %s with impossible values is refused', async (method, path, body) => {
  const { api, project, branch } = await projectFixture();
  const filled = JSON.parse(JSON.stringify(body ?? null).replaceAll('{branch}', branch)) as object | null;
  const answer = await api<{ message: string }>(`/projects/${project}${path.replace('{branch}', branch)}`, {
    method,
    ...(filled === null ? {} : { body: filled }),
  });
  expect([answer.status, typeof answer.body.message]).toEqual([400, 'string']);
});

test('addresses and ranges, no time limit, and flags as Python writes them are accepted', async () => {
  const { api, project } = await projectFixture();
  const settings = { allowed_ips: { ips: ['10.0.0.1', '10.0.0.0/8', '192.168.1.1-192.168.1.9', '2001:db8::/32'] } };
  const change = { settings, default_endpoint_settings: { suspend_timeout_seconds: -1 } };
  expect((await api(`/projects/${project}`, { method: 'PATCH', body: { project: change } })).status).toBe(200);
  const named = 'database_name=neondb&role_name=neondb_owner&pooled=True';
  const { status, body } = await api<{ uri: string }>(`/projects/${project}/connection_uri?${named}`);
  expect([status, body.uri.includes('-pooler')]).toEqual([200, true]);
});
