import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger, startTracing } from '@keywarden/runtime';
import { type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Daemon, startDaemon } from '../schedule/daemon.ts';
import { createMetrics } from './observer.ts';
import { createObserveApp } from './server.ts';

let store: TestStore;
let fixture: Fixture;
let daemon: Daemon;
const metrics = createMetrics();
const collected: { url: string; text: string }[] = [];
const collector = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => (text += part));
  request.on('end', () => {
    collected.push({ url: request.url ?? '', text });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
let endTracing: () => Promise<void>;
beforeAll(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint;
  endTracing = await startTracing(endpoint, 'keywarden');
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store);
  await fixture.controls.generate({ organizations: 2, projects: 3, keys: 20, operations: 500, months: 2 });
  daemon = await startDaemon(
    { ...fixture.context, observer: metrics },
    { replica: fixture.context.replica ?? '', onFatal: () => undefined },
  );
  await daemon.settled(['keys', 'operations']);
});
afterAll(async () => {
  await daemon.stop();
  await fixture.close();
  await store.close();
  collector.close();
});

const appOf = (whyNotReady: () => Promise<string | null>, why: string | null = null) =>
  createObserveApp({
    metrics,
    sql: fixture.context.store.sql,
    witnesses: ['witness.example/new'],
    log: createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }),
    whyNotReady,
    whyDegraded: () => Promise.resolve(why),
  });

