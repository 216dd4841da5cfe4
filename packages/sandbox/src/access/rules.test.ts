import { type Fixture, fixtureOf } from '@keywarden/testkit/sandbox/fixture';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, noLimits, type Sandbox } from '../index.ts';

// Permissions: each kind of key on each kind of route, with the status and the message of every refusal.

const notForOrganizations = 'not allowed for organization API keys';
const outside = (own: string) =>
  `not allowed to perform actions outside the project this key is scoped to; subject_project_id:"${own}"`;
const admins = (what: string) => `only organization admins are allowed to ${what}`;

type Who = 'admin' | 'member' | 'stranger' | 'organization' | 'project';
type Outcome = [status: number, message?: string];

let sandbox: Sandbox;
let fixture: Fixture;
const keys = new Map<Who, string>();
const names: Record<string, string> = {};

beforeAll(async () => {
  const secrets: string[] = [];
  sandbox = await createSandbox({ limits: noLimits, onSecret: (secret) => secrets.push(secret) });
  fixture = fixtureOf(sandbox);
  await fixture.control('/generate', { body: { organizations: 3, projects: 0, keys: 90, operations: 0 } });
  const { organizations } = (await fixture.api<{ organizations: { id: string }[] }>('/users/me/organizations')).body;
  [names.org = '', names.other = ''] = organizations.map(({ id }) => id);
  const make = async () => {
    const made = await fixture.api<{ project: { id: string }; branch: { id: string }; endpoints: { id: string }[] }>(
      '/projects',
      { body: { project: { org_id: names.org } } },
    );
    await fixture.settle(made.body.project.id);
    return made.body;
  };
  const [project, second] = [await make(), await make()];
  names.project = project.project.id;
  names.branch = project.branch.id;
  names.endpoint = project.endpoints[0]?.id ?? '';
  names.second = second.project.id;
  keys.set('admin', sandbox.adminKey);
  const minted = async (body: object) =>
    (await fixture.api<{ key: string }>(`/organizations/${names.org}/api_keys`, { body })).body.key;
  keys.set('organization', await minted({ key_name: 'organization' }));
  keys.set('project', await minted({ key_name: 'project', project_id: names.project }));
  await findPeople(secrets);
});
afterAll(async () => await sandbox.close());

/** Finds the personal keys of a member of the first organization, and of a member of only the other one. */
async function findPeople(secrets: string[]): Promise<void> {
  for (const key of secrets) {
    const { body } = await fixture.api<{ auth_method: string; account_id: string }>('/auth', { key });
    if (body.auth_method !== 'api_key_user' || key === sandbox.adminKey) continue;
    const { organizations } = (
      await fixture.api<{ organizations: { id: string }[] }>('/users/me/organizations', { key })
    ).body;
    const isInside = organizations.some(({ id }) => id === names.org);
    const isOutside = !isInside && organizations.some(({ id }) => id === names.other);
    const administers = (await fixture.api(`/organizations/${names.org}/api_keys`, { key })).status === 200;
    if (isInside && !administers) keys.set('member', key);
    if (isOutside) keys.set('stranger', key);
  }
  expect(keys.size).toBe(5);
}

const ok: Outcome = [200];
const created: Outcome = [201];
const noOrganization: Outcome = [404, 'organization not found'];
const noProject: Outcome = [404, 'project not found'];
const forPeople: Outcome = [404, notForOrganizations];
const scoped: Outcome = [404, 'outside'];

const noMember: Outcome = [404, 'organization member not found'];
const noJwks: Outcome = [404, 'jwks not found'];
const noCredential: Outcome = [404, 'credential not found'];
const roleAdmins = admins('change the roles of members in projects');

interface Rule {
  route: string;
  body?: unknown;
  outcomes: Record<Who, Outcome>;
}

/** In the order admin, member, stranger, organization key, project-scoped key. */
const of = (...[admin, member, stranger, organization, project]: [Outcome, Outcome, Outcome, Outcome, Outcome]) => ({
  admin,
  member,
  stranger,
  organization,
  project,
});

const keyAdmins: Outcome = [403, admins('manage organization API keys')];

