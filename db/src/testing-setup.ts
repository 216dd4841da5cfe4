import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEmbedded } from './embedded/embedded.ts';
import { openStore } from './store.ts';
import { templateDatabase } from './testing.ts';

/** One embedded Postgres for the whole run, with a migrated database that each test file copies. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-test-'));
  const postgres = await openEmbedded(folder);
  const options = { dataFolder: folder, applicationName: 'keywarden tests' };
  const administrator = await openStore({ ...options, databaseUrl: postgres.url, migrations: 'none' });
  await administrator.sql.unsafe(`create database ${templateDatabase}`);
  await administrator.close();
  const template = await openStore({
    ...options,
    databaseUrl: databaseUrl(postgres.url, templateDatabase),
    migrations: 'migrate',
  });
  await template.close();
  project.provide('postgresUrl', postgres.url);
  return async () => {
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  };
}

function databaseUrl(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: `/${database}` }).href;
}
