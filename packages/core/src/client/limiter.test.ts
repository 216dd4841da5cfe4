import { clientFixture, failure } from '@keywarden/testkit/client/fixture';
import { virtualTime } from '@keywarden/testkit/client/virtual-time';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { createLimiter, type Limiter, noLimiter } from './limiter.ts';
import { createMemoryStore, type LimiterStore } from './limiter-store.ts';

const boundMs = (n: number, share: number) => (1.05 * (n - 40 * share) * 60_000) / (700 * share);

test.each(['fixed', 'sliding'] as const)(
  'L1: 1,400 requests at the whole share, counted in %s windows, cause no 429 and take at most 1.05 times the minimum time',
  async (windows) => {
    const time = virtualTime();
    const { sandbox, controls } = await clientFixture({ realNowMs: time.now });
    await controls.setLimits({ windows });
    const limiter = createLimiter({ account: 'a', share: 1, time });
    const { url: baseUrl, adminKey: apiKey } = sandbox;
    const client = createClient({ baseUrl, apiKey, limiter, time, fetch: time.fetch, callTimeoutMs: 1e9 });
    const startedMs = time.now();
    await Promise.all(Array.from({ length: 1400 }, async () => await client.auth()));
    const stats = await createControls(sandbox.controlUrl).stats();
    expect(stats).toMatchObject({ requests: 1400, rate_limited: 0 });
    expect(time.now() - startedMs).toBeLessThanOrEqual(boundMs(1400, 1));
  },
);

test('L1, counter-test: without the limiter the same requests are refused by either way of counting', async () => {
  for (const windows of ['fixed', 'sliding'] as const) {
    const time = virtualTime();
    const { sandbox, controls } = await clientFixture({ realNowMs: time.now });
    await controls.setLimits({ windows });
    const { url: baseUrl, adminKey: apiKey } = sandbox;
    const client = createClient({ baseUrl, apiKey, limiter: noLimiter, time, fetch: time.fetch });
    await Promise.all(Array.from({ length: 100 }, async () => await client.auth().catch(() => undefined)));
    const stats = await createControls(sandbox.controlUrl).stats();
    expect(stats.rate_limited).toBeGreaterThan(0);
  }
});

/** Returns when each of `count` requests, spread over `routes`, was sent, in ms since the first. */
async function sendTimes(count: number, { share, routes }: { share: number; routes: number }): Promise<number[]> {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share, time });
  const sent: number[] = [];
  const send = async (index: number) => {
    await limiter.wait(`GET /${index % routes}`);
    sent.push(time.now());
  };
  await time.finish(Promise.all(Array.from({ length: count }, (_, index) => send(index))));
  return sent;
}

test.each([0.11, 0.5, 1])(
  'L1: at a share of %d no window holds more than its share, for any spread of requests',
  async (share) => {
    for (const routes of [1, 7]) {
      const sent = await sendTimes(1400, { share, routes });
      const most = (windowMs: number) =>
        Math.max(...sent.map((from, index) => sent.slice(index).filter((at) => at < from + windowMs).length));
      expect(most(60_000)).toBeLessThanOrEqual(700 * share);
      // Each route has a burst of its own.
      expect(most(1000)).toBeLessThanOrEqual(40 * share * routes);
    }
  },
);

test('L1: fewer requests than a window holds, on several routes, also stay within the time bound', async () => {
  for (const share of [0.5, 1]) {
    const sent = await sendTimes(700 * share, { share, routes: 7 });
    const late = sent
      .map((at, index) => at - Math.max(0, boundMs(index + 1, share)))
      .filter((overMs) => overMs > 0.001);
    expect(late).toEqual([]);
  }
});

test('minting organization keys has a budget of its own', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  const route = 'POST /organizations/{org_id}/api_keys';
  const sent: number[] = [];
  await time.finish(
    Promise.all(
      Array.from({ length: 30 }, async () => {
        await limiter.wait(route);
        sent.push(time.now());
      }),
    ),
  );
  const most = Math.max(...sent.map((from) => sent.filter((at) => at >= from && at < from + 1000).length));
  expect(most).toBe(10);
});

