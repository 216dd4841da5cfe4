import type { TestProject } from 'vitest/node';
import { startTestPostgres } from '../store/test-store.ts';

/** Starts one embedded Postgres for the whole run, with a migrated database that each test file copies. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres();
  project.provide('postgresUrl', postgres.url);
  return async () => await postgres.close();
}

declare module 'vitest' {
  interface ProvidedContext {
    /** An administrator's URL of the Postgres that all tests of a run share. */
    postgresUrl: string;
  }
}
