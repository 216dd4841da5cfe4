import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { createApiClient, EndpointType, OperationStatus } from '@neondatabase/api-client';
import { expect, test } from 'vitest';

// The control plane's own client package, from the first key to the last.

async function clientFixture() {
  const fixture = await projectFixture();
  const client = (apiKey: string) => createApiClient({ apiKey, baseURL: fixture.sandbox.url });
  return { ...fixture, client, mine: client(fixture.sandbox.adminKey) };
}

type Client = Awaited<ReturnType<typeof clientFixture>>['mine'];

/** Polls one operation until it ends, as the API document recommends; moves the sandbox’s clock instead of waiting. */
async function watch(
  { mine, advance }: { mine: Client; advance: (seconds: number) => Promise<void> },
  operations: { id: string; project_id: string }[],
): Promise<string[]> {
  const ends = [];
  for (const { id, project_id: projectId } of operations) {
    for (;;) {
      const { status } = (await mine.getProjectOperation(projectId, id)).data.operation;
      if (status !== OperationStatus.Scheduling && status !== OperationStatus.Running) {
        ends.push(status);
        break;
      }
      await advance(1);
    }
  }
  return ends;
}

test('keys of all kinds are minted, listed, used and revoked', async () => {
  const { client, mine, organization, project } = await clientFixture();
  const personal = (await mine.createApiKey({ key_name: 'mine' })).data;
  const ours = (await mine.createOrgApiKey(organization, { key_name: 'ours' })).data;
  const scoped = (await mine.createOrgApiKey(organization, { key_name: 'scoped', project_id: project })).data;
  expect(scoped).toMatchObject({ name: 'scoped', project_id: project, created_by: expect.any(String) });
  expect(personal.key).toMatch(/^napi_\w{55,65}$/);

  const methods = [];
  for (const { key } of [personal, ours, scoped]) methods.push((await client(key).getAuthDetails()).data.auth_method);
  expect(methods).toEqual(['api_key_user', 'api_key_org', 'api_key_org']);
  expect((await client(scoped.key).getProject(project)).data.project.name).toBe('shop');

  const names = (keys: { name: string }[]) => keys.map(({ name }) => name);
  expect(names((await mine.listApiKeys()).data)).toContain('mine');
  expect(names((await mine.listOrgApiKeys(organization)).data)).toEqual(['scoped', 'ours']);
  expect((await client(ours.key).revokeOrgApiKey(organization, scoped.id)).data).toMatchObject({
    id: scoped.id,
    revoked: true,
    last_used_at: expect.any(String),
  });
  await mine.revokeOrgApiKey(organization, ours.id);
  await mine.revokeApiKey(personal.id);
  for (const { key } of [personal, ours, scoped]) {
    await expect(client(key).getAuthDetails()).rejects.toMatchObject({ response: { status: 401 } });
  }
  expect((await mine.listOrgApiKeys(organization)).data).toEqual([]);
});

test('a project runs its full course: branch, compute, database, role, restore, suspend, delete, each operation watched to its end', async () => {
  const { mine, advance, organization, branch } = await clientFixture();
  const made = (await mine.createProject({ project: { org_id: organization, name: 'life', pg_version: 17 } })).data;
  const { id } = made.project;
  const watched = async (operations: { id: string; project_id: string }[]) =>
    await watch({ mine, advance }, operations);
  expect(await watched(made.operations)).toEqual(['finished', 'finished']);

  const child = (await mine.createProjectBranch(id, { branch: { name: 'staging' } })).data;
  expect(await watched(child.operations)).toEqual(['finished']);
  const compute = (
    await mine.createProjectEndpoint(id, { endpoint: { branch_id: child.branch.id, type: EndpointType.ReadWrite } })
  ).data;
  await watched(compute.operations);
  expect((await mine.getProjectEndpoint(id, compute.endpoint.id)).data.endpoint.current_state).toBe('active');

  const role = (await mine.createProjectBranchRole(id, child.branch.id, { role: { name: 'reporter' } })).data;
  expect(role.role.password).toMatch(/^npg_/);
  await watched(role.operations);
  const database = (
    await mine.createProjectBranchDatabase(id, child.branch.id, {
      database: { name: 'reports', owner_name: 'reporter' },
    })
  ).data;
  await watched(database.operations);
  const place = { projectId: id, branch_id: child.branch.id, database_name: 'reports', role_name: 'reporter' };
  const { uri } = (await mine.getConnectionUri(place)).data;
  expect(uri).toBe(`postgresql://reporter:${role.role.password}@${compute.endpoint.host}/reports?sslmode=require`);

  const restored = (
    await mine.restoreProjectBranch(id, child.branch.id, {
      source_branch_id: made.branch.id,
      preserve_under_name: 'staging-before',
    })
  ).data;
  expect(await watched(restored.operations)).toEqual(['finished', 'finished', 'finished']);
  const names = (await mine.listProjectBranches({ projectId: id })).data.branches.map(({ name }) => name);
  expect(names.toSorted()).toEqual(['main', 'staging', 'staging-before']);
  const databases = (await mine.listProjectBranchDatabases(id, child.branch.id)).data.databases;
  expect(databases.map(({ name }) => name)).toEqual(['neondb']);

  const suspended = (await mine.suspendProjectEndpoint(id, compute.endpoint.id)).data;
  await watched(suspended.operations);
  expect((await mine.getProjectEndpoint(id, compute.endpoint.id)).data.endpoint.current_state).toBe('idle');
  await mine.deleteProjectEndpoint(id, compute.endpoint.id);
  const deleted = (await mine.deleteProjectBranch({ projectId: id, branchId: child.branch.id })).data;
  await watched(deleted.operations);
  await mine.deleteProject(id);
  await expect(mine.getProject(id)).rejects.toMatchObject({ response: { status: 404 } });
  const left = (await mine.listProjects({ org_id: organization })).data.projects;
  expect(left.map(({ name }) => name)).toEqual(['shop']);
  expect(branch).not.toBe(made.branch.id);
});
