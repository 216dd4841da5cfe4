import { createLogger } from '@keywarden/runtime';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createApp } from '../app.ts';
import { sessionCookie } from './authenticate.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const own = { host: 'report.example', origin: 'http://report.example' };

async function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return await fixture.app.request(path, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { ...own, ...headers },
  });
}

const visit = async (secret: string) =>
  (await fixture.app.request('/v1/me', { headers: { cookie: `${sessionCookie}=${secret}` } })).status;

const events = async () =>
  (
    await fixture.store.sql`select event, status from keywarden.access_log where event <> 'request' order by number`
  ).map((row) => `${String(row.event)} ${String(row.status)}`);

test('signing out ends the session: its cookie is refused, also to a thief of it', async () => {
  const answer = await post('/sign-in', { token: fixture.tokens.viewer ?? '', next: '/keys' });
  const cookie = answer.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
  const secret = /=(kws_[\w-]+);/.exec(cookie)?.[1] ?? '';
  expect(await visit(secret)).toBe(200);
  expect((await post('/sign-out', {}, { cookie: `${sessionCookie}=${secret}` })).status).toBe(303);
  expect(await visit(secret)).toBe(401);
  expect((await post('/sign-in', { token: 'kwr_wrong' })).status).toBe(401);
  expect(await events()).toEqual(['sign_in 303', 'sign_out 303', 'sign_in_failed 401']);
});

test('a token in the cookie, a session id as a token, and a token in another form are refused', async () => {
  expect(await visit(fixture.tokens.viewer ?? '')).toBe(401);
  const secret = await fixture.signIn('viewer');
  expect((await fixture.ask('/v1/me', { as: secret })).status).toBe(401);
  for (const form of ['TOKEN', 'Basic Bearer TOKEN', 'Bearer TOKEN x', 'Bearer', '']) {
    const authorization = form.replace('TOKEN', fixture.tokens.viewer ?? '');
    // A header that is no token is not passed over for the cookie.
    const headers = { authorization, cookie: `${sessionCookie}=${secret}` };
    expect((await fixture.app.request('/v1/me', { headers })).status).toBe(401);
  }
});

test('a session ends with its token, after an hour without a request, and after twelve hours', async () => {
  const { sql } = fixture.store;
  const idle = await fixture.signIn('auditor');
  await sql`update keywarden.report_session set last_seen_at = now() - interval '61 minutes'`;
  expect(await visit(idle)).toBe(401);
  const old = await fixture.signIn('auditor');
  const [times] = await sql`
    select date_trunc('minute', expires_at - created_at + interval '1 second') = interval '12 hours' as is_half_a_day from keywarden.report_session where ended_at is null order by number desc limit 1`;
  expect(times?.is_half_a_day).toBe(true);
  await sql`update keywarden.report_session set expires_at = now() where ended_at is null`;
  expect(await visit(old)).toBe(401);
  const number = await fixture.makeToken('leaver', 'viewer');
  const orphan = await fixture.signIn('leaver');
  expect(await visit(orphan)).toBe(200);
  await sql`update keywarden.report_token set revoked_at = now() where number = ${number}`;
  expect(await visit(orphan)).toBe(401);
});

test("a session that was used while the database's clock was ahead ends once the clock is right", async () => {
  const secret = await fixture.signIn('auditor');
  // A day ahead, and set right since.
  await fixture.store.sql`
    update keywarden.report_session set created_at = now() + interval '1 day', last_seen_at = now() + interval '1 day',
      expires_at = now() + interval '36 hours' where number = (select max(number) from keywarden.report_session)`;
  expect(await visit(secret)).toBe(401);
  const { body } = await fixture.ask('/v1/sessions?state=expired', { as: 'operator' });
  expect(body.items[0]).toMatchObject({ token: { name: 'auditor' }, state: 'expired' });
  // At its date it would be live again.
  await fixture.signIn('viewer');
  const [session] = await fixture.store.sql`
    select ended_by from keywarden.report_session where last_seen_at > now() + interval '1 hour'`;
  expect(session).toEqual({ ended_by: 'keywarden' });
});

