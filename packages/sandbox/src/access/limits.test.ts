import { companyFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';
import { createLimitCounter, documentedLimits } from './limits.ts';

const second = 1_000_000;

test('a request over the limit gets 429 and is counted, and the next window starts at zero', async () => {
  let now = Date.parse('2026-06-15T12:00:30Z');
  const { api, control } = await companyFixture({ realNowMs: () => now });
  await control('/limits', {
    method: 'PUT',
    body: { per_minute: 5, per_second_per_route: null, org_key_creation_per_second: null },
  });
  await control('/stats', { method: 'DELETE' });
  const ask = async () => (await api('/auth')).status;
  const statuses = [];
  for (let index = 0; index < 7; index += 1) statuses.push(await ask());
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  expect((await control('/stats')).body).toEqual({
    requests: 7,
    rate_limited: 2,
    by_route: { 'GET /auth': { requests: 7, rate_limited: 2 } },
  });
  now += 30_000;
  expect(await ask()).toBe(200);
});

test('the documented limits: 700 a minute an account, 40 a second a route, 10 a second for minting organization keys', () => {
  const mint = 'POST /organizations/{org_id}/api_keys';
  const allowed = (route: string, times: number[]) => {
    const countRequest = createLimitCounter();
    return times.filter((at) => countRequest(documentedLimits, 'account', route, at)).length;
  };
  const burst = (count: number) => Array.from({ length: count }, (_, index) => index);
  expect(allowed('GET /projects', burst(50))).toBe(40);
  expect(allowed(mint, burst(50))).toBe(10);
  const spread = Array.from({ length: 1000 }, (_, index) => index * 50_000); // 20 a second for 50 s
  expect(allowed('GET /projects', spread)).toBe(700);
});

test('one account does not use another’s limit, and one route does not use another’s burst', () => {
  const countRequest = createLimitCounter();
  for (let index = 0; index < 40; index += 1) countRequest(documentedLimits, 'a', 'GET /projects', index);
  expect(countRequest(documentedLimits, 'a', 'GET /projects', 41)).toBe(false);
  expect(countRequest(documentedLimits, 'a', 'GET /auth', 42)).toBe(true);
  expect(countRequest(documentedLimits, 'b', 'GET /projects', 43)).toBe(true);
});

test('refused requests count in a sliding window, too, until a client waits', () => {
  const countRequest = createLimitCounter();
  const ask = (at: number) => countRequest({ ...documentedLimits, windows: 'sliding' }, 'a', 'GET /projects', at);
  for (let index = 0; index < 41; index += 1) ask(0);
  for (let index = 0; index < 40; index += 1) expect(ask(second / 2)).toBe(false);
  expect(ask(1.2 * second)).toBe(false);
  expect(ask(2.3 * second)).toBe(true);
});

test('sliding windows refuse a burst that fixed windows would allow across the end of a second', () => {
  const across = [
    ...Array.from({ length: 40 }, (_, index) => 900_000 + index),
    ...Array.from({ length: 40 }, () => second),
  ];
  const allowed = (windows: 'fixed' | 'sliding') => {
    const countRequest = createLimitCounter();
    return across.filter((at) => countRequest({ ...documentedLimits, windows }, 'a', 'GET /projects', at)).length;
  };
  expect(allowed('fixed')).toBe(80);
  expect(allowed('sliding')).toBe(40);
});
