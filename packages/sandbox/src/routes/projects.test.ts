import { companyFixture, openFixture, projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

interface Listed {
  projects: { id: string; name: string }[];
  pagination?: { cursor: string };
}

test('projects are listed newest first in pages, without gaps or duplicates, and searched by a part of the name or id', async () => {
  const { api, control } = await openFixture();
  await control('/generate', { body: { organizations: 1, projects: 23, keys: 0, operations: 0 } });
  const { body: truth } = await control<{ id: string; organization_id: string }[]>('/projects');
  const organization = truth[0]?.organization_id;
  const seen: string[] = [];
  let cursor = '';
  for (;;) {
    const page = (await api<Listed>(`/projects?org_id=${organization}&limit=5${cursor}`)).body;
    seen.push(...page.projects.map(({ id }) => id));
    if (page.pagination === undefined) break;
    cursor = `&cursor=${encodeURIComponent(page.pagination.cursor)}`;
  }
  expect(seen).toHaveLength(23);
  expect(new Set(seen)).toEqual(new Set(truth.map(({ id }) => id)));
  const part = seen[7]?.slice(-6) ?? '';
  const found = (await api<Listed>(`/projects?org_id=${organization}&search=${part}`)).body.projects;
  expect(found.map(({ id }) => id)).toEqual([seen[7]]);
  const named = (await api<Listed>(`/projects?org_id=${organization}&limit=400&search=STAGING`)).body.projects;
  expect(named.every(({ name }) => name.includes('staging'))).toBe(true);
});

test('a plan’s number of projects is a quota', async () => {
  const { api, control } = await openFixture();
  await control('/generate', { body: { organizations: 1, projects: 1000, keys: 0, operations: 0 } });
  const [first] = (await control<{ organization_id: string }[]>('/projects')).body;
  const answer = await api('/projects', { body: { project: { org_id: first?.organization_id } } });
  expect(answer).toMatchObject({ status: 422, body: { code: 'PROJECTS_LIMIT_EXCEEDED' } });
});

test('a deleted project is listed as recoverable for seven days, is recovered completely, and then is deleted permanently', async () => {
  const { api, organization, project, advance, settle } = await projectFixture();
  const recoverable = async () =>
    (await api<Listed>(`/projects?org_id=${organization}&recoverable=true`)).body.projects.map(({ id }) => id);
  const { body: before } = await api<{ branches: { id: string; name: string }[] }>(`/projects/${project}/branches`);
  await api(`/projects/${project}`, { method: 'DELETE' });
  expect((await api(`/projects/${project}`)).status).toBe(404);
  expect(await recoverable()).toEqual([project]);
  await advance(6 * 86_400);
  const back = await api<{ branches: { id: string }[] }>(`/projects/${project}/recover`, { method: 'POST' });
  expect(back.body.branches.map(({ id }) => id)).toEqual(before.branches.map(({ id }) => id));
  await settle(project);
  await api(`/projects/${project}`, { method: 'DELETE' });
  await advance(7 * 86_400);
  expect(await recoverable()).toEqual([]);
  expect((await api(`/projects/${project}/recover`, { method: 'POST' })).status).toBe(404);
});

test('transferring a project to another organization ends the keys scoped to it, even if it returns', async () => {
  const { api, organization, other, project } = await projectFixture();
  const minted = await api<{ id: number; key: string }>(`/organizations/${organization}/api_keys`, {
    body: { key_name: 'scoped', project_id: project },
  });
  const { key } = minted.body;
  const move = async (from: string, to: string) =>
    (
      await api(`/organizations/${from}/projects/transfer`, {
        body: { destination_org_id: to, project_ids: [project] },
      })
    ).status;
  expect((await api(`/projects/${project}`, { key })).status).toBe(200);
  expect(await move(organization, other)).toBe(200);
  expect((await api(`/projects/${project}`, { key })).status).toBe(401);
  expect((await api<{ project: { org_id: string } }>(`/projects/${project}`)).body.project.org_id).toBe(other);
  expect(await move(organization, other)).toBe(404);
  expect(await move(other, organization)).toBe(200);
  expect((await api(`/projects/${project}`, { key })).status).toBe(401);
  expect((await api<unknown[]>(`/organizations/${organization}/api_keys`)).body).toEqual([]);
});

test('deleting or transferring a project ends its offers, and a project is not transferred to its own organization', async () => {
  const { api, organization, other, project, settle } = await projectFixture();
  const offers = `/projects/${project}/transfer_requests`;
  const offer = async () => (await api<{ id: string }>(offers, { method: 'POST' })).body.id;
  const accept = async (id: string, to: string) =>
    (await api(`${offers}/${id}`, { method: 'PUT', body: { org_id: to } })).status;
  const first = await offer();
  expect(await accept(first, organization)).toBe(422);
  const move = { destination_org_id: organization, project_ids: [project] };
  expect((await api(`/organizations/${organization}/projects/transfer`, { body: move })).status).toBe(422);
  await api(`/organizations/${organization}/projects/transfer`, { body: { ...move, destination_org_id: other } });
  expect(await accept(first, organization)).toBe(404);
  const second = await offer();
  await api(`/projects/${project}`, { method: 'DELETE' });
  expect(await accept(second, organization)).toBe(404);
  await api(`/projects/${project}/recover`, { method: 'POST' });
  await settle(project);
  expect(await accept(second, organization)).toBe(404);
});

test('a project that is deleted while a compute starts stays at rest, and its keys are no longer used', async () => {
  const { api, control, organization, project, endpoint, advance } = await projectFixture();
  const keys = `/organizations/${organization}/api_keys`;
  await api(keys, { body: { key_name: 'scoped', project_id: project } });
  await api(`/projects/${project}/endpoints/${endpoint}/restart`, { method: 'POST' });
  await api(`/projects/${project}`, { method: 'DELETE' });
  const count = async () => (await control<{ operations: number }[]>('/projects')).body[0]?.operations;
  const before = await count();
  await advance(3 * 86_400);
  expect(await count()).toBe(before);
  await advance(5 * 86_400);
  const [key] = (await control<{ kind: string; revoked_at: string | null }[]>('/keys')).body.filter(
    ({ kind }) => kind === 'project',
  );
  expect(key?.revoked_at).not.toBeNull();
});

test('an offer of a project is accepted once, and only before it expires', async () => {
  const { api, other, project, advance } = await projectFixture();
  const offers = `/projects/${project}/transfer_requests`;
  const offer = async () => (await api<{ id: string }>(offers, { body: { ttl_seconds: 60 } })).body.id;
  const accept = async (id: string) =>
    (await api(`${offers}/${id}`, { method: 'PUT', body: { org_id: other } })).status;
  const [late, taken] = [await offer(), ''];
  await advance(61);
  expect(await accept(late)).toBe(404);
  const good = await offer();
  expect([await accept(good), await accept(good), await accept(taken)]).toEqual([204, 404, 404]);
});

test('a removed member keeps the personal keys, and loses the organization’s projects with all of them', async () => {
  const secrets: string[] = [];
  const { api, sandbox } = await companyFixture({ onSecret: (secret) => secrets.push(secret) });
  interface Organizations {
    organizations: { id: string }[];
  }
  const people = [];
  for (const key of secrets.filter((secret) => secret !== sandbox.adminKey)) {
    const { status, body } = await api<Organizations>('/users/me/organizations', { key });
    const { account_id: user } = (await api<{ account_id: string }>('/auth', { key })).body;
    const isAdministrator = user === '00000000-0000-4000-a000-000000000001';
    if (status === 200 && body.organizations.length > 0 && !isAdministrator) people.push({ key, user, ...body });
  }
  const [person] = people;
  const key = person?.key ?? '';
  const organization = person?.organizations[0]?.id;
  const list = `/projects?org_id=${organization}`;
  const project = `/projects/${(await api<Listed>(list, { key })).body.projects[0]?.id}`;
  expect((await api(project, { key })).status).toBe(200);
  const members = `/organizations/${organization}/members`;
  const { members: listed } = (
    await api<{ members: { member: { id: string; user_id: string } }[] }>(`${members}?limit=500`)
  ).body;
  const member = listed.find((each) => each.member.user_id === person?.user)?.member;
  expect((await api(`${members}/${member?.id}`, { method: 'DELETE' })).status).toBe(200);
  expect((await api('/api_keys', { key })).status).toBe(200);
  expect(await api(project, { key })).toMatchObject({ status: 404, body: { message: 'project not found' } });
  expect((await api(list, { key })).status).toBe(404);
});

test('an organization keeps an administrator, and an invitation of a person with an account is a membership', async () => {
  const { api, organization, other } = await projectFixture();
  interface Seen {
    members: { member: { id: string; role: string; user_id: string }; user: { email: string } }[];
  }
  const read = async (of: string) => (await api<Seen>(`/organizations/${of}/members?limit=500`)).body.members;
  const self = '00000000-0000-4000-a000-000000000001';
  const admins = (await read(organization)).filter(({ member }) => member.role === 'admin');
  admins.sort((a, b) => Number(a.member.user_id === self) - Number(b.member.user_id === self));
  const statuses = [];
  for (const { member } of admins) {
    const path = `/organizations/${organization}/members/${member.id}`;
    statuses.push((await api(path, { method: 'PATCH', body: { role: 'member' } })).status);
  }
  expect(statuses).toEqual([...admins.slice(1).map(() => 200), 422]);
  const invite = async (email: string, role: string) =>
    (await api(`/organizations/${organization}/invitations`, { body: { invitations: [{ email, role }] } })).status;
  const stranger = (await read(other)).find(({ member }) => member.role === 'member')?.user.email ?? '';
  expect(await invite(stranger, 'admin')).toBe(200);
  expect((await read(organization)).find(({ user }) => user.email === stranger)?.member.role).toBe('admin');
  expect(await invite(stranger, 'member')).toBe(409);
});

test('a project is shared with a person outside, who then works on it and sees it in a separate list', async () => {
  const secrets: string[] = [];
  const fixture = await companyFixture({ onSecret: (secret) => secrets.push(secret) });
  const people = [];
  for (const key of secrets) {
    const { status, body } = await fixture.api<{ email: string }>('/users/me', { key });
    if (status === 200 && (await fixture.api(`/projects/${fixture.project}`, { key })).status === 404)
      people.push({ key, ...body });
  }
  const [guest] = people;
  const key = guest?.key ?? '';
  const permissions = `/projects/${fixture.project}/permissions`;
  const { id } = (await fixture.api<{ id: string }>(permissions, { body: { email: guest?.email } })).body;
  expect((await fixture.api(`/projects/${fixture.project}`, { key })).status).toBe(200);
  const shared = async () =>
    (await fixture.api<Listed>('/projects/shared', { key })).body.projects.map((each) => each.id);
  expect(await shared()).toEqual([fixture.project]);
  expect((await fixture.api(`/organizations/${fixture.organization}`, { key })).status).toBe(404);
  await fixture.api(`${permissions}/${id}`, { method: 'DELETE' });
  expect((await fixture.api(`/projects/${fixture.project}`, { key })).status).toBe(404);
  expect(await shared()).toEqual([]);
});

test('a project has default settings, and explicit ones override them', async () => {
  const { api, project } = await projectFixture();
  const settingsOf = async () =>
    (await api<{ project: { settings: object } }>(`/projects/${project}`)).body.project.settings;
  expect(await settingsOf()).toMatchObject({ enable_logical_replication: false, allowed_ips: { ips: [] } });
  const allowed = { ips: ['203.0.113.0/24'], protected_branches_only: true };
  await api(`/projects/${project}`, { method: 'PATCH', body: { project: { settings: { allowed_ips: allowed } } } });
  expect(await settingsOf()).toMatchObject({ enable_logical_replication: false, allowed_ips: allowed });
});

test('administrators do not give up their own role in a project without confirming it', async () => {
  const { api, project } = await projectFixture();
  interface Member {
    member_id: string;
    email: string;
    project_role?: string;
  }
  const members = `/projects/${project}/members`;
  const { project_members: listed } = (await api<{ project_members: Member[] }>(members)).body;
  const idOf = (isOwn: boolean) => listed.find(({ email }) => email.startsWith('administrator@') === isOwn)?.member_id;
  const act = async (method: string, rest: string, role?: string) => {
    const body = role === undefined ? undefined : { role };
    const { status, body: member } = await api<Partial<Member>>(`${members}/${rest}`, { method, body });
    return [status, member.project_role];
  };
  const own = `${idOf(true)}/role`;
  expect(await act('PUT', own, 'admin')).toEqual([200, 'admin']);
  expect(await act('PUT', own, 'viewer')).toEqual([422, undefined]);
  expect(await act('DELETE', own)).toEqual([422, undefined]);
  expect(await act('PUT', `${own}?confirm_self_demotion=true`, 'viewer')).toEqual([200, 'viewer']);
  expect(await act('DELETE', `${own}?confirm_self_lockout=true`)).toEqual([200, undefined]);
  expect(await act('PUT', `${idOf(false)}/role`, 'viewer')).toEqual([200, 'viewer']);
});