test('a request keeps its own session alive, to the minute, and no other', async () => {
  for (const each of ['viewer', 'auditor']) await fixture.signIn(each);
  const secret = await fixture.signIn('auditor');
  const seen = async () => {
    const rows = await fixture.store.sql`
      select abs(extract(epoch from now() - last_seen_at)) < 30 as lately from keywarden.report_session order by number desc limit 3`;
    return rows.map(({ lately }) => lately);
  };
  for (const [before, after] of [
    ['50 minutes', true],
    ['61 seconds', true],
    // Not a minute ago yet.
    ['-2 minutes', false],
  ] as const) {
    await fixture.store
      .sql`update keywarden.report_session set last_seen_at = now() - ${before}::interval where ended_at is null`;
    expect(await visit(secret)).toBe(200);
    expect([before, await seen()]).toEqual([before, [after, false, false]]);
  }
});

test('an operator lists sessions and ends one; its cookie stops working at once', async () => {
  const secret = await fixture.signIn('viewer');
  const { body } = await fixture.ask('/v1/sessions?state=live', { as: 'operator' });
  const [newest] = body.items;
  expect(newest).toMatchObject({ token: { name: 'viewer' }, state: 'live', address: '127.0.0.1' });
  expect(JSON.stringify(body)).not.toMatch(/kws_|hash/);
  const end = async () =>
    await fixture.ask(`/v1/sessions/${String(newest?.id)}/end`, { as: 'operator', method: 'POST' });
  expect((await end()).body).toMatchObject({ state: 'ended' });
  expect(await visit(secret)).toBe(401);
  expect((await end()).status).toBe(404);
});

test('a form that is sent after its session has ended leads back to its page, which says that nothing was done', async () => {
  const answer = await post('/plans/p-1/approve', {}, { referer: 'http://report.example/plans/p-1?disposition=held' });
  const place = answer.headers.get('location') ?? '';
  expect([answer.status, place]).toEqual([303, '/sign-in?next=%2Fplans%2Fp-1%3Fdisposition%3Dheld&unsent=true']);
  expect(await (await fixture.app.request(place)).text()).toContain('nothing was done');
  expect((await post('/plans/p-1/approve', {})).headers.get('location')).toBe('/sign-in?next=%2F&unsent=true');
  // What the form before it did must not be said again.
  const again = { referer: 'http://report.example/reviews/1?decision=undecided&flash=decided' };
  const late = await post('/reviews/1/decisions', {}, again);
  expect(late.headers.get('location')).toBe('/sign-in?next=%2Freviews%2F1%3Fdecision%3Dundecided&unsent=true');
});

test('over HTTPS only a cookie that this host has set over HTTPS is a session, and another site cannot sign a person out', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const transport = { isTls: true, proxies: [] };
  const log = createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' });
  const marks = { around: async <T>(action: () => Promise<T>) => await action() };
  const options = { requestsPerMinute: 1e9, sql, log, marks, now: Date.now, transport };
  const app = createApp({ ...options, peerOf: () => '192.0.2.7' });
  const headers = { host: 'report.example', origin: 'https://report.example' };
  const body = new URLSearchParams({ token: fixture.tokens.viewer ?? '' });
  const answer = await app.request('/sign-in', { method: 'POST', headers, body });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  expect(cookie).toMatch(/^__Host-keywarden_session=kws_/);
  expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
  const visit = async (cookie: string) => (await app.request('/v1/me', { headers: { ...headers, cookie } })).status;
  expect(await visit(cookie)).toBe(200);
  expect(await visit(cookie.replace('__Host-', ''))).toBe(401);
  // Its form has no cookie, because the browser does not send it there; an answer could still remove the cookie.
  const foreign = { ...headers, origin: 'https://elsewhere.example' };
  const out = await app.request('/sign-out', { method: 'POST', headers: foreign });
  expect([out.status, out.headers.get('set-cookie')]).toEqual([403, null]);
});
