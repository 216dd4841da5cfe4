import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, noLimits, type Sandbox } from './index.ts';
import { readContract } from './testing/contract.ts';

const contract = readContract();
const touched = new Set<string>();
let sandbox: Sandbox;
let organization: string;
let project: string;
let servedRoutes: string[];

beforeAll(async () => {
  sandbox = await createSandbox({ limits: noLimits });
  servedRoutes = sandbox.app.routes
    .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.replace('/api/v2', '').replace(/:(\w+)/g, '{$1}')}`);
  const company = { organizations: 2, projects: 6, keys: 60, operations: 3000 };
  await fetch(`${sandbox.controlUrl}/generate`, { method: 'POST', body: JSON.stringify(company) });
  const { organizations } = (await expectAnswer('GET /users/me/organizations')) as { organizations: { id: string }[] };
  organization = organizations[0]?.id ?? '';
  const { projects } = (await expectAnswer('GET /projects', { query: `?org_id=${organization}` })) as {
    projects: { id: string }[];
  };
  project = projects[0]?.id ?? '';
});
afterAll(async () => await sandbox.close());

/** Asks by a route's pattern and holds the answer against the contract, whatever its status. */
async function expectAnswer(
  route: string,
  {
    query = '',
    ids = {},
    body,
    key = sandbox.adminKey,
  }: { query?: string; ids?: Record<string, string>; body?: unknown; key?: string } = {},
): Promise<unknown> {
  const [method = '', pattern = ''] = route.split(' ');
  const known: Record<string, string> = { org_id: organization, project_id: project, ...ids };
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => known[name] ?? 'none');
  const response = await fetch(`${sandbox.url}${path}${query}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  expect(contract.findFault(route, response.status, answer), `${route} ${response.status}`).toBeNull();
  if (response.ok) touched.add(route);
  return answer;
}

test('every answer that is no error is as the contract has it', async () => {
  await expectAnswer('GET /auth');
  await expectAnswer('GET /users/me');
  await expectAnswer('GET /organizations/{org_id}');
  await expectAnswer('GET /organizations/{org_id}/members', { query: '?limit=2' });
  await expectAnswer('GET /projects', { query: `?org_id=${organization}&limit=1` });
  await expectAnswer('GET /projects/{project_id}');
  const { operations } = (await expectAnswer('GET /projects/{project_id}/operations', { query: '?limit=1000' })) as {
    operations: { id: string }[];
  };
  await expectAnswer('GET /projects/{project_id}/operations/{operation_id}', {
    ids: { operation_id: operations[0]?.id ?? '' },
  });
  await expectAnswer('GET /api_keys');
  await expectAnswer('GET /organizations/{org_id}/api_keys');
  const personal = (await expectAnswer('POST /api_keys', { body: { key_name: 'mine' } })) as { id: number };
  await expectAnswer('DELETE /api_keys/{key_id}', { ids: { key_id: String(personal.id) } });
  const scoped = { key_name: 'scoped', project_id: project };
  const minted = (await expectAnswer('POST /organizations/{org_id}/api_keys', { body: scoped })) as { id: number };
  await expectAnswer('DELETE /organizations/{org_id}/api_keys/{key_id}', { ids: { key_id: String(minted.id) } });
});

test('every refusal has the error body', async () => {
  for (const route of servedRoutes) {
    await expectAnswer(route, { key: 'napi_wrong', ...(route.startsWith('POST') ? { body: {} } : {}) });
    await expectAnswer(route, {
      ids: { org_id: 'none', project_id: 'none' },
      ...(route.startsWith('POST') ? { body: { key_name: '' } } : {}),
    });
  }
});

test('each route that the sandbox serves is in the contract and was touched', () => {
  expect(contract.routes).toEqual(expect.arrayContaining(servedRoutes));
  expect([...touched].toSorted()).toEqual(servedRoutes.toSorted());
});

test('the contract would find a fault: a field of another type, a status that is not documented', () => {
  expect(contract.findFault('GET /auth', 200, { account_id: 1, auth_method: 'api_key_user' })).toMatch(
    /account_id must be string/,
  );
  expect(contract.findFault('GET /auth', 201, {})).toMatch(/not documented/);
});
