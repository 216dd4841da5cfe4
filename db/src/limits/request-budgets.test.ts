import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Store } from '../store.ts';
import { createBudgetRows } from './request-budgets.ts';

let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
});
afterAll(async () => await store.close());

test('of several concurrent reservations made from the same read, one saves, with all of its budgets or none', async () => {
  const rows = createBudgetRows(daemon.sql);
  const { nowMs, rows: none } = await rows.read(['a', 'a GET /x']);
  expect(Math.abs(nowMs - Date.now())).toBeLessThan(60_000);
  expect(none.size).toBe(0);
  const change = (route: string, by: number) => [
    { key: 'a', version: '0', state: { by } },
    { key: `a ${route}`, version: '0', state: { by } },
  ];
  const saved = await Promise.all(Array.from({ length: 8 }, (_, by) => rows.save(change(`GET /${by}`, by))));
  expect(saved.filter(Boolean)).toHaveLength(1);
  const winner = saved.indexOf(true);
  const keys = ['a', ...saved.map((_, by) => `a GET /${by}`)];
  const { rows: read } = await rows.read(keys);
  const changed = [...read].filter(([, { version }]) => version !== '0').map(([key, { state }]) => [key, state]);
  expect(Object.fromEntries(changed)).toEqual({ a: { by: winner }, [`a GET /${winner}`]: { by: winner } });
});