test('routes alternate: a late request does not wait behind the long queues of other routes', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 0.5, time });
  const order: string[] = [];
  const send = async (route: string) => {
    await limiter.wait(route);
    order.push(route);
    // The burst is over by now.
    if (order.length === 100) others.push(send('DELETE /key'));
  };
  const others: Promise<void>[] = [];
  const walk = Array.from({ length: 400 }, async (_, index) => await send(`GET /${index % 2}`));
  await time.finish(Promise.all(walk));
  await time.finish(Promise.all(others));
  expect(order.indexOf('DELETE /key')).toBeLessThan(104);
  const first = order.slice(0, 200).filter((route) => route === 'GET /0').length;
  expect(first).toBeGreaterThan(95);
  expect(first).toBeLessThan(105);
});

test('minting sustains at least four fifths of its ten a second, and one route four fifths of its forty', async () => {
  const span = async (route: string, count: number) => {
    const time = virtualTime(0);
    const limiter = createLimiter({ account: 'a', share: 1, time });
    await time.finish(Promise.all(Array.from({ length: count }, async () => await limiter.wait(route))));
    return time.now();
  };
  expect(await span('POST /organizations/{org_id}/api_keys', 100)).toBeLessThanOrEqual(11_250);
  expect(await span('GET /a', 60)).toBeLessThanOrEqual(1750);
});

test.each([
  ['GET /a', 'GET /b'],
  ['GET /b', 'GET /a'],
])('a route with room waits for no other, if %s waits before %s', async (...routes) => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  for (let index = 0; index < 40; index += 1) await limiter.wait('GET /a');
  const sent: Record<string, number> = {};
  const send = async (route: string) => {
    await limiter.wait(route);
    sent[route] = time.now();
  };
  const pending: Promise<void>[] = [];
  for (const route of routes) {
    pending.push(send(route));
    await time.sleep(10);
  }
  await time.finish(Promise.all(pending));
  expect(sent['GET /a']).toBeGreaterThanOrEqual(1000);
  expect(sent['GET /b']).toBeLessThan(200);
});

test('a fault of the store rejects every waiting request, which takes no permit afterwards, and neither does an aborted one', async () => {
  const time = virtualTime(0);
  const memory = createMemoryStore();
  let isDown = true;
  const take: LimiterStore['take'] = (...asked) => {
    if (isDown) throw new Error('down');
    return memory.take(...asked);
  };
  const limiter = createLimiter({ account: 'a', share: 1, time, store: { ...memory, take } });
  const settled = await time.finish(Promise.allSettled([1, 2, 3].map(() => limiter.wait('GET /a'))));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  isDown = false;
  await expect(limiter.wait('GET /a', AbortSignal.abort())).rejects.toThrow(/abort/i);
  await time.finish(limiter.wait('GET /a'));
  expect(await limiter.left()).toBe(699);
});

test('an invalid share is refused', () => {
  for (const share of [0, -1, 1.5, Number.NaN]) {
    expect(() => createLimiter({ account: 'a', share, time: virtualTime(0) })).toThrow(/share must be/);
  }
});

test('a request that leaves a queue removes no other request from it', async () => {
  const time = virtualTime(0);
  const memory = createMemoryStore();
  // A store that answers asynchronously, as a database does.
  const store = {
    ...memory,
    take: async (...asked: Parameters<typeof memory.take>) => {
      await new Promise((resolve) => setImmediate(resolve));
      return await memory.take(...asked);
    },
  };
  const limiter = createLimiter({ account: 'a', share: 1, time, store });
  for (let round = 0; round < 20; round += 1) {
    const stop = new AbortController();
    const gone = limiter.wait('GET /a', stop.signal).catch(() => 'gone');
    stop.abort();
    expect(await time.finish(gone)).toBe('gone');
    await time.finish(limiter.wait('GET /a'));
  }
});

test('nothing waits for a request that has left, and no permit is taken for it', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  await Promise.all(Array.from({ length: 40 }, () => limiter.wait('GET /a')));
  const stop = new AbortController();
  const gone = limiter.wait('GET /a', stop.signal).catch(() => 'gone');
  // The limiter sleeps until the next permit.
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  stop.abort();
  expect(await time.finish(gone)).toBe('gone');
  for (let turns = 0; turns < 5; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([time.now(), await limiter.left()]).toEqual([0, 660]);
});

