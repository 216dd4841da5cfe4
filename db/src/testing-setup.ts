import type { TestProject } from 'vitest/node';
import { startTestPostgres } from './test-store.ts';

/** One embedded Postgres for the whole run, with a migrated database that each test file copies. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres();
  project.provide('postgresUrl', postgres.url);
  return async () => await postgres.close();
}
