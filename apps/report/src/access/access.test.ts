import { randomBytes } from 'node:crypto';
import { createToken, listTokens } from '@keywarden/db/daemon';
import { createLogger } from '@keywarden/runtime';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { addClusterFunctions } from '@keywarden/testkit/store/cluster-functions';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createApp } from '../app.ts';
import { createFailureLimit, mostFailures } from '../limits/limits.ts';
import { redact } from './access-log.ts';
import { sessionCookie } from './authenticate.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const log = createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' });
/** More than any test sends. */
const requestsPerMinute = 1e9;
const marks = { around: async <T>(action: () => Promise<T>) => await action() };

test('P1: a revoked or expired token is rejected', async () => {
  const number = await fixture.makeToken('ended', 'operator');
  await fixture.store.sql`update keywarden.report_token set revoked_at = now() where number = ${number}`;
  await fixture.makeToken('expired', 'operator');
  await fixture.store
    .sql`update keywarden.report_token set expires_at = now() - interval '1 second' where name = 'expired'`;
  for (const as of ['ended', 'expired']) {
    expect((await fixture.ask('/v1/keys', { as })).status).toBe(401);
    expect((await fixture.ask('/api/v2/projects', { as })).status).toBe(401);
  }
});

test('wrong tokens of a network are limited; a valid token of that network is never refused', async () => {
  const headers = { 'x-peer': '127.9.9.9' };
  for (let index = 0; index < mostFailures; index += 1)
    expect((await fixture.ask('/v1/keys', { as: `kwr_${index}`, headers })).status).toBe(401);
  const refused = await fixture.ask('/v1/keys', { as: 'kwr_wrong', headers });
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fixture.ask('/api/v2/projects', { as: 'kwr_wrong', headers })).status).toBe(429);
  expect((await fixture.ask('/v1/keys', { headers })).status).toBe(200);
  expect((await fixture.ask('/v1/keys', { as: 'kwr_wrong' })).status).toBe(401);
});

test('an IPv6 client cannot send more wrong tokens with the other addresses of its network', async () => {
  const limit = createFailureLimit();
  for (let index = 0; index < mostFailures; index += 1) await limit.count(`2001:db8:1:2::${index}`);
  await expect(limit.count('2001:db8:1:2:ffff::1')).rejects.toMatchObject({ status: 429 });
  await limit.count('2001:db8:1:3::1');
  for (let index = 0; index < mostFailures; index += 1) await limit.count('::ffff:192.0.2.1');
  await expect(limit.count('192.0.2.1')).rejects.toMatchObject({ status: 429 });
  await limit.count('192.0.2.2');
});

test('a cookie authorizes reads, and writes only from a page of this site', async () => {
  const cookie = `${sessionCookie}=${await fixture.signIn('operator')}`;
  const ask = (method: string, headers: object) =>
    fixture.ask(method === 'GET' ? '/v1/me' : '/v1/reviews', {
      as: null,
      method,
      ...(method === 'GET' ? {} : { body: { title: 'x' } }),
      headers: { cookie, host: 'report.example', ...headers },
    });
  expect((await ask('GET', {})).status).toBe(200);
  for (const origin of [
    undefined,
    'null',
    'https://elsewhere.example',
    'http://report.example.elsewhere.example',
    'http://example',
    'https://report.example',
  ])
    expect((await ask('POST', origin === undefined ? {} : { origin })).status).toBe(403);
  expect((await ask('POST', { origin: 'http://report.example' })).status).toBe(201);
  // Nor any other method that may write.
  for (const method of ['PUT', 'PATCH', 'DELETE']) expect((await ask(method, {})).status).toBe(403);
});