test('a request that was sent before its account was known is counted', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  for (let index = 0; index < 40; index += 1) await limiter.record('GET /auth');
  await time.finish(limiter.wait('GET /auth'));
  expect(time.now()).toBeGreaterThanOrEqual(1000);
});

test('a clock that is set back delays a request by at most one window', async () => {
  let nowMs = 3_600_000;
  const time = { now: () => nowMs, sleep: async (ms: number) => void (nowMs += ms) };
  const limiter = createLimiter({ account: 'a', share: 1, time });
  for (let index = 0; index < 41; index += 1) await limiter.wait(`GET /${index % 9}`);
  nowMs -= 3_600_000;
  const from = nowMs;
  await limiter.wait('GET /a');
  expect(nowMs - from).toBeLessThan(61_000);
});

test('limiters that share a store share one budget', async () => {
  const time = virtualTime(0);
  const store = createMemoryStore();
  const replicas = [1, 2, 3].map(() => createLimiter({ account: 'a', share: 0.5, time, store }));
  const sent: number[] = [];
  const send = async (limiter: Limiter, route: string) => {
    await limiter.wait(route);
    sent.push(time.now());
  };
  await time.finish(
    Promise.all(replicas.flatMap((each) => Array.from({ length: 200 }, (_, index) => send(each, `GET /${index % 5}`)))),
  );
  sent.sort((a, b) => a - b);
  const most = Math.max(...sent.map((from, index) => sent.slice(index).filter((at) => at < from + 60_000).length));
  expect(most).toBeLessThanOrEqual(350);
});

test('a 429 that other clients of the account caused makes every request wait, and slows the pace for a while', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  await time.finish(limiter.wait('GET /a'));
  limiter.limited(3000);
  const sent: number[] = [];
  const send = async (route: string) => {
    await limiter.wait(route);
    sent.push(time.now());
  };
  await time.finish(Promise.all(Array.from({ length: 120 }, (_, index) => send(`GET /${index % 9}`))));
  expect(sent[0]).toBeGreaterThanOrEqual(3000);
  const usual = await sendTimes(120, { share: 1, routes: 9 });
  const took = (times: number[]) => (times.at(-1) ?? 0) - (times[0] ?? 0);
  expect(took(sent)).toBeGreaterThan(1.5 * took(usual));
});

test('a fault of the limiter’s store is reported without its text, and no request is sent', async () => {
  const { client, sandbox } = await clientFixture();
  const store = {
    ...createMemoryStore(),
    take: () => {
      throw new Error('postgres://user:password@host is down');
    },
  };
  const limiter = createLimiter({ account: 'a', share: 1, time: virtualTime(0), store });
  const error = await failure(client({ limiter }).createPersonalKey('x'));
  expect([error.code, error.canRetry]).toEqual(['limiter_failed', true]);
  expect(error.message).not.toContain('password');
  const stats = await createControls(sandbox.controlUrl).stats();
  expect(stats.requests).toBe(0);
});

test('aborted requests give their place in the queue to the others', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  const stop = new AbortController();
  const gone = Array.from({ length: 500 }, async () => await limiter.wait('GET /a', stop.signal).catch(() => 'gone'));
  const stays = limiter.wait('GET /a');
  setImmediate(() => stop.abort());
  await time.finish(stays);
  // Behind all 500 requests, it would have waited for about forty seconds.
  expect(time.now()).toBeLessThan(30_000);
  expect(await time.finish(Promise.all(gone))).toContain('gone');
});

test('a call that gets no permit within its timeout rejects with timed_out, and no request is sent', async () => {
  const { client, sandbox } = await clientFixture();
  const never = { ...noLimiter, wait: (_route: string, signal?: AbortSignal) => waitFor(signal) };
  const error = await failure(client({ limiter: never, callTimeoutMs: 20 }).createPersonalKey('x'));
  expect({ code: error.code, canRetry: error.canRetry }).toEqual({ code: 'timed_out', canRetry: true });
  const stats = await createControls(sandbox.controlUrl).stats();
  expect(stats.requests).toBe(0);
});

function waitFor(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}
