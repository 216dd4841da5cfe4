import { memoryRows } from '@keywarden/testkit/client/fixture';
import { virtualTime } from '@keywarden/testkit/client/virtual-time';
import { expect, test } from 'vitest';
import { createLimiter, type Limiter } from './limiter.ts';
import { createMemoryStore, type LimiterStore } from './limiter-store.ts';
import { budgetsOf } from './limits.ts';
import { createSharedStore } from './shared-limiter-store.ts';
import { joined, slowDown, slownessAt } from './slowdown.ts';

type Time = ReturnType<typeof virtualTime>;

/** Returns when replicas send 60 requests each, in ms since the first of them was answered 429. */
async function sendAfter429(stores: (time: Time) => LimiterStore[]) {
  const time = virtualTime(1e12);
  const limiters = stores(time).map((store) => createLimiter({ account: 'a', share: 1, time, store }));
  for (const limiter of limiters) await time.finish(limiter.wait('GET /a'));
  const startedMs = time.now();
  limiters[0]?.limited(3000);
  const send = async (limiter: Limiter) => {
    const sent: number[] = [];
    for (let index = 0; index < 60; index += 1) {
      await limiter.wait(`GET /${index % 9}`);
      sent.push(time.now() - startedMs);
    }
    return sent;
  };
  return await time.finish(Promise.all(limiters.map(send)));
}

test('a 429 to one replica makes all replicas wait, and slows them for a while', async () => {
  const sent = await sendAfter429((time) => {
    const { rows } = memoryRows(time.now);
    // Their clocks differ, but run at the same rate.
    return [0, 5e9, -7e8].map((apartMs) => createSharedStore(rows, { localMs: () => time.now() + apartMs }));
  });
  for (const times of sent) expect(times[0]).toBeGreaterThanOrEqual(3000);
  const all = sent.flat();
  // 180 requests at half the pace of 700 a minute, after half the burst.
  expect(Math.max(...all) - Math.min(...all)).toBeGreaterThan(((180 - 40) * 60_000) / 700);
});

test('counter-test: a 429 to one replica does not slow replicas that count separately', async () => {
  const [, second = []] = await sendAfter429(() => [createMemoryStore(), createMemoryStore()]);
  expect(second[0]).toBeLessThan(3000);
});

test('a replica that has sent nothing yet starts at the account’s current pace', async () => {
  const time = virtualTime(1e12);
  const { rows } = memoryRows(time.now);
  const first = createSharedStore(rows, { localMs: time.now });
  const fresh = createSharedStore(rows, { localMs: () => time.now() + 9e9 });
  for (let index = 0; index < 3; index += 1) {
    await first.limited(budgetsOf('a', 'GET /a', 1)[0], time.now(), 1000);
    await time.sleep(1001);
  }
  let sent = 0;
  for (let index = 0; index < 40; index += 1) {
    const budgets = budgetsOf('a', 'GET /a', fresh.slowness('a', time.now()).pace);
    if ((await fresh.take(budgets, time.now(), 40)) === 0) sent += 1;
  }
  // An eighth of the burst of 40, and a little more for what has recovered since.
  expect(sent).toBeGreaterThan(2);
  expect(sent).toBeLessThanOrEqual(6);
});

test('a clock that is set back delays no request for longer than a 429 can', async () => {
  for (const backMs of [100_000, 3_600_000, 86_400_000]) {
    let backByMs = 0;
    const time = virtualTime(1e12);
    const now = () => time.now() - backByMs;
    const { rows } = memoryRows(now);
    const stores: [LimiterStore, LimiterStore] = [
      createMemoryStore(),
      createSharedStore(rows, { localMs: () => time.now() + 7 }),
    ];
    for (const store of stores) {
      backByMs = 0;
      const [account] = budgetsOf('a', 'GET /a', 1);
      await store.limited(account, now(), 3000);
      backByMs = backMs;
      expect(store.slowness('a', now()).blockedMs).toBeLessThan(310_000);
    }
    // A limiter that reads the row for the first time now.
    const limiter = createLimiter({
      account: 'a',
      share: 1,
      time,
      store: createSharedStore(rows, { localMs: time.now }),
    });
    const startedMs = time.now();
    await time.finish(limiter.wait('GET /a'));
    expect(time.now() - startedMs).toBeLessThan(310_000);
  }
});

test('a read from before a 429 does not undo it, and a 429 that cannot be written still slows this process', async () => {
  const time = virtualTime(1e12);
  const { rows } = memoryRows(time.now, async () => await time.sleep(50));
  let isDown = false;
  const read = async (keys: string[]) => {
    if (isDown) throw new Error('the store is away');
    return await rows.read(keys);
  };
  const store = createSharedStore({ ...rows, read }, { localMs: time.now });
  const budgets = budgetsOf('a', 'GET /a', 1);
  await createSharedStore(rows, { localMs: time.now }).limited(budgets[0], time.now(), 1000);
  await time.sleep(1500);
  const taking = store.take(budgets, time.now(), 1);
  isDown = true;
  await expect(store.limited(budgets[0], time.now(), 30_000)).rejects.toThrow('the store is away');
  await taking;
  expect(store.slowness('a', time.now()).blockedMs).toBeGreaterThan(29_000);
});

test('however many 429s come, an account waits for a second at least, and then has an eighth of its pace', () => {
  let slow = slowDown(undefined, 0, 0);
  expect(slow).toEqual({ pace: 0.5, blockedUntil: 1000 });
  for (const pace of [0.25, 0.125, 0.125, 0.125]) {
    slow = slowDown(slow, slow.blockedUntil, 0);
    expect(slow.pace).toBe(pace);
  }
  // The longest wait that a control plane can ask for.
  expect(slownessAt(slowDown(slow, slow.blockedUntil, 300_000), slow.blockedUntil).blockedMs).toBe(300_000);
});

test('a pace recovers within five minutes, and two slowdowns join into what both allow', () => {
  const once = slowDown(undefined, 0, 10_000);
  expect(slownessAt(once, 0)).toEqual({ blockedMs: 10_000, pace: 0.5 });
  expect(slownessAt(once, 160_000).pace).toBeCloseTo(1);
  expect(slownessAt(once, 1_000_000)).toEqual({ blockedMs: 0, pace: 1 });
  const together = slowDown(once, 5000, 10_000);
  expect(together).toEqual({ pace: 0.5, blockedUntil: 15_000 });
  // A 429 that asks for less does not shorten the wait that an earlier one asked for.
  expect(slowDown(once, 5000, 1000)).toEqual(once);
  // The first has recovered by then: only the second counts.
  const later = slowDown(undefined, 400_000, 1000);
  const slower = slowDown(once, 10_000, 1000);
  expect(joined(slower, later)).toEqual(later);
  expect(joined(undefined, later)).toEqual(later);
});
