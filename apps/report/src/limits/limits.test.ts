import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createApp } from '../app.ts';
import { pathOf } from '../parameters.ts';
import { classOf } from './limits.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

test.each([
  ['/v1/operations/buckets?size=month', 'heavy'],
  ['/v1/keys?as_of=2026-01-01T00:00:00Z', 'heavy'],
  ['/v1/keys?q=ci', 'heavy'],
  ['/v1/%63overage/inventory', 'heavy'],
  ['/', 'heavy'],
  ['/coverage', 'heavy'],
  ['/v1/keys', 'light'],
  ['/keys/12', 'light'],
  ['/api/v2/projects', 'light'],
])('%s is %s', (path, kind) => {
  expect(classOf(`http://here${path}`)).toBe(kind);
});

test('a path has each letter, digit and mark as itself, and everything else in its percent form', () => {
  expect(pathOf('http://here/%76%31/%6B%2D%2e%5F%7e%41%5a%39?%61')).toBe('/v1/k-._~AZ9');
  expect(pathOf('http://here/%2F%00%25%7f%2f%40%5b%3a')).toBe('/%2F%00%25%7f%2f%40%5b%3a');
});

test('a token over its rate gets 429 with Retry-After, once recorded; another token is answered', async () => {
  const { sql: report } = await fixture.store.as('keywarden_report');
  const app = createApp({
    sql: report,
    requestsPerMinute: 3,
    log: fixture.log,
    marks: { around: async (action) => await action() },
    now: Date.now,
    transport: { isTls: false, proxies: [] },
    peerOf: () => '127.0.0.1',
  });
  const ask = async (token: string | undefined) =>
    await app.request('/v1/me', { headers: { authorization: `Bearer ${token}` } });
  for (let count = 0; count < 3; count += 1) expect((await ask(fixture.tokens.viewer)).status).toBe(200);
  const refused = await ask(fixture.tokens.viewer);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ask(fixture.tokens.auditor)).status).toBe(200);
  for (let count = 0; count < 20; count += 1) await ask(fixture.tokens.viewer);
  const [row] = await fixture.store.sql`
    select count(*)::int as rows, sum(times)::int as times from keywarden.access_log where status = 429`;
  expect(row?.times).toBe(21);
  expect(Number(row?.rows)).toBeLessThanOrEqual(2); // a minute may end meanwhile
});

test('a token opens no more sessions than it may send requests', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const app = createApp({
    requestsPerMinute: 3,
    sql,
    log: fixture.log,
    marks: { around: async (action) => await action() },
    now: Date.now,
    transport: { isTls: false, proxies: [] },
    peerOf: () => '127.0.0.1',
  });
  const statuses: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const body = new URLSearchParams({ token: fixture.tokens.viewer ?? '' });
    const headers = { host: 'h', origin: 'http://h' };
    statuses.push((await app.request('/sign-in', { method: 'POST', headers, body })).status);
  }
  expect(statuses).toEqual([303, 303, 303, 429, 429]);
  const [row] = await fixture.store.sql`select count(*)::int as sessions from keywarden.report_session`;
  expect(row?.sessions).toBe(3);
  const refused = await fixture.store
    .sql`select event from keywarden.access_log where path = '/sign-in' and status = 429`;
  // A minute may end meanwhile.
  expect(new Set(refused.map(({ event }) => event))).toEqual(new Set(['sign_in_failed']));
});

test('a query that may read much ends when its client goes, and is recorded as that', async () => {
  const client = new AbortController();
  let asked: Promise<Response> | undefined;
  await fixture.store.sql.begin(async (tx) => {
    await tx`lock table keywarden.credential in access exclusive mode`;
    const headers = { authorization: `Bearer ${fixture.tokens.operator}` };
    asked = Promise.resolve(fixture.app.request('/v1/keys?q=ci', { headers, signal: client.signal }));
    await fixture.store.untilBlocked(asked);
    client.abort();
    // While the table is locked.
    await fixture.store.untilBlocked();
  });
  expect((await asked)?.status).toBe(499);
  const [row] = await fixture.store.sql`select path from keywarden.access_log where status = 499`;
  expect(row?.path).toBe('/v1/keys');
});
