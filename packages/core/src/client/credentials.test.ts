import { answering, clientFixture, failure } from '@keywarden/testkit/client/fixture';
import { expect, test } from 'vitest';
import { type OtherKind, otherKinds } from '../wire/index.ts';
import { collect } from './pagination.ts';

async function companyFixture() {
  const fixture = await clientFixture();
  await fixture.controls.setLimits({ per_minute: null, per_second_per_route: null, org_key_creation_per_second: null });
  await fixture.controls.generate({ organizations: 1, projects: 30, keys: 0, operations: 0 });
  const client = fixture.client();
  const { items: organizations } = await collect(client.currentUserOrganizations());
  const { items: projects } = await collect(client.projects(organizations[0]?.id ?? ''));
  const places = await Promise.all(
    projects.map(async ({ id }) => ({ projectId: id, branches: (await collect(client.branches(id))).items })),
  );
  return { ...fixture, client, places };
}

test('every kind of credential is listed, and those of branches branch by branch', async () => {
  const { client, places } = await companyFixture();
  const found = new Map<OtherKind, number>();
  for (const { projectId, branches } of places) {
    for (const kind of otherKinds) {
      const isOfBranch = kind === 'branch_credential' || kind === 'role';
      for (const branchId of isOfBranch ? branches.map(({ id }) => id) : [null]) {
        const { items, rejected } = await collect(client.credentials(kind, { projectId, branchId }));
        expect(rejected).toEqual([]);
        for (const item of items) expect(item).toMatchObject({ kind, projectId, createdBy: { id: 'unknown' } });
        found.set(kind, (found.get(kind) ?? 0) + items.length);
      }
    }
  }
  expect(otherKinds.filter((kind) => (found.get(kind) ?? 0) === 0)).toEqual([]);
});

test('a revoked branch credential stays in its list with its revocation time; revoking an unknown one is an error', async () => {
  const { client, places, sandbox } = await companyFixture();
  const place = { projectId: places[0]?.projectId ?? '', branchId: places[0]?.branches[0]?.id ?? '' };
  const path = `${sandbox.url}/projects/${place.projectId}/branches/${place.branchId}/credentials`;
  const issued = await fetch(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'backup', scopes: ['storage:read'], principal_type: 'user' }),
  });
  const { token_id: id } = (await issued.json()) as { token_id: string };
  const shown = async () =>
    (await collect(client.credentials('branch_credential', place))).items.find(
      (each) => each.id === `${place.branchId}/${id}`,
    );
  expect(await shown()).toMatchObject({ name: 'backup', revokedAt: null, expiresAt: null });
  expect(await client.revokeBranchCredential(place, id)).toBeUndefined();
  expect((await shown())?.revokedAt).toMatch(/Z$/);
  expect((await failure(client.revokeBranchCredential(place, 'nak_live_0'))).code).toBe('not_found');
});

/** Returns a client of a service that answers each request with `body`. */
async function told(body: unknown) {
  const baseUrl = await answering((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', date: new Date().toUTCString() });
    response.end(JSON.stringify(body));
  });
  const { client } = await clientFixture();
  return client({ baseUrl });
}

const place = { projectId: 'p', branchId: 'b' };

test('no secret in a response is read, wherever it is', async () => {
  const secret = 'hidden';
  const at = '2026-01-01T00:00:00Z';
  const rows: [OtherKind, string, object][] = [
    [
      'branch_credential',
      'credentials',
      { token_id: 'nak_1', api_token: secret, s3_secret_access_key: secret, other: secret },
    ],
    ['role', 'roles', { name: 'app', password: secret, other: secret }],
    [
      'jwks',
      'jwks',
      { id: '1', provider_name: 'x', jwks_url: `https://user:${secret}@keys.example/set?token=${secret}#${secret}` },
    ],
    ['project_permission', 'project_permissions', { id: '1', granted_to_email: 'eve@agency.example', other: secret }],
    ['project_member', 'project_members', { member_id: '1', email: 'eve@agency.example', other: { token: secret } }],
  ];
  for (const [kind, list, row] of rows) {
    const client = await told({
      [list]: [
        { ...row, created_at: at },
        { odd: secret, password: secret, role: secret, secret_id: secret, used_at: secret },
      ],
    });
    const answer = await collect(client.credentials(kind, place));
    expect([kind, answer.items.length, answer.rejected.length]).toEqual([kind, 1, 1]);
    expect(JSON.stringify(answer)).not.toContain(secret);
  }
});

test('a role without a password is not a credential; absent or zero times are unknown, and a zero expiry means none', async () => {
  const zero = '0001-01-01T00:00:00Z';
  const roles = await told({
    roles: [
      { name: 'app', authentication_method: 'password', created_at: zero },
      { name: 'group', authentication_method: 'no_login' },
      { name: 'person', authentication_method: 'oauth' },
      { name: 'old' },
    ],
  });
  const { items } = await collect(roles.credentials('role', place));
  expect(items.map(({ id, createdAt }) => [id, createdAt])).toEqual([
    ['b/app', zero],
    ['b/old', zero],
  ]);
  const credentials = await told({
    credentials: [{ token_id: 'nak_1', expires_at: zero, last_used_at: zero, revoked_at: null }],
  });
  const [first] = (await collect(credentials.credentials('branch_credential', place))).items;
  expect(first).toMatchObject({ expiresAt: null, lastUsedAt: null, revokedAt: null });
});

test('a route that the service does not have (501) is requested once', async () => {
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    response.writeHead(501, { 'content-type': 'application/json' });
    response.end('{"code":"","message":"not here"}');
  });
  const { client } = await clientFixture();
  const error = await failure(collect(client({ baseUrl }).credentials('jwks', place)));
  expect([error.code, error.status, asked]).toEqual(['rejected', 501, 1]);
});
