import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

interface Made {
  branch: { id: string; name: string };
  endpoints: { id: string }[];
  message?: string;
}

async function branchFixture() {
  const fixture = await projectFixture();
  const path = `/projects/${fixture.project}`;
  const act = async <T = Made>(method: string, rest: string, body?: unknown) => {
    const answer = await fixture.api<T>(`${path}${rest}`, { method, body });
    await fixture.settle(fixture.project);
    return answer;
  };
  const create = async (name: string, more: object = {}, endpoints: object[] = []) =>
    await act('POST', '/branches', { branch: { name, ...more }, endpoints });
  const names = async (query = '') =>
    (await act<{ branches: { name: string }[] }>('GET', `/branches${query}`)).body.branches.map(({ name }) => name);
  return { ...fixture, act, create, names };
}

test('neither the root, the default branch nor a branch with children is deleted; children must be deleted first', async () => {
  const { act, create, branch } = await branchFixture();
  const child = (await create('child')).body.branch.id;
  const grandchild = (await create('grandchild', { parent_id: child })).body.branch.id;
  const remove = async (id: string) => {
    const { status, body } = await act('DELETE', `/branches/${id}`);
    return [status, body?.message?.split(';')[0]];
  };
  expect(await remove(branch)).toEqual([422, 'cannot delete the default branch']);
  expect(await remove(child)).toEqual([422, 'cannot delete a branch that has children']);
  await act('POST', `/branches/${grandchild}/set_as_default`);
  expect(await remove(branch)).toEqual([422, 'cannot delete the root branch']);
  expect(await remove(grandchild)).toEqual([422, 'cannot delete the default branch']);
  await act('POST', `/branches/${branch}/set_as_default`);
  expect(await remove(grandchild)).toEqual([200, undefined]);
  expect(await remove(child)).toEqual([200, undefined]);
  expect(await remove(child)).toEqual([204, undefined]);
});

test('a branch has at most one compute that writes, and any number that only read', async () => {
  const { act, create, branch } = await branchFixture();
  const add = async (type: string) =>
    (await act('POST', '/endpoints', { endpoint: { branch_id: branch, type } })).status;
  expect(await add('read_write')).toBe(409);
  expect([await add('read_only'), await add('read_only'), await add('read_only')]).toEqual([201, 201, 201]);
  const writers = [{ type: 'read_write' }, { type: 'read_write' }];
  expect((await create('two writers', {}, writers)).status).toBe(409);
  const made = await create('one writer', {}, [{ type: 'read_write' }]);
  const [endpoint] = made.body.endpoints;
  const moved = await act('PATCH', `/endpoints/${endpoint?.id}`, { endpoint: { branch_id: branch } });
  expect(moved.status).toBe(409);
});

test('names of branches, databases and roles are unique, and a duplicate is refused with a message', async () => {
  const { act, create, branch } = await branchFixture();
  const twice = async (
    first: Promise<{ status: number }>,
    second: () => Promise<{ status: number; body: unknown }>,
  ) => {
    expect((await first).status).toBe(201);
    return await second();
  };
  expect(await twice(create('one'), async () => await create('one'))).toMatchObject({
    status: 409,
    body: { message: expect.stringMatching(/^branch already exists; /) },
  });
  const database = async () =>
    await act('POST', `/branches/${branch}/databases`, { database: { name: 'reports', owner_name: 'neondb_owner' } });
  expect(await twice(database(), database)).toMatchObject({
    status: 409,
    body: { message: 'database with name "reports" already exists' },
  });
  const role = async () => await act('POST', `/branches/${branch}/roles`, { role: { name: 'reporter' } });
  expect(await twice(role(), role)).toMatchObject({ status: 409 });
});

test('branches are listed in pages by any of their sort fields, and counted', async () => {
  const { act, create, names } = await branchFixture();
  for (const name of ['c', 'a', 'b', 'd']) await create(name);
  expect(await names('?sort_by=name&sort_order=asc')).toEqual(['a', 'b', 'c', 'd', 'main']);
  expect(await names('?sort_by=created_at&sort_order=asc')).toEqual(['main', 'c', 'a', 'b', 'd']);
  const seen: string[] = [];
  let cursor = '';
  for (;;) {
    interface Page {
      branches: { name: string }[];
      pagination?: { next: string };
    }
    const page: Page = (await act<Page>('GET', `/branches?sort_by=name&limit=2${cursor}`)).body;
    seen.push(...page.branches.map(({ name }) => name));
    if (page.pagination === undefined) break;
    cursor = `&cursor=${page.pagination.next}`;
  }
  expect(seen).toEqual(['main', 'd', 'c', 'b', 'a']);
  expect((await act<{ count: number }>('GET', '/branches/count')).body.count).toBe(5);
  expect((await act<{ count: number }>('GET', '/branches/count?search=mai')).body.count).toBe(1);
});

