import { expect, test } from 'vitest';
import { createGate } from './gate.ts';

const never = new AbortController().signal;
const options = { most: 2, mostOfOne: 1, mostWaiting: 2, waitMs: 60_000 };

test('a waiter passes those whose token runs as many as it may, and each token keeps its order', async () => {
  const gate = createGate({ ...options, mostWaiting: 10 });
  const order: string[] = [];
  const leave = await gate.enter('a', never);
  const waiters = ['a', 'a', 'b', 'c'].map(async (token, index) => {
    const end = await gate.enter(token, never);
    order.push(`${token}${index}`);
    return end;
  });
  await Promise.resolve();
  expect(order).toEqual(['b2']);
  (await waiters[2])?.();
  (await waiters[3])?.();
  leave();
  (await waiters[0])?.();
  (await waiters[1])?.();
  expect(order).toEqual(['b2', 'c3', 'a0', 'a1']);
});

test('a full queue and a long wait are refused with 503; a client that goes leaves the queue', async () => {
  const gate = createGate(options);
  const leave = await gate.enter('a', never);
  const impatient = createGate({ ...options, waitMs: 1 });
  await impatient.enter('a', never);
  await expect(impatient.enter('a', never)).rejects.toMatchObject({ status: 503 });
  const client = new AbortController();
  const gone = gate.enter('a', client.signal);
  const patient = gate.enter('a', never);
  await expect(gate.enter('a', never)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  client.abort();
  await expect(gone).rejects.toMatchObject({ status: 499 });
  leave();
  (await patient)();
  await expect(gate.enter('a', client.signal)).rejects.toMatchObject({ status: 499 });
  const [one, two] = await Promise.all([gate.enter('a', never), gate.enter('b', never)]);
  one();
  two();
});

test('the oldest wait counts only waiters whose own token is under its limit', async () => {
  let at = 0;
  const gate = createGate({ ...options, most: 1 }, () => at);
  const leave = await gate.enter('a', never);
  const own = gate.enter('a', never);
  at = 5000;
  expect(gate.oldestMs()).toBe(0);
  const other = gate.enter('b', never);
  at = 7000;
  expect(gate.oldestMs()).toBe(2000);
  leave();
  (await own)();
  (await other)();
});