test('P1: each access is recorded before it is answered: who, from where, what, and the result', async () => {
  const before = await fixture.store.sql`select coalesce(max(number), 0) as number from keywarden.access_log`;
  await fixture.ask('/v1/keys?kind=project', { as: 'viewer' });
  await fixture.ask('/v1/access-log', { as: 'viewer' });
  await fixture.ask('/api/v2/projects', { as: 'auditor' });
  await fixture.ask('/v1/exports/keys', { as: 'auditor' });
  await fixture.ask('/v1/keys', { as: 'kwr_of-nobody', headers: { 'x-peer': '127.8.8.8' } });
  const rows = await fixture.store.sql`
    select t.name, a.address, a.method, a.path, a.query, a.status, a.stream, a.records::int, length(a.sha256) as hash
    from keywarden.access_log a left join keywarden.report_token t on t.number = a.token_number
    where a.number > ${String(before[0]?.number)} order by a.number`;
  const of = { address: '127.0.0.1', method: 'GET', query: '', stream: null, records: null, hash: null };
  const stream = { ...of, name: 'auditor', path: '/v1/exports/keys', status: 200 };
  const shown = rows.map((row) => ({ ...row }));
  expect(shown.slice(0, 3)).toEqual([
    { ...of, name: 'viewer', path: '/v1/keys', query: 'kind=project', status: 200 },
    { ...of, name: 'viewer', path: '/v1/access-log', status: 403 },
    { ...of, name: 'auditor', path: '/api/v2/projects', status: 200 },
  ]);
  expect(shown.slice(3)).toHaveLength(3);
  expect(shown.slice(3)).toEqual(
    expect.arrayContaining([
      { ...of, name: null, address: '127.8.8.8', path: '/v1/keys', status: 401 },
      { ...stream, stream: 'begun' },
      { ...stream, stream: 'complete', records: 3, hash: 64 },
    ]),
  );
  const listed = (await fixture.ask('/v1/access-log?limit=1', { as: 'auditor' })).body.items;
  expect(listed[0]).toMatchObject({ token: null, event: 'token_refused', times: 1 });
});

test('the command line’s list of tokens shows the last use of each, or that a token was never used', async () => {
  await fixture.makeToken('idle', 'viewer');
  await fixture.ask('/v1/me');
  const used = new Map(
    (await listTokens((await fixture.store.as('keywarden_admin')).db)).map(({ name, lastUsedAt }) => [
      name,
      lastUsedAt,
    ]),
  );
  expect(used.get('idle')).toBeNull();
  expect(Date.parse(used.get('viewer') ?? '')).toBeGreaterThan(Date.now() - 60_000);
});

test('P1: a request that cannot be recorded is not answered', async () => {
  const broken = await createTestStore(inject('postgresUrl'));
  const { secret } = await createToken((await broken.as('keywarden_admin')).db, {
    name: 'x',
    role: 'operator',
    organizationIds: null,
    createdBy: 'ada',
  });
  const transport = { isTls: false, proxies: [] };
  const { sql } = await broken.as('keywarden_report');
  const app = createApp({ requestsPerMinute, sql, log, marks, now: Date.now, transport, peerOf: () => '127.0.0.1' });
  const ask = async (path: string) => await app.request(path, { headers: { authorization: `Bearer ${secret}` } });
  expect((await ask('/v1/keys')).status).toBe(200);
  await broken.sql`alter table keywarden.access_log rename to hidden`;
  for (const path of ['/v1/keys', '/v1/exports/keys', '/api/v2/projects']) {
    const answer = await ask(path);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toMatch(/items|projects|access_log/);
  }
  await broken.close();
});

test('the log records neither secrets in an address nor cursors', () => {
  expect(redact('q=kwr_abcdefghijABCDEFGHIJ0123456789abcdefghij&kind=project')).toBe('q=...&kind=project');
  for (let index = 0; index < 200; index += 1) {
    const secret = `kwr_${randomBytes(32).toString('base64url')}`;
    expect(redact(`/v1/keys/${secret}?q=${secret}`)).toBe('/v1/keys/...?q=...');
  }
  expect(redact('cursor=WyJhIl0&limit=5')).toBe('cursor=...&limit=5');
  // Not a part of it either, where the record ends.
  expect(redact(`${'x='.repeat(990)}${'a'.repeat(80)}`)).not.toContain('aa');
  expect(redact('/v1/keys/12')).toBe('/v1/keys/12');
  expect(redact('project_id=silent-river-f8b727cb')).toBe('project_id=silent-river-f8b727cb');
});

