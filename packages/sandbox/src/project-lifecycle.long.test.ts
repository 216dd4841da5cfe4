import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { patienceMs } from '@keywarden/testkit';
import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { openValidatingProxy } from '@keywarden/testkit/sandbox/validating-proxy';
import { createNeonClient } from '@neon/sdk';
import { expect, onTestFinished, test } from 'vitest';

/** Returns a sandbox behind a validating proxy. Each operation is done by the time that a client asks for it. */
async function lifeFixture() {
  const fixture = await projectFixture();
  const proxy = await openValidatingProxy(fixture.sandbox.url, async (route) => {
    if (route.startsWith('GET ')) await fixture.advance(20);
  });
  onTestFinished(async () => await proxy.close());
  return { ...fixture, proxy };
}

test('@neon/sdk runs projects from creation to recovery, and at least 500 responses all match the contract', async () => {
  const { proxy, sandbox, organization } = await lifeFixture();
  const wait = { pollIntervalMs: 1, timeoutMs: patienceMs };
  const neon = createNeonClient({
    apiKey: sandbox.adminKey,
    baseUrl: proxy.url,
    orgId: organization,
    throwOnError: true,
    waitForReadiness: true,
    wait,
  });
  const lifecycles = 12;
  for (let lifecycle = 0; lifecycle < lifecycles; lifecycle += 1) {
    const { project, connectionString } = await neon.projects.createAndConnect({
      name: `lifecycle-${lifecycle}`,
      pooled: true,
    });
    expect(connectionString).toMatch(/^postgresql:\/\/.*-pooler/);
    const projectId = project.id;
    const main = await neon.branches.getDefault({ projectId });
    const branch = await neon.branches.create({ projectId, name: 'staging' });
    const at = { projectId, branchId: branch.id };
    const compute = await neon.postgres.endpoints.create({ projectId, branch_id: branch.id, type: 'read_only' });
    await neon.postgres.roles.create({ ...at, name: 'reporter' });
    await neon.postgres.databases.create({ ...at, name: 'reports', owner_name: 'reporter' });
    expect((await neon.postgres.databases.list(at)).map(({ name }) => name)).toEqual(['neondb', 'reports']);
    const compared = await neon.branches.compareSchema({ ...at, databaseName: 'neondb', baseBranchId: main.id });
    expect(compared.diff).toBe('');
    const issued = await neon.credentials.create({
      ...at,
      name: 'uploads',
      scopes: ['storage:write'],
      principal_type: 'user',
    });
    const rotated = await neon.credentials.rotate({ ...at, tokenId: issued.token_id });
    expect(rotated.api_token).not.toBe(issued.api_token);
    expect((await neon.credentials.reveal({ ...at, tokenId: issued.token_id })).api_token).toBe(rotated.api_token);
    await neon.credentials.revoke({ ...at, tokenId: issued.token_id });
    expect(await neon.credentials.list(at)).toMatchObject([{ revoked_at: expect.any(String) }]);
    const members = await neon.projects.members.list({ projectId }).all();
    expect(members.length).toBeGreaterThan(0);
    const permission = await neon.projects.permissions.grant({ projectId, email: 'guest@company.example' });
    await neon.projects.permissions.revoke({ projectId, permissionId: permission.id });
    await neon.postgres.endpoints.suspend({ projectId, endpointId: compute.id });
    await neon.postgres.endpoints.start({ projectId, endpointId: compute.id });
    await neon.branches.resetFromParent(at);
    const seen: string[] = [];
    for await (const { id } of neon.operations.list({ projectId })) seen.push(id);
    expect(new Set(seen).size).toBeGreaterThan(5);
    await neon.branches.delete(at);
    await neon.projects.delete({ projectId });
    await neon.projects.recover({ projectId });
    expect((await neon.projects.get({ projectId })).id).toBe(projectId);
    await neon.projects.delete({ projectId });
  }
  expect(proxy.faults).toEqual([]);
  expect(proxy.requests).toBeGreaterThanOrEqual(500);
});

test('neonctl runs a project from creation to deletion', async () => {
  const { proxy, sandbox, organization } = await lifeFixture();
  const entry = join(dirname(createRequire(import.meta.url).resolve('neonctl/package.json')), 'bin/cli.js');
  const home = mkdtempSync(join(tmpdir(), 'keywarden-life-'));
  const env = { PATH: process.env.PATH, HOME: home, CI: '1', NEON_API_KEY: sandbox.adminKey };
  const run = async (...words: string[]): Promise<string> => {
    const common = ['--api-host', proxy.url, '--no-analytics'];
    const { stdout } = await promisify(execFile)(process.execPath, [entry, ...common, ...words], { env, cwd: home });
    return stdout;
  };
  const json = async <T>(...words: string[]): Promise<T> => JSON.parse(await run('--output', 'json', ...words)) as T;
  const made = await json<{ project: { id: string } }>(
    'projects',
    'create',
    '--name',
    'life',
    '--org-id',
    organization,
  );
  const { id } = made.project;
  const at = ['--project-id', id];
  await json('branches', 'create', ...at, '--name', 'staging');
  expect(await run('connection-string', 'staging', ...at)).toMatch(/^postgresql:\/\//);
  expect(await run('branches', 'schema-diff', 'main', 'staging', ...at, '--database', 'neondb')).not.toContain('@@');
  await json('branches', 'rename', 'staging', 'preview', ...at);
  await json('branches', 'reset', 'preview', '--parent', ...at);
  expect(await json('operations', 'list', ...at)).not.toEqual([]);
  await json('projects', 'update', id, '--name', 'life-2');
  await json('branches', 'delete', 'preview', ...at);
  await json('projects', 'delete', id);
  expect(await json<unknown[]>('projects', 'list', '--org-id', organization)).toMatchObject([{ name: 'shop' }]);
  expect(proxy.faults).toEqual([]);
});
