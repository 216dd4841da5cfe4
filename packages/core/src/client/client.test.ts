import { clientFixture, failure } from '@keywarden/testkit/client/fixture';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { noLimiter } from './limiter.ts';
import { collect, items } from './pagination.ts';

async function companyFixture(options: Parameters<typeof clientFixture>[0] = {}) {
  const fixture = await clientFixture(options);
  await fixture.controls.setLimits({ per_minute: null, per_second_per_route: null, org_key_creation_per_second: null });
  await fixture.controls.generate({ organizations: 1, projects: 12, keys: 30, operations: 3000 });
  const client = fixture.client();
  const { items: organizations } = await collect(client.currentUserOrganizations());
  const organization = organizations[0]?.id ?? '';
  const { items: projects } = await collect(client.projects(organization));
  return { ...fixture, client, organization, project: projects[0]?.id ?? '', projects };
}

test('every read is typed, and keeps unknown fields', async () => {
  const { client, organization, project } = await companyFixture();
  expect(await client.auth()).toMatchObject({ authMethod: 'api_key_user', server: 'keywarden-sandbox' });
  expect(await client.currentUser()).toEqual(expect.objectContaining({ email: 'administrator@company.example' }));
  expect((await client.organization(organization)).extra).toMatchObject({ plan: 'scale', managed_by: 'console' });
  const { items: members } = await collect(client.members(organization));
  expect(members).toContainEqual(expect.objectContaining({ email: 'administrator@company.example', role: 'admin' }));
  const page = await client.operationsPage(project, { limit: 1 });
  const [operation] = page.items;
  expect(await client.operation(project, operation?.id ?? '')).toEqual(operation);
  const { items: keys } = await collect(client.organizationKeys(organization));
  expect(keys.map(({ id }) => id).every((id) => /^\d+$/.test(id))).toBe(true);
});

test('a response about another operation than the requested one is an error', async () => {
  const { client: honest, project } = await companyFixture();
  const [one, other] = (await honest.operationsPage(project, { limit: 2 })).items;
  const { client } = await clientFixture();
  const body = JSON.stringify({
    operation: {
      id: other?.id,
      project_id: project,
      action: 'x',
      status: 'finished',
      failures_count: 0,
      created_at: other?.createdAt,
      updated_at: other?.updatedAt,
    },
  });
  const odd = client({
    fetch: async () => await Promise.resolve(new Response(body, { headers: { 'content-type': 'application/json' } })),
  });
  expect((await failure(odd.operation(project, one?.id ?? ''))).code).toBe('invalid_response');
  expect(await odd.operation(project, other?.id ?? '')).toMatchObject({ id: other?.id });
  expect((await failure(odd.operation('another', other?.id ?? ''))).code).toBe('invalid_response');
});

test('lists come in pages of the requested size or row by row, from any cursor', async () => {
  const { client, organization, projects } = await companyFixture();
  const sizes = [];
  let second: string | null = null;
  for await (const page of client.projects(organization, { limit: 5 })) {
    sizes.push(page.items.length);
    second ??= page.cursor;
  }
  // The service ends a list with an empty page.
  expect(sizes).toEqual([5, 5, 2, 0]);
  const ids = [];
  for await (const { id } of items(client.projects(organization, { limit: 5 }))) ids.push(id);
  expect(ids).toEqual(projects.map(({ id }) => id));
  const rest = await collect(client.projects(organization, { limit: 5, cursor: second ?? undefined }));
  expect(rest.items.map(({ id }) => id)).toEqual(ids.slice(5));
  const members = await collect(client.members(organization, { limit: 2 }));
  expect(new Set(members.items.map(({ id }) => id)).size).toBe(members.items.length);
});

test('keys of all kinds are minted and revoked; only the response to minting contains the secret', async () => {
  const { client, organization, project, sandbox } = await companyFixture();
  const mine = await client.createPersonalKey('mine');
  const ours = await client.createOrganizationKey(organization, { name: 'ours' });
  const scoped = await client.createOrganizationKey(organization, { name: 'scoped', projectId: project });
  expect([mine, ours, scoped].map(({ secret }) => secret.slice(0, 5))).toEqual(['napi_', 'napi_', 'napi_']);
  expect(sandbox.adminKey).not.toBe(mine.secret);
  const { items: keys } = await collect(client.organizationKeys(organization));
  expect(keys.find(({ id }) => id === scoped.id)).toMatchObject({ name: 'scoped', projectId: project });
  expect(await client.revokeOrganizationKey(organization, scoped.id)).toMatchObject({ id: scoped.id, revoked: true });
  expect(await client.revokeOrganizationKey(organization, ours.id)).toMatchObject({ revoked: true });
  expect(await client.revokePersonalKey(mine.id)).toMatchObject({ revoked: true });
  expect((await failure(client.revokePersonalKey(mine.id))).code).toBe('not_found');
});

