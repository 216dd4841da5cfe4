import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { live } from './live.ts';

// `npm run bench -- replicas` lives a week and longer. More projects than a route takes requests in a second: each pass waits for its turns.
const projects = 48;

test('three replicas beside a control plane with its limits on: each time of a schedule runs once, no 429, nothing twice, work spread, whoever is killed', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const lived = await live({ store, seed: 11, replicas: 3, days: 0.25, kills: 2, projects });
  expect(lived.wrong).toEqual([]);
  expect(lived.slots).toBeGreaterThan(50);
  expect(lived.kills).toBe(2);
  expect(lived.notices).toBeGreaterThan(0);
  await store.close();
}, 600_000);

test('the twin: replicas that count no requests are answered 429', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const lived = await live({ store, seed: 11, replicas: 3, days: 0.03, kills: 0, projects, isUnlimited: true });
  expect(lived.wrong.join()).toMatch(/requests were answered 429/);
  await store.close();
}, 600_000);
