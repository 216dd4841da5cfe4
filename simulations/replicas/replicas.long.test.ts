import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { live } from './live.ts';

// `npm run bench -- replicas` simulates a week and longer. There are more projects than a route accepts requests in a second, so that each pass waits
// for permits.
const projects = 48;

test('three replicas under rate limits and kills run each schedule time once, spread the work, duplicate nothing, and get no 429', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const lived = await live({ store, seed: 11, replicas: 3, days: 0.25, kills: 2, projects });
  expect(lived.wrong).toEqual([]);
  expect(lived.slots).toBeGreaterThan(50);
  expect(lived.kills).toBe(2);
  expect(lived.notices).toBeGreaterThan(0);
  await store.close();
});

test('counter-test: replicas that count no requests get 429 responses', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const lived = await live({ store, seed: 11, replicas: 3, days: 0.03, kills: 0, projects, isUnlimited: true });
  expect(lived.wrong.join()).toMatch(/requests were answered 429/);
  await store.close();
});