const rules: Rule[] = [
  { route: 'GET /auth', outcomes: of(ok, ok, ok, ok, ok) },
  { route: 'GET /regions', outcomes: of(ok, ok, ok, ok, ok) },
  { route: 'GET /users/me', outcomes: of(ok, ok, ok, forPeople, forPeople) },
  { route: 'GET /users/me/organizations', outcomes: of(ok, ok, ok, forPeople, forPeople) },
  { route: 'GET /api_keys', outcomes: of(ok, ok, ok, forPeople, forPeople) },
  { route: 'POST /api_keys', body: { key_name: 'x' }, outcomes: of(ok, ok, ok, forPeople, forPeople) },
  {
    route: 'DELETE /api_keys/999',
    outcomes: of(
      [404, 'API key not found'],
      [404, 'API key not found'],
      [404, 'API key not found'],
      forPeople,
      forPeople,
    ),
  },
  { route: 'GET /organizations/{org}', outcomes: of(ok, ok, noOrganization, ok, scoped) },
  { route: 'GET /organizations/{org}/members', outcomes: of(ok, ok, noOrganization, ok, scoped) },
  {
    route: 'DELETE /organizations/{org}/members/none',
    outcomes: of(
      [404, 'organization member not found'],
      [403, admins('remove members')],
      noOrganization,
      [404, 'organization member not found'],
      scoped,
    ),
  },
  {
    route: 'PATCH /organizations/{org}/members/none',
    body: { role: 'admin' },
    outcomes: of(
      [404, 'organization member not found'],
      [403, admins('change the roles of members')],
      noOrganization,
      [404, 'organization member not found'],
      scoped,
    ),
  },
  {
    route: 'POST /organizations/{org}/invitations',
    body: { invitations: [{ email: 'x@company.example', role: 'member' }] },
    outcomes: of(ok, [403, admins('invite members')], noOrganization, ok, scoped),
  },
  { route: 'GET /organizations/{org}/api_keys', outcomes: of(ok, keyAdmins, noOrganization, ok, scoped) },
  {
    route: 'POST /organizations/{org}/api_keys',
    body: { key_name: 'x' },
    outcomes: of(ok, keyAdmins, noOrganization, forPeople, forPeople),
  },
  {
    route: 'POST /organizations/{org}/api_keys',
    body: { key_name: 'x', project_id: '{project}' },
    outcomes: of(ok, [403, admins('create project-scoped API keys')], noOrganization, forPeople, forPeople),
  },
  {
    route: 'POST /organizations/{other}/api_keys',
    body: { key_name: 'x', project_id: '{project}' },
    outcomes: of(noProject, noOrganization, [403, admins('create project-scoped API keys')], forPeople, forPeople),
  },
  {
    route: 'DELETE /organizations/{org}/api_keys/999',
    outcomes: of([404, 'API key not found'], keyAdmins, noOrganization, [404, 'API key not found'], scoped),
  },
  {
    route: 'GET /projects',
    outcomes: of(
      [400, 'org_id is required, you can find it on your organization settings page'],
      [400],
      [400],
      ok,
      scoped,
    ),
  },
  { route: 'GET /projects?org_id={org}', outcomes: of(ok, ok, noOrganization, ok, scoped) },
  { route: 'GET /projects?org_id={other}', outcomes: of(ok, noOrganization, ok, noOrganization, scoped) },
  {
    route: 'POST /projects',
    body: { project: { org_id: '{org}' } },
    outcomes: of(created, created, noOrganization, created, scoped),
  },
  { route: 'GET /projects/{project}', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{second}', outcomes: of(ok, ok, noProject, ok, scoped) },
  {
    route: 'PATCH /projects/{project}',
    body: { project: { name: 'renamed' } },
    outcomes: of(ok, ok, noProject, ok, ok),
  },
  { route: 'GET /projects/{project}/operations', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{second}/operations', outcomes: of(ok, ok, noProject, ok, scoped) },
  { route: 'GET /projects/{project}/branches', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'POST /projects/{project}/branches', body: {}, outcomes: of(created, created, noProject, created, created) },
  { route: 'DELETE /projects/{project}/branches/{branch}', outcomes: of([422], [422], noProject, [422], [422]) },
  { route: 'POST /projects/{project}/endpoints/{endpoint}/restart', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'POST /projects/{second}/branches', body: {}, outcomes: of(created, created, noProject, created, scoped) },
  { route: 'GET /projects/{project}/members', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{second}/members', outcomes: of(ok, ok, noProject, ok, scoped) },
  {
    route: 'PUT /projects/{project}/members/none/role',
    body: { role: 'viewer' },
    outcomes: of(noMember, [403, roleAdmins], noProject, noMember, scoped),
  },
  { route: 'GET /projects/{project}/permissions', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{project}/jwks', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{second}/jwks', outcomes: of(ok, ok, noProject, ok, scoped) },
  { route: 'DELETE /projects/{project}/jwks/none', outcomes: of(noJwks, noJwks, noProject, noJwks, noJwks) },
  { route: 'GET /projects/{project}/branches/{branch}/schema?db_name=neondb', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{project}/branches/{branch}/backup_schedule', outcomes: of(ok, ok, noProject, ok, ok) },
  { route: 'GET /projects/{project}/branches/{branch}/credentials', outcomes: of(ok, ok, noProject, ok, ok) },
  {
    route: 'GET /projects/{second}/branches/{branch}/credentials',
    outcomes: of([404], [404], noProject, [404], scoped),
  },
  {
    route: 'POST /projects/{project}/branches/{branch}/credentials',
    body: { scopes: ['storage:read'], principal_type: 'user' },
    outcomes: of(created, created, noProject, created, created),
  },
  {
    route: 'DELETE /projects/{project}/branches/{branch}/credentials/none',
    outcomes: of(noCredential, noCredential, noProject, noCredential, noCredential),
  },
  {
    route: 'POST /projects/{project}/transfer_requests',
    outcomes: of(created, [403, admins('transfer projects')], noProject, created, [
      403,
      'project-scoped API keys are not allowed to transfer projects',
    ]),
  },
  {
    route: 'POST /organizations/{org}/projects/transfer',
    body: { destination_org_id: '{other}', project_ids: ['none'] },
    outcomes: of(
      [404, 'project not found; project_id:"none"'],
      [403, admins('transfer projects')],
      noOrganization,
      noOrganization,
      scoped,
    ),
  },
  {
    route: 'POST /projects/{project}/recover',
    outcomes: of(noProject, noProject, noProject, noProject, [
      403,
      'project-scoped API keys are not allowed to recover projects',
    ]),
  },
];

const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name: string) => names[name] ?? name);

test.each(rules)('$route', async ({ route, body, outcomes }) => {
  const [method = '', path = ''] = route.split(' ');
  for (const who of ['admin', 'member', 'stranger', 'organization', 'project'] as const) {
    const [status, message] = outcomes[who];
    const text = body === undefined ? {} : { body: fill(JSON.stringify(body)) };
    const answer = await fixture.api(fill(path), { method, key: keys.get(who) ?? '', ...text });
    const told = message === 'outside' ? outside(names.project ?? '') : message;
    const seen = [who, answer.status, ...(message === undefined ? [] : [answer.body.message])];
    expect(seen).toEqual([who, status, ...(message === undefined ? [] : [told])]);
    for (const id of [names.project, names.second]) await fixture.settle(id ?? '');
  }
});

test('a key’s account is its user or its organization, and limits count for that account', async () => {
  const accounts = [];
  for (const who of ['organization', 'project', 'admin'] as const) {
    accounts.push((await fixture.api<{ account_id: string }>('/auth', { key: keys.get(who) ?? '' })).body.account_id);
  }
  expect(accounts).toEqual([names.org, names.org, '00000000-0000-4000-a000-000000000001']);
});

test('only an administrator or the organization’s key deletes a project; that ends the keys scoped to it', async () => {
  const path = `/projects/${names.project}`;
  const remove = async (who: Who) => {
    const { status, body } = await fixture.api(path, { method: 'DELETE', key: keys.get(who) ?? '' });
    return [status, body.message];
  };
  expect(await remove('stranger')).toEqual(noProject);
  expect(await remove('member')).toEqual([403, admins('delete projects')]);
  expect(await remove('project')).toEqual([403, 'project-scoped API keys are not allowed to delete projects']);
  expect(await remove('organization')).toEqual([200, undefined]);
  expect((await fixture.api('/auth', { key: keys.get('project') ?? '' })).status).toBe(401);
  expect(await remove('admin')).toEqual(noProject);
});

test('a missing key, a wrong key and a revoked key get the same response', async () => {
  const minted = (await fixture.api<{ id: number; key: string }>('/api_keys', { body: { key_name: 'short-lived' } }))
    .body;
  expect((await fixture.api('/auth', { key: minted.key })).status).toBe(200);
  await fixture.api(`/api_keys/${minted.id}`, { method: 'DELETE' });
  for (const key of ['', 'napi_wrong', minted.key]) {
    expect(await fixture.api('/auth', { key })).toMatchObject({
      status: 401,
      body: { code: '', message: 'supplied credentials do not pass authentication' },
    });
  }
});
