import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { createLimiter, noLimiter } from './limiter.ts';
import { createMemoryStore } from './limiter-store.ts';
import { clientBed, failure } from './testing.ts';

/**
 * A clock that waiting alone moves on, and only while no request is on its way: those take no time at all. Sleeps end in the order of
 * their times, as real ones do.
 */
function virtualTime(startMs = Date.parse('2026-06-15T12:00:07.300Z')) {
  const onTheirWay = { count: 0 };
  let nowMs = startMs;
  const sleepers: { at: number; wake: () => void }[] = [];
  let isMoving = false;
  const move = async () => {
    isMoving = true;
    while (sleepers.length > 0) {
      // Whatever can go on without waiting does so before time moves.
      do await new Promise((resolve) => setImmediate(resolve));
      while (onTheirWay.count > 0);
      sleepers.sort((a, b) => a.at - b.at);
      const next = sleepers.shift();
      if (next === undefined) break;
      nowMs = Math.max(nowMs, next.at);
      next.wake();
    }
    isMoving = false;
  };
  return {
    now: () => nowMs,
    fetch: async (...request: Parameters<typeof fetch>) => {
      onTheirWay.count += 1;
      return await fetch(...request).finally(() => {
        onTheirWay.count -= 1;
      });
    },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const sleeper = { at: nowMs + ms, wake: resolve };
        signal?.addEventListener('abort', () => {
          const index = sleepers.indexOf(sleeper);
          if (index !== -1) sleepers.splice(index, 1);
          reject(signal.reason);
        });
        sleepers.push(sleeper);
        if (!isMoving) void move();
      }),
  };
}

const boundMs = (n: number, share: number) => (1.05 * (n - 40 * share) * 60_000) / (700 * share);

test.each(['fixed', 'sliding'] as const)(
  'L1: 1,400 requests at the whole share, counted in %s windows: no 429, and in no more than 1.05 times the time that they must take',
  async (windows) => {
    const time = virtualTime();
    const { sandbox, control } = await clientBed({ realNowMs: time.now });
    await control('limits', { windows });
    const limiter = createLimiter({ account: 'a', share: 1, time });
    const { url: baseUrl, adminKey: apiKey } = sandbox;
    const client = createClient({ baseUrl, apiKey, limiter, time, fetch: time.fetch, callTimeoutMs: 1e9 });
    const startedMs = time.now();
    await Promise.all(Array.from({ length: 1400 }, async () => await client.auth()));
    const stats = (await (await fetch(`${sandbox.controlUrl}/stats`)).json()) as object;
    expect(stats).toMatchObject({ requests: 1400, rate_limited: 0 });
    expect(time.now() - startedMs).toBeLessThanOrEqual(boundMs(1400, 1));
  },
);

test('L1: without the limiter the same requests are refused, by either way of counting', async () => {
  for (const windows of ['fixed', 'sliding']) {
    const time = virtualTime();
    const { sandbox, control } = await clientBed({ realNowMs: time.now });
    await control('limits', { windows });
    const { url: baseUrl, adminKey: apiKey } = sandbox;
    const client = createClient({ baseUrl, apiKey, limiter: noLimiter, time, fetch: time.fetch });
    await Promise.all(Array.from({ length: 100 }, async () => await client.auth().catch(() => undefined)));
    const stats = (await (await fetch(`${sandbox.controlUrl}/stats`)).json()) as { rate_limited: number };
    expect(stats.rate_limited).toBeGreaterThan(0);
  }
});

/** When each of `count` requests, spread over `routes`, was let go, in ms from the first. */
async function sendTimes(count: number, { share, routes }: { share: number; routes: number }): Promise<number[]> {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share, time });
  const sent: number[] = [];
  const send = async (index: number) => {
    await limiter.wait(`GET /${index % routes}`);
    sent.push(time.now());
  };
  await Promise.all(Array.from({ length: count }, (_, index) => send(index)));
  return sent;
}

test.each([0.1, 0.5, 1])(
  'L1: at a share of %d no window holds more than its share, however requests are spread',
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

test('L1: fewer requests of several routes than a window holds take no longer than the bound either', async () => {
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
  await Promise.all(
    Array.from({ length: 30 }, async () => {
      await limiter.wait(route);
      sent.push(time.now());
    }),
  );
  const most = Math.max(...sent.map((from) => sent.filter((at) => at >= from && at < from + 1000).length));
  expect(most).toBe(10);
});

test('routes take turns: one request of a route is not kept behind a long queue of another', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 0.5, time });
  const order: string[] = [];
  const send = async (route: string) => {
    await limiter.wait(route);
    order.push(route);
  };
  const walk = Array.from({ length: 200 }, async () => await send('GET /operations'));
  await Promise.all([...walk, send('DELETE /key')]);
  expect(order.indexOf('DELETE /key')).toBeLessThan(3);
});

test('limiters that share a store share one budget', async () => {
  const time = virtualTime(0);
  const store = createMemoryStore();
  const replicas = [1, 2, 3].map(() => createLimiter({ account: 'a', share: 0.5, time, store }));
  const sent: number[] = [];
  await Promise.all(
    replicas.flatMap((limiter) =>
      Array.from({ length: 200 }, async (_, index) => {
        await limiter.wait(`GET /${index % 5}`);
        sent.push(time.now());
      }),
    ),
  );
  sent.sort((a, b) => a - b);
  const most = Math.max(...sent.map((from, index) => sent.slice(index).filter((at) => at < from + 60_000).length));
  expect(most).toBeLessThanOrEqual(350);
});

test('a 429 that others of the account caused makes everything wait, and slows the pace for a while', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  await limiter.wait('GET /a');
  limiter.limited(3000);
  const sent: number[] = [];
  await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      await limiter.wait(`GET /${index % 9}`);
      sent.push(time.now());
    }),
  );
  expect(sent[0]).toBeGreaterThanOrEqual(3000);
  const usual = await sendTimes(120, { share: 1, routes: 9 });
  const took = (times: number[]) => (times.at(-1) ?? 0) - (times[0] ?? 0);
  expect(took(sent)).toBeGreaterThan(1.5 * took(usual));
});

test('a request that is aborted while it waits leaves its place to the others', async () => {
  const time = virtualTime(0);
  const limiter = createLimiter({ account: 'a', share: 1, time });
  const stop = new AbortController();
  const gone = Array.from({ length: 50 }, async () => await limiter.wait('GET /a', stop.signal).catch(() => 'gone'));
  await Promise.resolve();
  stop.abort();
  const ends = await Promise.all(gone);
  expect(ends).toContain('gone');
  await limiter.wait('GET /b');
  expect(time.now()).toBeLessThan(1000);
});

test('a call that gets no turn within its time is told so, and was not sent', async () => {
  const { client, sandbox } = await clientBed();
  const never = { ...noLimiter, wait: (_route: string, signal?: AbortSignal) => waitFor(signal) };
  const error = await failure(client({ limiter: never, callTimeoutMs: 20 }).createPersonalKey('x'));
  expect({ code: error.code, canRetry: error.canRetry }).toEqual({ code: 'timed_out', canRetry: true });
  const stats = (await (await fetch(`${sandbox.controlUrl}/stats`)).json()) as { requests: number };
  expect(stats.requests).toBe(0);
});

function waitFor(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}
