import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestStore, type TestStore } from '../testing.ts';
import { withLock } from './locks.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('one works at a time; who waits hears of it, and can be stopped', async () => {
  const never = new AbortController().signal;
  const stop = new AbortController();
  const order: string[] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const first = withLock(store.sql, 'a', { signal: never }, async () => {
    order.push('first');
    await held;
  });
  while (order.length === 0) await store.sql`select 1`;
  const impatient = withLock(
    store.sql,
    'a',
    { signal: stop.signal, onWait: () => stop.abort() },
    async () => void order.push('impatient'),
  );
  await expect(impatient).rejects.toThrow(/abort/i);
  const second = withLock(
    store.sql,
    'a',
    { signal: never, onWait: () => release() },
    async () => void order.push('second'),
  );
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});