test('what a client puts into an address by mistake is not in the stored record of its request', async () => {
  for (const path of ['/v1/keys?q=napi_short', '/v1/keys/kws_short?q=kwr_short', '/api/v2/projects?search=napi_short'])
    await fixture.ask(path, { as: 'auditor' });
  const rows = await fixture.store.sql`select path, query from keywarden.access_log order by number desc limit 3`;
  expect(rows.map(({ path, query }) => `${path}?${query}`).toSorted()).toEqual([
    '/api/v2/projects?search=...',
    '/v1/keys/...?q=...',
    '/v1/keys?q=...',
  ]);
});

test('probes, the API description and assets need no token; pages have a strict policy and load nothing from other hosts', async () => {
  for (const path of [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/docs',
    '/assets/style.css',
    '/assets/chart.js',
    '/assets/dashboard.js',
  ])
    expect((await fixture.ask(path, { as: null })).status).toBe(200);
  const { text, headers } = await fixture.ask('/docs', { as: null });
  for (const directive of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
    expect(headers.get('content-security-policy')).toContain(directive);
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(text).not.toMatch(/<script|https?:\/\/|style="/);
  expect(text).toContain('/v1/operations');
});

test('the probe does not hang with a dead connection to the store: it reports that the store does not answer in time', async () => {
  const { sql, connect } = await fixture.store.as('keywarden_report');
  const accessSql = connect({ max: 1 });
  const transport = { isTls: false, proxies: [] };
  const app = createApp({
    requestsPerMinute,
    sql,
    accessSql,
    log,
    marks,
    now: Date.now,
    transport,
    peerOf: () => '127.0.0.1',
  });
  expect((await app.request('/readyz')).status).toBe(200);
  const [backend] = await accessSql`select pg_backend_pid() as pid`;
  process.kill(Number(backend?.pid), 'SIGSTOP');
  try {
    const answer = await app.request('/readyz');
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { status: 'not ready', why: 'the store does not answer in time' },
    ]);
  } finally {
    process.kill(Number(backend?.pid), 'SIGCONT');
  }
});

test('the probe says that a node of the store’s cluster does not answer, and requests go on', async () => {
  const cluster = await createTestStore(inject('postgresUrl'));
  await addClusterFunctions(cluster.sql);
  await cluster.sql`insert into pg_dist_partition values ('keywarden.operation', 'h', 's')`;
  await cluster.sql`insert into pg_dist_node (groupid, nodename, answers) values (1, 'worker-1', true), (2, 'worker-2', false)`;
  const transport = { isTls: false, proxies: [] };
  const { sql } = await cluster.as('keywarden_report');
  const app = createApp({ requestsPerMinute, sql, log, marks, now: Date.now, transport, peerOf: () => '127.0.0.1' });
  const answer = await app.request('/readyz');
  expect(answer.status).toBe(200);
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({
    status: 'degraded',
    why: expect.stringMatching(/^a node of the store’s cluster does not answer/),
  });
  // The probe needs no token.
  expect(text).not.toContain('worker');
  await cluster.close();
});

test('the answer to a store failure has a code and a request id, and nothing of the query', async () => {
  const broken = await createTestStore(inject('postgresUrl'));
  const { secret } = await createToken((await broken.as('keywarden_admin')).db, {
    name: 'x',
    role: 'viewer',
    organizationIds: null,
    createdBy: 'ada',
  });
  const transport = { isTls: false, proxies: [] };
  const { sql } = await broken.as('keywarden_report');
  const app = createApp({ requestsPerMinute, sql, log, marks, now: Date.now, transport, peerOf: () => '127.0.0.1' });
  await broken.sql`drop view keywarden.key_owner_now`;
  await broken.sql`alter view keywarden.key rename to hidden`;
  const response = await app.request('/v1/keys?q=confidential', { headers: { authorization: `Bearer ${secret}` } });
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(text).not.toMatch(/confidential|select|keywarden\./);
  expect((await app.request('/readyz')).status).toBe(503);
  expect((await app.request('/healthz')).status).toBe(200);
  await broken.close();
});
