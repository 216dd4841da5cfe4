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

const budget = (key: string, version: string) => ({ key, version, state: {} });

test('a reservation waits for one in progress from the same read, and is then refused; other accounts do not wait', async () => {
  const rows = createBudgetRows(daemon.sql);
  expect(await rows.save([budget('b', '0')])).toBe(true);
  let late: Promise<boolean> | undefined;
  await daemon.sql.begin(async (tx) => {
    expect(await createBudgetRows(tx as never).save([budget('b', '1')])).toBe(true);
    const other = rows.save([budget('c', '0')]);
    await expect(store.untilBlocked(other)).rejects.toThrow('it ended');
    expect(await other).toBe(true);
    late = rows.save([budget('b', '1')]);
    await store.untilBlocked(late);
  });
  expect(await late).toBe(false);
});

test.each([
  ['new', ['e', 'd'], [false, true]],
  ['known', ['g', 'f'], [true, false]],
])(
  'reservations lock %s budgets in one order, so that none waits for another that waits for it',
  async (which, [last = '', first = ''], expected) => {
    const rows = createBudgetRows(daemon.sql);
    const version = which === 'new' ? '0' : '1';
    if (which === 'known') for (const key of [last, first]) await rows.save([budget(key, '0')]);
    let saves: Promise<boolean>[] = [];
    await daemon.sql.begin(async (tx) => {
      if (which === 'new') await createBudgetRows(tx as never).save([budget(last, version)]);
      else await tx`select from keywarden.request_budget where name = ${last} for update`;
      saves = [rows.save([budget(last, version), budget(first, version)])];
      await store.untilBlocked(...saves);
      // It has the first of them.
      saves.push(rows.save([budget(first, version)]));
      await store.untilBlocked(...saves);
    });
    expect(await Promise.all(saves)).toEqual(expected);
  },
);
