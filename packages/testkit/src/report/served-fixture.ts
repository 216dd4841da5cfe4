import { afterAll, beforeAll, inject } from 'vitest';
import { type Fixture, makeFixture } from './fixture.ts';
import { listen } from './served.ts';

/** Bindings that the tests of a file share; `useServedFixture` sets them before the first test. */
export let fixture: Fixture;
export let server: Awaited<ReturnType<typeof listen>>;

/** Serves a report over its own store and a socket, for all tests of a file or a `describe`. */
export function useServedFixture(): void {
  beforeAll(async () => {
    fixture = await makeFixture(inject('postgresUrl'));
    server = await listen(fixture.app);
  });
  afterAll(async () => {
    await server.close();
    await fixture.close();
  });
}
