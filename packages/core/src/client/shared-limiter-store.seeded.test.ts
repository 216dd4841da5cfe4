import { sized } from '@keywarden/testkit';
import { memoryRows } from '@keywarden/testkit/client/fixture';
import { virtualTime } from '@keywarden/testkit/client/virtual-time';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLimiter } from './limiter.ts';
import { budgetsOf } from './limits.ts';
import { type BudgetRows, createSharedStore } from './shared-limiter-store.ts';

const boundMs = (n: number, share: number) => (1.05 * (n - 40 * share) * 60_000) / (700 * share);

/** Returns when each of `count` requests was sent, in ms since the first, by several replicas with a share of one account. */
async function sendTimes(
  count: number,
  { share, routes, replicas }: { share: number; routes: number; replicas: number },
) {
  const time = virtualTime(1e12);
  const { rows, counts } = memoryRows(time.now);
  const limiters = Array.from({ length: replicas }, () =>
    createLimiter({ account: 'a', share, time, store: createSharedStore(rows, { localMs: time.now }) }),
  );
  const sent: { at: number; route: number }[] = [];
  const send = async (index: number) => {
    const route = index % routes;
    await limiters[index % replicas]?.wait(`GET /${route}`);
    sent.push({ at: time.now() - 1e12, route });
  };
  await time.finish(Promise.all(Array.from({ length: count }, (_, index) => send(index))));
  return { sent, counts };
}

/** Returns the most requests in any window of this length. */
const mostIn = (times: number[], windowMs: number) =>
  Math.max(0, ...times.map((from, index) => times.slice(index).filter((at) => at < from + windowMs).length));

test.each([1, 3])(
  'L1: 1,400 requests of %d replicas at the whole share stay within the time bound, with well under one write each',
  async (replicas) => {
    const { sent, counts } = await sendTimes(1400, { share: 1, routes: 1, replicas });
    const times = sent.map(({ at }) => at);
    expect(Math.max(...times)).toBeLessThanOrEqual(boundMs(1400, 1));
    expect(mostIn(times, 60_000)).toBeLessThanOrEqual(700);
    expect(mostIn(times, 1000)).toBeLessThanOrEqual(40);
    expect(counts.writes / 1400).toBeLessThan(0.5);
  },
);

test('L1: no window holds more than the share, for any spread of requests over replicas, routes and time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0.1, 0.5, 1),
      fc.integer({ min: 1, max: 4 }),
      fc.array(
        fc.record({
          waitMs: fc.constantFrom(0, 0, 0, 1, 20, 300, 700, 2500),
          route: fc.nat(3),
          burst: fc.integer({ min: 1, max: 60 }),
        }),
        { minLength: 1, maxLength: 12 },
      ),
      async (share, replicas, bursts) => {
        const time = virtualTime(1e12);
        const { rows } = memoryRows(time.now);
        const limiters = Array.from({ length: replicas }, () =>
          createLimiter({ account: 'a', share, time, store: createSharedStore(rows, { localMs: time.now }) }),
        );
        const sent: { at: number; route: number }[] = [];
        const pending: Promise<void>[] = [];
        for (const { waitMs, route, burst } of bursts) {
          await time.sleep(waitMs);
          for (let index = 0; index < burst; index += 1) {
            const limiter = limiters[index % replicas];
            pending.push(
              (limiter?.wait(`GET /${route}`) ?? Promise.resolve()).then(
                () => void sent.push({ at: time.now(), route }),
              ),
            );
          }
        }
        await time.finish(Promise.all(pending));
        const times = (route?: number) =>
          sent.filter((each) => route === undefined || each.route === route).map(({ at }) => at);
        expect(mostIn(times(), 60_000)).toBeLessThanOrEqual(700 * share);
        for (const route of [0, 1, 2, 3]) expect(mostIn(times(route), 1000)).toBeLessThanOrEqual(40 * share);
      },
    ),
    { numRuns: sized(60) },
  );
});

test('L1, counter-test: replicas with a store each exceed the share that they have in common', async () => {
  const time = virtualTime(1e12);
  const limiters = [1, 2, 3].map(() => {
    const { rows } = memoryRows(time.now);
    return createLimiter({ account: 'a', share: 1, time, store: createSharedStore(rows, { localMs: time.now }) });
  });
  const sent: number[] = [];
  const send = async (index: number) => {
    await limiters[index % 3]?.wait('GET /a');
    sent.push(time.now());
  };
  await time.finish(Promise.all(Array.from({ length: 1400 }, (_, index) => send(index))));
  expect(mostIn(sent, 60_000)).toBeGreaterThan(700);
});

test.each([20, 160, 400, 1500])(
  'a store that takes %d ms to answer does not slow a busy route permanently, and never lets it exceed its rate',
  async (tripMs) => {
    const time = virtualTime(1e12);
    const { rows } = memoryRows(time.now, () => time.sleep(tripMs));
    const limiters = [1, 2].map(() =>
      createLimiter({
        account: 'a',
        share: 1,
        time,
        store: createSharedStore(rows, { localMs: time.now, sleep: (ms) => time.sleep(ms) }),
      }),
    );
    const sent: number[] = [];
    await Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        await limiters[index % 2]?.wait('GET /a');
        sent.push(time.now() - 1e12);
      }),
    );
    expect(mostIn(sent, 1000)).toBeLessThanOrEqual(40);
    // Two replicas that alternate their reservations on such a slow store may get half of the pace.
    expect(Math.max(...sent)).toBeLessThanOrEqual(2 * boundMs(400, 1) + 10 * tripMs);
  },
);

