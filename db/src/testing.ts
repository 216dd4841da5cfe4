export { createTestStore, startTestPostgres, type TestStore } from './test-store.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** An administrator's URL of the Postgres that all tests of a run share. */
    postgresUrl: string;
  }
}
