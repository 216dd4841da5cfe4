import { readContract } from '@keywarden/testkit/sandbox/contract';
import { type Fixture, fixtureOf } from '@keywarden/testkit/sandbox/fixture';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, noLimits, type Sandbox } from './index.ts';

const contract = readContract();
const touched = new Set<string>();
let sandbox: Sandbox;
let fixture: Fixture;
let servedRoutes: string[];
const ids: Record<string, string> = {};

beforeAll(async () => {
  sandbox = await createSandbox({ limits: noLimits });
  fixture = fixtureOf(sandbox);
  servedRoutes = sandbox.app.routes
    .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.replace('/api/v2', '').replace(/:(\w+)/g, '{$1}')}`);
  const company = { organizations: 2, projects: 6, keys: 60, operations: 3000 };
  await fixture.control('/generate', { body: company });
});
afterAll(async () => await sandbox.close());

type Json = Record<string, unknown>;

/** Requests a route by its pattern and checks the response against the contract, for every status. */
async function expectAnswer(
  route: string,
  {
    query = '',
    at = {},
    body,
    key = sandbox.adminKey,
  }: { query?: string; at?: Record<string, string>; body?: unknown; key?: string } = {},
): Promise<Json> {
  const [method = '', pattern = ''] = route.split(' ');
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent({ ...ids, ...at }[name] ?? 'none'),
  );
  const answer = await fixture.api<Json>(`${path}${query}`, { method, key, ...(body === undefined ? {} : { body }) });
  expect(contract.findFault(route, answer.status, answer.body), `${route} ${answer.status}`).toBeNull();
  if (answer.status < 400) touched.add(route);
  return answer.body;
}

/** Does the same for a response that must not be an error, then waits for the project's operations. */
async function expectDone(route: string, asking: Parameters<typeof expectAnswer>[1] = {}): Promise<Json> {
  const answer = await expectAnswer(route, asking);
  expect(answer?.message, `${route}: ${String(answer?.message)}`).toBeUndefined();
  if (ids.project_id !== undefined) await fixture.settle(ids.project_id);
  return answer;
}

const idOf = (value: unknown): string => {
  const { id } = value as { id: unknown };
  return String(id);
};
const first = (value: unknown): unknown => (value as unknown[])[0];

test('organizations, members, users, regions and keys match the contract', async () => {
  await expectDone('GET /auth');
  await expectDone('GET /users/me');
  await expectDone('GET /regions');
  const { organizations } = await expectDone('GET /users/me/organizations');
  ids.org_id = idOf(first(organizations));
  ids.source_org_id = ids.org_id;
  ids.other = idOf((organizations as unknown[])[1]);
  await expectDone('GET /organizations/{org_id}');
  const { members } = await expectDone('GET /organizations/{org_id}/members', {
    query: '?limit=2&sort_by=email&sort_order=asc',
  });
  ids.member_id = idOf((members as { member: unknown }[])[1]?.member);
  await expectDone('GET /organizations/{org_id}/members/{member_id}');
  await expectDone('PATCH /organizations/{org_id}/members/{member_id}', { body: { role: 'member' } });
  await expectDone('DELETE /organizations/{org_id}/members/{member_id}');
  await expectDone('POST /organizations/{org_id}/invitations', {
    body: { invitations: [{ email: 'new@company.example', role: 'member' }] },
  });
  await expectDone('GET /organizations/{org_id}/invitations');
  await expectDone('GET /api_keys');
  await expectDone('GET /organizations/{org_id}/api_keys');
  const personal = await expectDone('POST /api_keys', { body: { key_name: 'mine' } });
  await expectDone('DELETE /api_keys/{key_id}', { at: { key_id: idOf(personal) } });
  const minted = await expectDone('POST /organizations/{org_id}/api_keys', { body: { key_name: 'ours' } });
  await expectDone('DELETE /organizations/{org_id}/api_keys/{key_id}', { at: { key_id: idOf(minted) } });
});

test('projects, operations and consumption match the contract', async () => {
  await expectDone('GET /projects', { query: `?org_id=${ids.org_id}&limit=1` });
  await expectDone('GET /projects/shared');
  const settings = { enable_logical_replication: true };
  const made = await expectDone('POST /projects', {
    body: { project: { org_id: ids.org_id, name: 'shop', settings } },
  });
  ids.project_id = idOf(made.project);
  ids.branch_id = idOf(made.branch);
  await fixture.settle(ids.project_id);
  await expectDone('GET /projects/{project_id}');
  await expectDone('PATCH /projects/{project_id}', {
    body: { project: { name: 'store', history_retention_seconds: 3600, settings } },
  });
  const granted = await expectDone('POST /projects/{project_id}/permissions', {
    body: { email: 'guest@company.example' },
  });
  await expectDone('GET /projects/{project_id}/permissions');
  await expectDone('DELETE /projects/{project_id}/permissions/{permission_id}', {
    at: { permission_id: idOf(granted) },
  });
  const { operations } = await expectDone('GET /projects/{project_id}/operations', { query: '?limit=2' });
  await expectDone('GET /projects/{project_id}/operations/{operation_id}', {
    at: { operation_id: idOf(first(operations)) },
  });
  const to = new Date();
  const from = new Date(to.getTime() - 3 * 86_400_000);
  const span = `?org_id=${ids.org_id}&granularity=daily&from=${from.toISOString()}&to=${to.toISOString()}`;
  await expectDone('GET /consumption_history/projects', { query: `${span}&limit=1` });
  await expectDone('GET /consumption_history/v2/projects', { query: `${span}&metrics=compute_unit_seconds` });
  await expectDone('GET /consumption_history/v2/branches', {
    query: `${span}&metrics=compute_unit_seconds,root_branch_bytes_month&project_ids=${ids.project_id}`,
  });
});

test('branches, computes, databases and roles match the contract', async () => {
  const branches = 'GET /projects/{project_id}/branches';
  const made = await expectDone('POST /projects/{project_id}/branches', {
    body: { branch: { name: 'staging' }, endpoints: [{ type: 'read_write' }], annotation_value: { team: 'shop' } },
  });
  const at = { branch_id: idOf(made.branch), endpoint_id: idOf(first(made.endpoints)) };
  await expectDone(branches, { query: '?limit=1&sort_by=name' });
  await expectDone(`${branches}/count`);
  await expectDone(`${branches}/{branch_id}`, { at });
  await expectDone('PATCH /projects/{project_id}/branches/{branch_id}', {
    at,
    body: { branch: { name: 'stage', expires_at: '2100-01-01T00:00:00Z' } },
  });
  await expectDone('POST /projects/{project_id}/branches/{branch_id}/restore', {
    at,
    body: { source_branch_id: ids.branch_id, preserve_under_name: 'before' },
  });
  await expectDone(`${branches}/{branch_id}/endpoints`, { at });
  await expectDone('POST /projects/{project_id}/endpoints', {
    body: { endpoint: { branch_id: at.branch_id, type: 'read_only', name: 'reader' } },
  });
  const endpoint = '/projects/{project_id}/endpoints/{endpoint_id}';
  await expectDone('GET /projects/{project_id}/endpoints');
  await expectDone(`GET ${endpoint}`, { at });
  await expectDone(`PATCH ${endpoint}`, { at, body: { endpoint: { autoscaling_limit_max_cu: 4 } } });
  for (const action of ['suspend', 'start', 'restart']) await expectDone(`POST ${endpoint}/${action}`, { at });

  const roles = '/projects/{project_id}/branches/{branch_id}/roles';
  await expectDone(`POST ${roles}`, { at, body: { role: { name: 'reporter' } } });
  const role = { ...at, role_name: 'reporter' };
  await expectDone(`GET ${roles}`, { at });
  await expectDone(`GET ${roles}/{role_name}`, { at: role });
  await expectDone(`GET ${roles}/{role_name}/reveal_password`, { at: role });
  await expectDone(`POST ${roles}/{role_name}/reset_password`, { at: role });
  const databases = '/projects/{project_id}/branches/{branch_id}/databases';
  await expectDone(`POST ${databases}`, { at, body: { database: { name: 'reports', owner_name: 'reporter' } } });
  const database = { ...at, database_name: 'reports' };
  await expectDone(`GET ${databases}`, { at });
  await expectDone(`GET ${databases}/{database_name}`, { at: database });
  await expectDone(`PATCH ${databases}/{database_name}`, { at: database, body: { database: { name: 'report' } } });
  await expectDone('GET /projects/{project_id}/connection_uri', {
    query: `?branch_id=${at.branch_id}&database_name=report&role_name=reporter&pooled=true`,
  });
  await expectDone(`DELETE ${databases}/{database_name}`, { at: { ...at, database_name: 'report' } });
  await expectDone(`DELETE ${roles}/{role_name}`, { at: role });
  await expectDone(`DELETE ${endpoint}`, { at });
  for (const [route, more] of [
    [`DELETE ${endpoint}`, at],
    [`DELETE ${roles}/{role_name}`, role],
    [`DELETE ${databases}/{database_name}`, database],
  ] as const) {
    expect(await expectAnswer(route, { at: more })).toBeNull(); // 204: it was already gone
  }
  await expectDone('DELETE /projects/{project_id}/branches/{branch_id}', { at });
  await expectDone(branches, { query: '?include_deleted=true' });
  await expectDone('POST /projects/{project_id}/branches/{branch_id}/recover', { at });
  await expectDone('POST /projects/{project_id}/branches/{branch_id}/set_as_default', { at });
});

test('other access to a project matches the contract: members, key sets, branch credentials', async () => {
  const { project_members: people } = await expectDone('GET /projects/{project_id}/members', { query: '?limit=3' });
  const other = (people as { member_id: string; org_role: string }[]).find((each) => each.org_role !== 'admin');
  const member = { at: { member_id: other?.member_id ?? '' } };
  await expectDone('PUT /projects/{project_id}/members/{member_id}/role', { ...member, body: { role: 'viewer' } });
  await expectDone('DELETE /projects/{project_id}/members/{member_id}/role', member);
  const { jwks } = await expectDone('POST /projects/{project_id}/jwks', {
    body: { jwks_url: 'https://keys.example/jwks.json', provider_name: 'Clerk' },
  });
  await expectDone('GET /projects/{project_id}/jwks');
  await expectDone('DELETE /projects/{project_id}/jwks/{jwks_id}', { at: { jwks_id: idOf(jwks) } });
  const credentials = '/projects/{project_id}/branches/{branch_id}/credentials';
  const { token_id: tokenId } = await expectDone(`POST ${credentials}`, {
    body: { name: 'uploads', scopes: ['storage:write'], principal_type: 'user' },
  });
  const at = { token_id: String(tokenId) };
  await expectDone(`POST ${credentials}/{token_id}/rotate`, { at });
  await expectDone(`POST ${credentials}/{token_id}/reveal`, { at });
  expect(await expectAnswer(`DELETE ${credentials}/{token_id}`, { at })).toBeNull();
  const { credentials: listed } = await expectDone(`GET ${credentials}`);
  expect(listed).toMatchObject([{ token_id: tokenId, revoked_at: expect.any(String) }]);
  expect(JSON.stringify(listed)).not.toContain('nsk_live');
});

test('schemas and backup schedules match the contract', async () => {
  const schema = '/projects/{project_id}/branches/{branch_id}/schema';
  await expectDone(`GET ${schema}`, { query: '?db_name=neondb' });
  expect(await expectDone(`GET ${schema}`, { query: '?db_name=neondb&format=json' })).toEqual({ json: { tables: [] } });
  expect((await expectAnswer(`GET ${schema}`, { query: '?db_name=none' })).message).toMatch(/database not found/);
  const compared = { query: `?db_name=neondb&base_branch_id=${ids.branch_id}` };
  expect(await expectDone('GET /projects/{project_id}/branches/{branch_id}/compare_schema', compared)).toEqual({
    diff: '',
  });
  const schedule = [{ frequency: 'daily', hour: 3, retention_seconds: 86_400 }];
  const backups = '/projects/{project_id}/branches/{branch_id}/backup_schedule';
  await expectDone(`PUT ${backups}`, { body: { schedule } });
  expect(await expectDone(`GET ${backups}`)).toEqual({ schedule });
});

test('snapshots match the contract', async () => {
  const { snapshot } = await expectDone('POST /projects/{project_id}/branches/{branch_id}/snapshot', {
    query: '?name=before-release',
  });
  const at = { snapshot_id: idOf(snapshot) };
  await expectDone('GET /projects/{project_id}/snapshots');
  await expectDone('PATCH /projects/{project_id}/snapshots/{snapshot_id}', {
    at,
    body: { snapshot: { name: 'kept' } },
  });
  const { branch } = await expectDone('POST /projects/{project_id}/snapshots/{snapshot_id}/restore', { at, body: {} });
  await expectDone('POST /projects/{project_id}/branches/{branch_id}/finalize_restore', {
    at: { branch_id: idOf(branch) },
    body: {},
  });
  await expectDone('DELETE /projects/{project_id}/snapshots/{snapshot_id}', { at });
});

test('deleting, recovering and transferring a project match the contract', async () => {
  await expectAnswer('DELETE /projects/{project_id}');
  await expectAnswer('GET /projects', { query: `?org_id=${ids.org_id}&recoverable=true` });
  await expectDone('POST /projects/{project_id}/recover');
  const offer = await expectDone('POST /projects/{project_id}/transfer_requests', { body: { ttl_seconds: 60 } });
  await expectAnswer('PUT /projects/{project_id}/transfer_requests/{request_id}', {
    at: { request_id: idOf(offer) },
    body: { org_id: ids.other },
  });
  const body = { destination_org_id: ids.org_id, project_ids: [ids.project_id] };
  await expectDone('POST /organizations/{source_org_id}/projects/transfer', {
    at: { source_org_id: ids.other ?? '' },
    body,
  });
});

test('every refusal has the error body', async () => {
  const none = { org_id: 'none', source_org_id: 'none', project_id: 'none' };
  for (const route of servedRoutes) {
    const body = /^(POST|PUT|PATCH)/.test(route) ? { body: { key_name: '' } } : {};
    await expectAnswer(route, { key: 'napi_wrong', ...body });
    await expectAnswer(route, { at: none, ...body });
    await expectAnswer(route, body);
  }
});

test('each route that the sandbox serves is in the contract and was tested', async () => {
  expect(contract.routes).toEqual(expect.arrayContaining(servedRoutes));
  expect([...touched].toSorted()).toEqual(servedRoutes.toSorted());
  const leftOut = contract.routes.filter((route) => !servedRoutes.includes(route));
  const share = (routes: string[]) => `${routes.length} of ${contract.routes.length}`;
  const lines = (title: string, routes: string[]) => [`${title}: ${share(routes)}`, ...routes.toSorted(), ''];
  const list = [...lines('served', servedRoutes), ...lines('left out', leftOut)].join('\n');
  await expect(list).toMatchFileSnapshot('../routes.txt');
});
