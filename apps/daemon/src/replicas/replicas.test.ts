import { createTestStore } from '@keywarden/db/testing';
import { expect, inject, test } from 'vitest';
import { live } from './live.ts';

// `npm run bench -- replicas` lives a week and longer.
test('three replicas beside a control plane with its limits on: each time of a schedule runs once, no 429, nothing twice, work spread, whoever is killed', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const lived = await live({ store, seed: 11, replicas: 3, days: 1, kills: 2 });
  expect(lived.wrong).toEqual([]);
  expect(lived.slots).toBeGreaterThan(200);
  expect(lived.kills).toBe(2);
  expect(lived.notices).toBeGreaterThan(0);
  await store.close();
}, 600_000);