test('a revocation that its last check rejects, or whose caller has stopped, is not sent', async () => {
  const { client, sandbox } = await clientFixture();
  const beforeSend = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('judged otherwise');
  };
  for (const revoke of [
    async (write: object) => await client().revokePersonalKey('5', write),
    async (write: object) => await client().revokeOrganizationKey('acme', '5', write),
    async (write: object) => await client().revokeBranchCredential({ projectId: 'p', branchId: 'b' }, 't', write),
  ]) {
    await expect(revoke({ beforeSend })).rejects.toThrow('judged otherwise');
    expect((await failure(revoke({ signal: AbortSignal.abort() }))).code).toBe('aborted');
  }
  const stats = await createControls(sandbox.controlUrl).stats();
  expect(stats.requests).toBe(0);
});

test('each method of a route is counted for itself, and an error has the wait that its response asks for', async () => {
  const { client } = await clientFixture();
  const counted: string[] = [];
  const limiter = { ...noLimiter, wait: async (route: string) => void counted.push(route) };
  const fetch = async () => await Promise.resolve(new Response('{}', { status: 423, headers: { 'retry-after': '7' } }));
  const busy = client({ limiter, fetch });
  expect(await failure(busy.revokePersonalKey('5'))).toMatchObject({ code: 'locked', retryAfterMs: 7000 });
  await failure(busy.createOrganizationKey('acme', { name: 'x' }));
  await failure(collect(busy.organizationKeys('acme')));
  const route = '/organizations/{org_id}/api_keys';
  expect([...new Set(counted)]).toEqual(['DELETE /api_keys/{key_id}', `POST ${route}`, `GET ${route}`]);
});

test('a branch is created, and the client waits for its operations', async () => {
  const { client, project, controls, slept } = await companyFixture();
  const { branch, operations } = await client.createBranch(project, { name: 'preview', endpoints: ['read_write'] });
  expect(branch).toMatchObject({ name: 'preview', parentId: expect.any(String) });
  expect(operations.map(({ action, status }) => [action, status])).toEqual([
    ['create_branch', 'running'],
    ['start_compute', 'scheduling'],
  ]);
  const waiting = client.waitForOperations(operations);
  await controls.advance(10);
  const ends = await waiting;
  expect(ends.map(({ outcome }) => outcome)).toEqual(['finished', 'finished']);
  expect(new Set(slept)).toEqual(slept.length === 0 ? new Set() : new Set([5000]));
});

test('a second branch is refused after five attempts while the first one is being created', async () => {
  // The first branch is not done before the last attempt, however slow the machine is.
  const nowMs = Date.now();
  const { client, project, controls, slept } = await companyFixture({ realNowMs: () => nowMs });
  await controls.setWork({ request_trouble: 0 });
  await client.createBranch(project, {});
  slept.length = 0;
  const error = await failure(client.createBranch(project, {}));
  expect(error).toMatchObject({ code: 'locked', status: 423, canRetry: true });
  expect(slept).toEqual([100, 200, 400, 800]);
});

test('T3: a secret in an unknown field of a list of keys is left out', async () => {
  const row = { id: 7, name: 'ci', created_at: '2026-01-01T00:00:00Z', key: 'abc', note: 'napi_abc', region: 'eu' };
  const nested = {
    credential: { key: 'abc' },
    tokens: ['x'],
    api_key: 'opaque',
    list: [{ of: 'napi_abc' }],
    zone: { a: 1 },
  };
  const fetch = () => Promise.resolve(Response.json({ api_keys: [row, { ...row, ...nested, id: 8 }] }));
  const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'k', fetch });
  const { items } = await collect(client.organizationKeys('acme'));
  expect(items.map(({ extra }) => extra)).toEqual([{ region: 'eu' }, { region: 'eu', zone: { a: 1 } }]);
});