test('a deleted branch is recovered with its computes within seven days, unless the deletion was permanent', async () => {
  const { act, create, names, advance, settle, project } = await branchFixture();
  const soft = (await create('soft', {}, [{ type: 'read_write' }])).body;
  const hard = (await create('hard')).body;
  await act('DELETE', `/branches/${soft.branch.id}`);
  await act('DELETE', `/branches/${hard.branch.id}?hard_delete=true`);
  await advance(6 * 86_400);
  await settle(project);
  expect((await names('?include_deleted=true')).toSorted()).toEqual(['main', 'soft']);
  expect((await act('POST', `/branches/${hard.branch.id}/recover`)).status).toBe(404);
  const back = (await act('POST', `/branches/${soft.branch.id}/recover`)).body;
  expect(back).toMatchObject({
    branch: { name: 'soft' },
    endpoints: [{ id: soft.endpoints[0]?.id, current_state: 'idle' }],
  });
  await act('DELETE', `/branches/${soft.branch.id}`);
  await advance(8 * 86_400);
  await settle(project);
  expect(await names('?include_deleted=true')).toEqual(['main']);
});

test('a branch that expires is deleted automatically at its time', async () => {
  const { create, names, advance, settle, project } = await branchFixture();
  await create('short', { expires_at: new Date(Date.now() + 3 * 3_600_000).toISOString() });
  expect(await names()).toContain('short');
  await advance(4 * 3600);
  const [newest] = await settle(project);
  expect(newest?.action).toBe('delete_timeline');
  expect(await names()).toEqual(['main']);
});

test('a snapshot restores a branch’s contents, in its place and with its computes', async () => {
  const { act, api, branch, endpoint, project, settle, names } = await branchFixture();
  const { snapshot } = (await act<{ snapshot: { id: string } }>('POST', `/branches/${branch}/snapshot?name=before`))
    .body;
  await act('POST', `/branches/${branch}/databases`, { database: { name: 'mistake', owner_name: 'neondb_owner' } });
  const restored = (await act('POST', `/snapshots/${snapshot.id}/restore`, { finalize_restore: true })).body.branch;
  await settle(project);
  const main = (await api<Made>(`/projects/${project}/branches/${restored.id}`)).body.branch;
  expect(main).toMatchObject({ name: 'main', default: true, restored_from: snapshot.id });
  const { databases } = (await act<{ databases: { name: string }[] }>('GET', `/branches/${restored.id}/databases`))
    .body;
  expect(databases.map(({ name }) => name)).toEqual(['neondb']);
  const moved = (await api<{ endpoint: { branch_id: string } }>(`/projects/${project}/endpoints/${endpoint}`)).body;
  expect(moved.endpoint.branch_id).toBe(restored.id);
  expect(await names()).toHaveLength(2);
});

test('a password is revealed and reset, and not revealed where none are stored', async () => {
  const { act, api, organization, branch, settle } = await branchFixture();
  const role = `/branches/${branch}/roles/neondb_owner`;
  const reveal = async () => (await act<{ password: string }>('GET', `${role}/reveal_password`)).body.password;
  const before = await reveal();
  const reset = (await act<{ role: { password: string } }>('POST', `${role}/reset_password`)).body.role.password;
  expect(reset).not.toBe(before);
  expect(await reveal()).toBe(reset);
  const body = { project: { org_id: organization, store_passwords: false } };
  const kept = (await api<{ project: { id: string }; branch: { id: string } }>('/projects', { body })).body;
  await settle(kept.project.id);
  const path = `/projects/${kept.project.id}/branches/${kept.branch.id}/roles/neondb_owner/reveal_password`;
  expect((await api(path)).status).toBe(412);
});

test('a branch that must stay cannot get an expiry, and one that becomes needed does not expire', async () => {
  const { act, create, branch, advance, names } = await branchFixture();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const expire = async (id: string) =>
    (await act('PATCH', `/branches/${id}`, { branch: { expires_at: tomorrow } })).status;
  expect(await expire(branch)).toBe(422);
  const parent = (await create('parent')).body.branch.id;
  const other = (await create('other')).body.branch.id;
  expect([await expire(parent), await expire(other)]).toEqual([200, 200]);
  await create('child', { parent_id: parent });
  await act('POST', `/branches/${other}/set_as_default`);
  await advance(2 * 86_400);
  expect((await names()).toSorted()).toEqual(['child', 'main', 'other', 'parent']);
});

test('restoring from a descendant does not swap the two branches, and the kept copy can be deleted', async () => {
  const { act, create, branch } = await branchFixture();
  const upper = (await create('upper')).body.branch.id;
  const lower = (await create('lower', { parent_id: upper })).body.branch.id;
  const restore = { source_branch_id: lower, preserve_under_name: 'kept' };
  const { body } = await act<{ branch: { parent_id: string } }>('POST', `/branches/${upper}/restore`, restore);
  expect(body.branch.parent_id).toBe(branch);
  expect((await act('DELETE', `/branches/${lower}`)).status).toBe(200);
  expect((await act('DELETE', `/branches/${upper}`)).status).toBe(200);
});

