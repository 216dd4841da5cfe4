import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Operation, projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

const entry = join(dirname(createRequire(import.meta.url).resolve('neonctl/package.json')), 'bin/cli.js');

type Json = Record<string, unknown>;

/** Returns the control plane's own command-line tool, pointed at a sandbox, in a home folder of its own. */
async function toolFixture() {
  const fixture = await projectFixture();
  const home = mkdtempSync(join(tmpdir(), 'keywarden-cli-'));
  const env = { PATH: process.env.PATH, HOME: home, CI: '1', NEON_API_KEY: fixture.sandbox.adminKey };
  const run = async (...words: string[]): Promise<Json & Json[]> => {
    const common = ['--api-host', fixture.sandbox.url, '--output', 'json', '--no-analytics'];
    const { stdout } = await promisify(execFile)(process.execPath, [entry, ...common, ...words], { env, cwd: home });
    return JSON.parse(stdout);
  };
  return { ...fixture, run };
}

const named = (list: Json[]) => list.map(({ name }) => name);

test('the tool lists organizations, projects, branches, operations and keys', async () => {
  const { run, organization, project, made } = await toolFixture();
  expect((await run('orgs', 'list')).map(({ id }) => id)).toContain(organization);
  expect(named(await run('projects', 'list', '--org-id', organization))).toEqual(['shop']);
  expect(named(await run('branches', 'list', '--project-id', project))).toEqual(['main']);
  const operations = (await run('operations', 'list', '--project-id', project)) as unknown as Operation[];
  expect(operations.map(({ id }) => id)).toEqual(made.operations.map(({ id }) => id).toReversed());
  expect(named(await run('api-keys', 'list'))).toEqual(['keywarden']);
  expect(await run('api-keys', 'list', '--org-id', organization)).toEqual([]);
});

test('the tool creates and deletes a branch, a database and a role', async () => {
  const { run, project, settle } = await toolFixture();
  const at = ['--project-id', project];
  const there = [...at, '--branch', 'staging'];
  await run('branches', 'create', ...at, '--name', 'staging');
  await settle(project);
  await run('databases', 'create', ...there, '--name', 'reports', '--owner-name', 'neondb_owner');
  await settle(project);
  await run('roles', 'create', ...there, '--name', 'reporter');
  await settle(project);
  expect(named(await run('databases', 'list', ...there))).toEqual(['neondb', 'reports']);
  expect(named(await run('roles', 'list', ...there))).toEqual(['neondb_owner', 'reporter']);
  await run('databases', 'delete', 'reports', ...there);
  await settle(project);
  await run('roles', 'delete', 'reporter', ...there);
  await settle(project);
  expect(named(await run('databases', 'list', ...there))).toEqual(['neondb']);
  await run('branches', 'delete', 'staging', ...at);
  expect(named(await run('branches', 'list', ...at))).toEqual(['main']);
});

test('the tool mints and revokes keys of all kinds', async () => {
  const { run, api, organization, project } = await toolFixture();
  const scopes = [[], ['--org-id', organization], ['--project-id', project]];
  for (const scope of scopes) {
    const { id, key } = await run('api-keys', 'create', '--name', 'tool', ...scope);
    const use = async () => (await api('/auth', { key: String(key) })).status;
    expect(await use()).toBe(200);
    const where = scope.length === 0 ? [] : ['--org-id', organization];
    await run('api-keys', 'revoke', String(id), ...where);
    expect(await use()).toBe(401);
  }
});