/** Two replicas of one route: one with rows whose answers take long to read, and one without. */
function makeReplicas(
  readSlowly: (read: () => ReturnType<BudgetRows['read']>, wait: () => Promise<void>) => ReturnType<BudgetRows['read']>,
) {
  const time = virtualTime(1e12);
  const { rows } = memoryRows(time.now);
  const read: BudgetRows['read'] = async (keys) =>
    await readSlowly(
      async () => await rows.read(keys),
      async () => await time.sleep(2000),
    );
  const budgets = budgetsOf('a', 'GET /a', 1);
  const sent: number[] = [];
  const replicaOf = (of: BudgetRows) => {
    const store = createSharedStore(of, { localMs: time.now });
    /** Sends what may be sent now, while 40 requests wait. */
    return async (count: number) => {
      for (let index = 0; index < count; index += 1)
        if ((await store.take(budgets, time.now(), 40)) === 0) sent.push(time.now());
    };
  };
  return { time, sent, slow: replicaOf({ ...rows, read }), fast: replicaOf(rows) };
}

test('L1: a permit is not taken before its time if the store reads its clock at the end of a long read', async () => {
  const { time, sent, slow, fast } = makeReplicas(async (read, wait) => {
    await wait();
    return await read();
  });
  const pending = slow(40);
  await time.sleep(1300);
  await fast(40);
  await pending;
  expect(sent).toHaveLength(40);
  expect(mostIn(sent, 1000)).toBeLessThanOrEqual(40);
});

test('L1: a permit is not taken after its time if the store reads its clock at the beginning of a long read', async () => {
  const { time, sent, slow, fast } = makeReplicas(async (read, wait) => {
    const answer = await read();
    await wait();
    return answer;
  });
  await slow(1);
  await time.sleep(2000);
  await fast(40);
  await slow(39);
  expect(sent.length).toBeGreaterThan(40);
  expect(mostIn(sent, 1000)).toBeLessThanOrEqual(40);
});

/** Returns how many requests an account's row counts. */
async function countedIn(rows: BudgetRows): Promise<number> {
  const { rows: saved } = await rows.read(['a']);
  const { used } = (saved.get('a')?.state ?? { used: [] }) as { used: [number, number][] };
  return used.reduce((sum, [, count]) => sum + count, 0);
}

test('lapsed permits are given back, each once, also if another process saved first', async () => {
  const time = virtualTime(1e12);
  const { rows } = memoryRows(time.now);
  let isDisturbed = false;
  const disturbed: BudgetRows = {
    read: rows.read,
    async save(changed) {
      if (!isDisturbed) return await rows.save(changed);
      isDisturbed = false;
      return false;
    },
  };
  const store = createSharedStore(disturbed, { localMs: time.now });
  const budgets = budgetsOf('a', 'GET /a', 1);
  // Ten requests wait, and nine of them leave.
  expect([await store.take(budgets, time.now(), 10), await countedIn(rows)]).toEqual([0, 10]);
  await time.sleep(5000);
  isDisturbed = true;
  expect([await store.take(budgets, time.now(), 1), await countedIn(rows)]).toEqual([0, 2]);
});

test('a request that was sent before its account was known is counted for all replicas', async () => {
  const time = virtualTime(1e12);
  const { rows } = memoryRows(time.now);
  const limiter = createLimiter({
    account: 'a',
    share: 1,
    time,
    store: createSharedStore(rows, { localMs: time.now }),
  });
  for (let index = 0; index < 3; index += 1) await limiter.record('GET /auth');
  expect([await countedIn(rows), await limiter.left()]).toEqual([3, 697]);
});

test('permits that a replica reserved and did not use are given back with its next batch', async () => {
  const time = virtualTime(1e12);
  const { rows } = memoryRows(time.now);
  const limiter = createLimiter({
    account: 'a',
    share: 1,
    time,
    store: createSharedStore(rows, { localMs: time.now }),
  });
  for (let round = 0; round < 40; round += 1) {
    // Batches grow while they are used up; then the unused permits lapse.
    for (let index = 0; index < 5; index += 1) await limiter.wait('GET /a');
    await time.sleep(1700);
  }
  // At most the last batch is reserved beyond what was sent in the last window.
  const sentInWindow = Math.ceil(62_750 / 1700) * 5;
  expect(await countedIn(rows)).toBeLessThanOrEqual(sentInWindow + 16);
});

test('a clock that was set back an hour delays requests by at most one window', async () => {
  const time = virtualTime(1e12);
  let offsetMs = 0;
  const { rows } = memoryRows(() => time.now() - offsetMs);
  const make = () =>
    createLimiter({ account: 'a', share: 1, time, store: createSharedStore(rows, { localMs: time.now }) });
  const before = make();
  await Promise.all(Array.from({ length: 700 }, () => before.wait('GET /a')));
  offsetMs = 3_600_000;
  const beforeMs = time.now();
  await make().wait('GET /a');
  expect(time.now() - beforeMs).toBeLessThanOrEqual(64_000);
});
