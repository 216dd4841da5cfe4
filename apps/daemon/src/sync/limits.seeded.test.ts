import { documentedLimits } from '@keywarden/sandbox';
import { sized } from '@keywarden/testkit';
import { virtualTime } from '@keywarden/testkit/client/virtual-time';
import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { syncOperations } from './operations.ts';

const projects = sized(1000);
const operations = 20 * projects;

test.each(['fixed', 'sliding'] as const)(
  `L1: a sync of ${projects} projects at the whole share, counted in %s windows: no 429, and in no more than the limits' own time`,
  async (windows) => {
    const store = await createTestStore(inject('postgresUrl'));
    const time = virtualTime(Date.now());
    const client = { time, fetch: time.fetch };
    const fixture = await makeFixture(store, { sandbox: { limits: documentedLimits, realNowMs: time.now }, client });
    await fixture.controls.setLimits({ windows });
    await fixture.controls.generate({ organizations: 2, projects, keys: 0, operations, months: 5 });
    await fixture.controls.resetStats();
    const startedMs = time.now();
    const counts = await syncOperations(fixture.context, connectionOf(fixture));
    const stats = await fixture.controls.stats();
    // The request that opened the connection counts in the limiter, and the sandbox's statistics began after it.
    const boundMs = (1.05 * (stats.requests + 1 - 40) * 60_000) / 700;
    expect(counts).toMatchObject({ projects, inserted: operations });
    expect(stats.rate_limited).toBe(0);
    expect(time.now() - startedMs).toBeLessThanOrEqual(boundMs);
    await fixture.close();
    await store.close();
  },
);
