import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { operationCount } from '@keywarden/testkit/report/fixture';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { createNeonClient } from '@neon/sdk';
import { expect, test } from 'vitest';

// The control plane's own tools, configured only with our base URL and a token.

useServedFixture();

const idsOf = (list: { id: string }[]) => list.map(({ id }) => id);

test('neonctl lists organizations, projects and all operations of the archive', async () => {
  const entry = join(dirname(createRequire(import.meta.url).resolve('neonctl/package.json')), 'bin/cli.js');
  const home = mkdtempSync(join(tmpdir(), 'keywarden-archive-'));
  const env = { PATH: process.env.PATH, HOME: home, CI: '1', NEON_API_KEY: fixture.tokens.viewer };
  const run = async <T>(...words: string[]): Promise<T> => {
    const common = ['--api-host', `${server.url}/api/v2`, '--output', 'json', '--no-analytics'];
    const { stdout } = await promisify(execFile)(process.execPath, [entry, ...common, ...words], { env, cwd: home });
    return JSON.parse(stdout) as T;
  };
  expect(await run('me')).toMatchObject({ login: 'viewer' });
  expect(idsOf(await run('orgs', 'list'))).toEqual(['acme', 'other']);
  expect(idsOf(await run('projects', 'list', '--org-id', 'acme'))).toEqual(['quiet-river']);
  expect(await run('projects', 'get', 'quiet-river')).toMatchObject({ id: 'quiet-river' });
  const operations = await run<{ id: string }[]>('operations', 'list', '--project-id', 'quiet-river');
  expect(new Set(idsOf(operations)).size).toBe(operationCount);
});

test('@neon/sdk lists organizations, projects and all operations of the archive', async () => {
  const config = { apiKey: fixture.tokens.viewer ?? '', baseUrl: `${server.url}/api/v2`, throwOnError: true } as const;
  const neon = createNeonClient(config);
  expect(idsOf(await neon.user.organizations())).toEqual(['acme', 'other']);
  expect(idsOf(await neon.projects.list({ org_id: 'acme' }).all())).toEqual(['quiet-river']);
  expect((await neon.projects.get({ projectId: 'quiet-river' })).org_id).toBe('acme');
  const operations = await neon.operations.list({ projectId: 'quiet-river' }).all();
  expect(new Set(idsOf(operations)).size).toBe(operationCount);
  expect(await neon.operations.get({ projectId: 'quiet-river', operationId: operations[0]?.id ?? '' })).toEqual(
    operations[0],
  );
});
