import { createLogger } from '@keywarden/runtime';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createApp } from '../app.ts';
import { mostFailures } from '../limits/limits.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

/** Returns the report behind proxies. A request names its peer itself. */
async function behind(proxies: string[]) {
  const { sql } = await fixture.store.as('keywarden_report');
  const peerOf = (c: { req: { header(name: string): string | undefined } }) => c.req.header('x-peer') ?? '127.0.0.1';
  const app = createApp({
    requestsPerMinute: 1e9,
    sql,
    log: createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }),
    marks: { around: async (action) => await action() },
    now: Date.now,
    transport: { isTls: false, proxies },
    peerOf,
  });
  const status = async (headers: Record<string, string>) =>
    (await app.request('/v1/me', { headers: { authorization: `Bearer ${fixture.tokens.viewer}`, ...headers } })).status;
  return { app, status };
}

async function lastAddress(): Promise<unknown> {
  const [row] = await fixture.store.sql`select address from keywarden.access_log order by number desc limit 1`;
  return row?.address;
}

test('other machines need HTTPS, directly or through a configured proxy, which passes on the client address', async () => {
  const { app, status } = await behind(['10.0.0.0/8']);
  expect(await status({ 'x-peer': '127.0.0.1' })).toBe(200);
  // Only a configured proxy is trusted to report HTTPS, and who its client is. A peer without an address is none.
  for (const peer of ['192.0.2.7', ''])
    for (const claimed of [{}, { 'x-forwarded-proto': 'https' }, { 'x-forwarded-for': '127.0.0.1' }])
      expect(await status({ 'x-peer': peer, ...claimed })).toBe(403);
  expect(await status({ 'x-peer': '10.0.0.1', 'x-forwarded-for': '192.0.2.7' })).toBe(403);
  // What the proxy adds is last; what is before it comes from the client.
  expect(
    await status({ 'x-peer': '10.0.0.1', 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https, http' }),
  ).toBe(403);
  expect(
    await status({ 'x-peer': '10.0.0.1', 'x-forwarded-for': '127.0.0.1, 192.0.2.7', 'x-forwarded-proto': 'https' }),
  ).toBe(200);
  expect(await lastAddress()).toBe('192.0.2.7');
  // Only a configured proxy is trusted to report the host, with which the origin of a form is compared.
  const signIn = async (headers: Record<string, string>) => {
    const body = new URLSearchParams({ token: fixture.tokens.viewer ?? '' });
    const forwarded = { host: 'internal', 'x-forwarded-host': 'report.example', ...headers };
    return (await app.request('/sign-in', { method: 'POST', headers: forwarded, body })).status;
  };
  const proxied = { 'x-peer': '10.0.0.1', 'x-forwarded-proto': 'https' };
  expect(await signIn({ ...proxied, origin: 'https://report.example' })).toBe(303);
  expect(await signIn({ ...proxied, origin: 'https://internal' })).toBe(403);
  // Each proxy of a chain may add the host that it was asked for.
  const chained = { ...proxied, 'x-forwarded-host': 'report.example, middle.example' };
  expect(await signIn({ ...chained, origin: 'https://report.example' })).toBe(303);
  expect(await signIn({ ...chained, origin: 'https://report.example, middle.example' })).toBe(403);
  expect(await signIn({ ...chained, origin: 'https://internal' })).toBe(403);
  expect(await signIn({ origin: 'http://report.example' })).toBe(403);
  expect(await signIn({ origin: 'http://internal' })).toBe(303);
});

test.each([
  ['203.0.113.7:4711', '203.0.113.7'],
  ['[2001:db8::7]:4711', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['[fe80::7%eth0]:4711', 'fe80::7%eth0'],
  ['198.51.100.4, 203.0.113.7:4711, 10.0.0.2:80, 10.0.0.3', '203.0.113.7'],
  ['198.51.100.4, unknown', 'unknown'],
  ['198.51.100.4, _hidden', '_hidden'],
  // A client in a range that is trusted as a whole.
  ['10.1.2.3, 10.0.0.2', '10.1.2.3'],
  ['', '10.0.0.1'],
])('the client of a chain of proxies that report %j is %j', async (header, client) => {
  const { status } = await behind(['10.0.0.0/8']);
  const proxied = { 'x-peer': '10.0.0.1', 'x-forwarded-for': header };
  expect(await status({ ...proxied, 'x-forwarded-proto': 'https' })).toBe(200);
  expect(await lastAddress()).toBe(client);
  expect(await status({ ...proxied, 'x-forwarded-proto': 'http' })).toBe(403);
});

test('a client cannot send more wrong tokens over other connections, whose ports its proxy reports', async () => {
  const { status } = await behind(['10.0.0.0/8']);
  const proxied = { 'x-peer': '10.0.0.1', 'x-forwarded-proto': 'https', authorization: 'Bearer kwr_wrong' };
  const statusFrom = async (address: string) => await status({ ...proxied, 'x-forwarded-for': address });
  for (let port = 0; port < mostFailures; port += 1) {
    expect(await statusFrom(`203.0.113.9:${4000 + port}`)).toBe(401);
    expect(await statusFrom(`[2001:db8:9::${port}]:${4000 + port}`)).toBe(401);
  }
  expect(await statusFrom('203.0.113.9:5000')).toBe(429);
  expect(await statusFrom('[2001:db8:9::ffff]:5000')).toBe(429);
});

test('a client in a range of proxies that includes this machine needs HTTPS', async () => {
  const { status } = await behind(['127.0.0.1', '10.0.0.0/8']);
  expect(await status({ 'x-peer': '127.0.0.1', 'x-forwarded-for': '10.1.2.3', 'x-forwarded-proto': 'http' })).toBe(403);
});