/** Returns the value of a sample, by its name and labels in any order. */
function valueOf(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const line = text.split('\n').find((each) => {
    if (!(each.startsWith(`${name}{`) || each.startsWith(`${name} `))) return false;
    return Object.entries(labels).every(([label, value]) => each.includes(`${label}="${value}"`));
  });
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

test('the metrics show the state of the sync, its coverage, the keys, the findings and the queues, and contain no secret', async () => {
  const answer = await appOf(() => Promise.resolve(null)).request('/metrics');
  expect(answer.status).toBe(200);
  const text = await answer.text();
  expect(valueOf(text, 'keywarden_sync_age_seconds', { connection: 'main', kind: 'operations' })).toBeLessThan(300);
  expect(valueOf(text, 'keywarden_operations_known_ratio', { connection: 'main' })).toBeGreaterThan(0.9);
  expect(valueOf(text, 'keywarden_operations_unknown_age_seconds', { connection: 'main' })).toBeLessThan(3600);
  expect(valueOf(text, 'keywarden_projects', { connection: 'main', walked: 'true' })).toBe(3);
  const [keys] =
    await store.sql`select count(*)::int as live from keywarden.key where kind = 'organization' and gone_at is null`;
  expect(valueOf(text, 'keywarden_keys', { kind: 'organization', state: 'live' })).toBe(keys?.live);
  expect(valueOf(text, 'keywarden_paused')).toBe(0);
  expect(valueOf(text, 'keywarden_job_done_age_seconds', { kind: 'keys' })).toBeLessThan(300);
  // A time of the schedule may come while the test runs.
  expect(valueOf(text, 'keywarden_job_seconds_count', { kind: 'operations', outcome: 'done' })).toBeGreaterThan(0);
  const route = { connection: 'main', route: 'GET /projects/{project_id}/operations', status: '200' };
  expect(valueOf(text, 'keywarden_control_plane_requests_total', route)).toBeGreaterThanOrEqual(3);
  expect(valueOf(text, 'keywarden_limiter_wait_seconds_count', { connection: 'main' })).toBeGreaterThan(3);
  expect(text).not.toContain('napi_');
});

test('a connection that is newer than its control plane is not late: its first pass of any kind counts', async () => {
  const { sql } = store;
  await sql`update keywarden.control_plane set first_seen_at = now() - interval '40 days'`;
  await sql`insert into keywarden.connection (name, control_plane_number, account_id, auth_method, own_key_id, is_sandbox, checked_at)
    select 'second', control_plane_number, account_id, auth_method, own_key_id, is_sandbox, checked_at from keywarden.connection where name = 'main'`;
  await sql`insert into keywarden.sync_run (kind, connection, status, started_at) values ('keys', 'second', 'failed', now() - interval '2 hours')`;
  const text = await (await appOf(() => Promise.resolve(null)).request('/metrics')).text();
  const age = valueOf(text, 'keywarden_sync_age_seconds', { connection: 'second', kind: 'credentials' });
  expect(age).toBeGreaterThan(7000);
  expect(age).toBeLessThan(86_400);
});

test('a kind of job that was never done is late from its first attempt on', async () => {
  await store.sql`insert into keywarden.job_run (job_id, kind, account, attempt, replica, started_at, finished_at, outcome)
    select gen_random_uuid(), 'enforce', 'never', n, gen_random_uuid(), now() - (6 - n) * interval '1 hour', now(), 'failed'
    from generate_series(1, 2) n`;
  const text = await (await appOf(() => Promise.resolve(null)).request('/metrics')).text();
  const age = valueOf(text, 'keywarden_job_done_age_seconds', { kind: 'enforce', account: 'never' });
  expect(age).toBeGreaterThan(4.9 * 3600);
  expect(age).toBeLessThan(5.5 * 3600);
});

test('a pass and a job whose end was written by a clock that was ahead do not hide that those before are long ago', async () => {
  const { sql } = store;
  await sql`insert into keywarden.connection (name, control_plane_number, account_id, auth_method, own_key_id, is_sandbox, checked_at)
    select 'ahead', control_plane_number, account_id, auth_method, own_key_id, is_sandbox, checked_at from keywarden.connection where name = 'main'`;
  await sql`insert into keywarden.sync_run (kind, connection, status, started_at, finished_at)
    select 'keys', 'ahead', 'finished', at, at from unnest(array[now() - interval '5 hours', now() + interval '1 year']) at`;
  await sql`insert into keywarden.job_run (job_id, kind, account, attempt, replica, started_at, finished_at, outcome)
    select gen_random_uuid(), 'enforce', 'ahead', 1, gen_random_uuid(), at, at, 'done' from unnest(array[now() - interval '5 hours', now() + interval '1 year']) at`;
  const text = await (await appOf(() => Promise.resolve(null)).request('/metrics')).text();
  for (const age of [
    valueOf(text, 'keywarden_sync_age_seconds', { connection: 'ahead', kind: 'keys' }),
    valueOf(text, 'keywarden_job_done_age_seconds', { kind: 'enforce', account: 'ahead' }),
  ]) {
    expect(age).toBeGreaterThan(4.9 * 3600);
    expect(age).toBeLessThan(5.5 * 3600);
  }
});

test('a configured witness that has never cosigned is late from the first checkpoint on', async () => {
  await store.sql`update keywarden.ledger_checkpoint set made_at = now() - interval '2 hours'`;
  const text = await (await appOf(() => Promise.resolve(null)).request('/metrics')).text();
  const late = valueOf(text, 'keywarden_ledger_uncosigned_seconds', { witness: 'witness.example/new' });
  expect(late).toBeGreaterThan(7000);
});

test('a witness that is no longer configured has no metric, which would be late for ever', async () => {
  await store.sql`insert into keywarden.ledger_cosignature (size, witness, lines)
    select min(size), 'witness.example/former', '' from keywarden.ledger_checkpoint`;
  const text = await (await appOf(() => Promise.resolve(null)).request('/metrics')).text();
  expect(text).not.toContain('witness.example/former');
});

test('alive is not ready: a daemon that cannot do its work gives the reason', async () => {
  const app = appOf(() => Promise.resolve('the store does not answer'));
  expect((await app.request('/healthz')).status).toBe(200);
  const ready = await app.request('/readyz');
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', why: 'the store does not answer' }]);
  expect((await appOf(() => Promise.resolve(null)).request('/readyz')).status).toBe(200);
  const degraded = await appOf(() => Promise.resolve(null), 'worker-2 is silent').request('/readyz');
  expect([degraded.status, await degraded.json()]).toEqual([200, { status: 'degraded', why: 'worker-2 is silent' }]);
});

test('a job is a span, and its requests are child spans; no secret and no address goes to the collector', async () => {
  await endTracing();
  const spans = collected.flatMap(({ text }) => {
    const { resourceSpans } = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  });
  expect(collected[0]?.url).toBe('/v1/traces');
  const jobs = spans.filter(({ name }) => name === 'job operations').map(({ traceId, spanId }) => [traceId, spanId]);
  const requests = spans.filter(({ name }) => name === 'GET /projects/{project_id}/operations');
  expect(requests.length).toBeGreaterThanOrEqual(3);
  for (const { traceId, parentSpanId } of requests) expect(jobs).toContainEqual([traceId, parentSpanId]);
  expect(JSON.stringify(spans)).not.toContain('napi_');
});

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
}