test('a branch is not recovered without its parent, nor under a name that was taken since', async () => {
  const { act, create } = await branchFixture();
  const parent = (await create('parent')).body.branch.id;
  const child = (await create('child', { parent_id: parent })).body.branch.id;
  await act('DELETE', `/branches/${child}`);
  await act('DELETE', `/branches/${parent}`);
  expect((await act('POST', `/branches/${child}/recover`)).status).toBe(422);
  await create('parent');
  expect((await act('POST', `/branches/${parent}/recover`)).status).toBe(409);
});

test('finalizing a restore keeps names unique and one writing compute per branch, and the old branch can be deleted', async () => {
  const { act, branch, names } = await branchFixture();
  const { snapshot } = (await act<{ snapshot: { id: string } }>('POST', `/branches/${branch}/snapshot`)).body;
  const restored = (await act('POST', `/snapshots/${snapshot.id}/restore`, {})).body.branch.id;
  const finalize = `/branches/${restored}/finalize_restore`;
  expect((await act('POST', finalize, { name: 'main' })).status).toBe(409);
  const second = await act('POST', '/endpoints', { endpoint: { branch_id: restored, type: 'read_write' } });
  expect((await act('POST', finalize, {})).status).toBe(409);
  const [endpoint] = (await act<{ endpoints: { id: string }[] }>('GET', `/branches/${restored}/endpoints`)).body
    .endpoints;
  expect(second.status).toBe(201);
  await act('DELETE', `/endpoints/${endpoint?.id}`);
  expect((await act('POST', finalize, {})).status).toBe(200);
  expect((await act('DELETE', `/branches/${branch}`)).status).toBe(200);
  expect(await names()).toEqual(['main']);
});

test('a snapshot expires; a disabled compute does not start, and a starting one is not deleted', async () => {
  const { act, api, branch, endpoint, project, advance } = await branchFixture();
  await act('POST', `/branches/${branch}/snapshot?expires_at=${new Date(Date.now() + 3_600_000).toISOString()}`);
  const snapshots = async () => (await act<{ snapshots: unknown[] }>('GET', '/snapshots')).body.snapshots.length;
  expect(await snapshots()).toBe(1);
  await advance(2 * 3600);
  expect(await snapshots()).toBe(0);
  await api(`/projects/${project}/endpoints/${endpoint}/start`, { method: 'POST' });
  expect((await api(`/projects/${project}/endpoints/${endpoint}`, { method: 'DELETE' })).status).toBe(423);
  await advance(600);
  const disabled = await act<{ operations: unknown[] }>('PATCH', `/endpoints/${endpoint}`, {
    endpoint: { disabled: true },
  });
  expect(disabled.body.operations).toEqual([]);
  expect((await act('POST', `/endpoints/${endpoint}/start`)).status).toBe(422);
  const role = await act<{ operations: unknown[] }>('POST', `/branches/${branch}/roles`, {
    role: { name: 'reporter' },
  });
  expect(role.body.operations).toEqual([]);
});

test('where no passwords are stored, no URI contains one', async () => {
  const { api, organization, settle } = await branchFixture();
  const body = { project: { org_id: organization, store_passwords: false } };
  const made = (await api<{ project: { id: string } }>('/projects', { body })).body.project.id;
  await settle(made);
  const { uri } = (
    await api<{ uri: string }>(`/projects/${made}/connection_uri?database_name=neondb&role_name=neondb_owner`)
  ).body;
  expect(uri).toMatch(/^postgresql:\/\/neondb_owner@ep-/);
  const branch = await api<{ connection_uris: unknown[] }>(`/projects/${made}/branches`, {
    body: { endpoints: [{ type: 'read_write' }] },
  });
  expect(branch.body.connection_uris).toEqual([]);
});

test('a protected branch is not deleted, nor are its computes or its project', async () => {
  const { act, create } = await branchFixture();
  const made = (await create('kept', { protected: true }, [{ type: 'read_write' }])).body;
  const { id } = made.branch;
  const refusal = async (path: string) => {
    const { status, body } = await act('DELETE', path);
    return [status, body?.message?.split(';')[0]];
  };
  expect(await refusal(`/branches/${id}`)).toEqual([422, 'cannot delete a protected branch']);
  expect(await refusal(`/endpoints/${made.endpoints[0]?.id}`)).toEqual([
    422,
    'cannot delete a compute of a protected branch',
  ]);
  expect(await refusal('')).toEqual([422, 'cannot delete a project that has a protected branch']);
  await act('PATCH', `/branches/${id}`, { branch: { protected: false } });
  expect((await refusal(`/branches/${id}`))[0]).toBe(200);
});
