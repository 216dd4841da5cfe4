import { createHash } from 'node:crypto';
import { until } from '@keywarden/testkit';
import { type Fixture, listKeys, makeFixture } from '@keywarden/testkit/report/fixture';
import { makeWireKey } from '@keywarden/testkit/store/rows';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// Attacks that once succeeded, by nothing but requests and statements, so that each can be run against any version.

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

test('one token with forty requests for counts of a store that does not answer keeps no other reader waiting', async () => {
  const { sql } = fixture.store;
  const path = '/v1/operations/buckets?size=month&from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z';
  let answered: number | undefined;
  let heavy: Promise<unknown> | undefined;
  await sql.begin(async (tx) => {
    await tx`lock table keywarden.operation in access exclusive mode`;
    heavy = Promise.allSettled(Array.from({ length: 40 }, () => fixture.ask(path, { as: 'auditor' })));
    void fixture.ask('/v1/keys', { as: 'viewer' }).then(({ status }) => {
      answered = status;
    });
    await until(() => answered !== undefined);
  });
  await heavy;
  expect(answered).toBe(200);
});

test('the login of the report decides nothing without a token: no approval, rejection, decision, signature, exemption or access of another time', async () => {
  const report = await fixture.store.as('keywarden_report');
  const review = (
    await fixture.ask('/v1/reviews', { as: 'operator', method: 'POST', body: { title: 'quarter', filter: {} } })
  ).body as { id?: string };
  const number = Number(review.id);
  const [key] = Object.values(fixture.keys);
  const statements = {
    approval: `insert into keywarden.plan_approval (plan_id, approved_by, via) values ('${fixture.planId}', 'invented', 'report')`,
    rejection: `insert into keywarden.plan_rejection (plan_id, reason, rejected_by, rejected_at) values ('${fixture.planId}', 'x', 'y', 'infinity')`,
    decision: `insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by) values (${number}, ${key}, 'keep', 'x', 'y')`,
    signature: `insert into keywarden.review_signature (review_number, signed_by, sha256) values (${number}, 'invented', repeat('0', 64))`,
    exemption: `update keywarden.exemption set until = 'infinity'`,
    access: `update keywarden.access_log set at = '2020-01-01'`,
  };
  const accepted: string[] = [];
  for (const [name, statement] of Object.entries(statements))
    await report.sql
      .begin(async (tx) => {
        await tx.unsafe(statement);
        accepted.push(name);
        throw new Error('undo');
      })
      .catch(() => undefined);
  expect(accepted).toEqual([]);
});

test('a name looks like no other: what is invisible or turns the text around is shown, except joiners that a language or an emoji needs', async () => {
  const turned = 'ci\u202Eyek';
  const names = [
    turned,
    'ci\u200B',
    'ci\u200D',
    '\u2066ci',
    '\uFEFFci',
    'ci\u2028',
    'می\u200Cخواهم',
    '\u{1F469}\u200D\u{1F4BB}',
  ];
  const keys = names.map((name, index) => makeWireKey(String(900 + index), { name }));
  await listKeys(fixture, '2026-06-01T00:20:00Z', keys);
  const read = async (path: string) => (await fixture.ask(path)).text;
  const links = [...(await read('/keys?organization_id=acme')).matchAll(/<a href="\/keys\/\d+">([^<]*)</g)];
  expect(links.map(([, name]) => name)).toEqual(
    expect.arrayContaining([
      String.raw`ci\u{202e}yek`,
      String.raw`ci\u{200b}`,
      String.raw`ci\u{200d}`,
      String.raw`\u{2066}ci`,
      String.raw`\u{feff}ci`,
      String.raw`ci\u{2028}`,
      ...names.slice(-2),
    ]),
  );
  expect(await read(`/keys?q=${encodeURIComponent(turned)}`)).toContain(`value="${turned}"`);
});

test('both summaries of an evidence archive show what is invisible in a name', async () => {
  await fixture.makeToken('ci\u202Eyek', 'auditor');
  const answer = await fixture.app.request('/v1/evidence?control=nist-800-53:AC-2(3)&from=2026-05-01&to=2026-05-20', {
    headers: { authorization: `Bearer ${fixture.tokens['ci\u202Eyek']}` },
  });
  const files = unzipSync(new Uint8Array(await answer.arrayBuffer()));
  for (const name of ['summary.md', 'summary.html'])
    expect(Buffer.from(files[name] ?? []).toString()).toContain(String.raw` by ci\u{202e}yek (report token`);
});

test('a thousand refused requests with long queries write little', async () => {
  const { sql } = fixture.store;
  const sizeOf = async () => {
    const [row] = await sql`select coalesce(sum(pg_column_size(a)), 0)::int as bytes from keywarden.access_log a`;
    return Number(row?.bytes);
  };
  const before = await sizeOf();
  for (let turn = 0; turn < 100; turn += 1)
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        fixture.ask(`/v1/access-log?path=${String(Math.random()).repeat(300)}${index}`, { as: 'viewer' }),
      ),
    );
  expect((await sizeOf()) - before).toBeLessThan(20_000);
});

test('wrong tokens of an address do not refuse its good ones', async () => {
  for (let turn = 0; turn < 50; turn += 1)
    await fixture.ask('/v1/keys', { as: `kwr_${turn}`, headers: { 'x-peer': '127.7.7.7' } });
  expect((await fixture.ask('/v1/keys', { headers: { 'x-peer': '127.7.7.7' } })).status).toBe(200);
});

test('a stolen cookie is no token, and ends with the sign-out', async () => {
  const post = async (path: string, form: Record<string, string>, cookie = '') =>
    await fixture.app.request(path, {
      method: 'POST',
      headers: { origin: 'http://localhost', host: 'localhost', cookie },
      body: new URLSearchParams(form),
    });
  const secret = fixture.tokens.viewer ?? '';
  const answer = await post('/sign-in', { token: secret, next: '/' });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(cookie.length).toBeGreaterThan(20);
  expect(cookie).not.toContain(secret);
  const isSignedIn = async () =>
    (await fixture.app.request('/keys', { headers: { cookie, accept: 'text/html' } })).status;
  expect(await isSignedIn()).toBe(200);
  await post('/sign-out', {}, cookie);
  expect(await isSignedIn()).not.toBe(200);
});

test('failed sign-ins, sign-outs and wrong tokens leave a record; control characters in an address leave no raw error', async () => {
  const { sql } = fixture.store;
  const form = (next: string) =>
    fixture.app.request('/sign-in', {
      method: 'POST',
      headers: { origin: 'http://localhost', host: 'localhost', 'x-peer': '127.8.8.8' },
      body: new URLSearchParams({ token: next === '/' ? 'kwr_wrong' : (fixture.tokens.viewer ?? ''), next }),
    });
  expect((await form('/')).status).toBe(401);
  const [row] = await sql`select count(*)::int as n from keywarden.access_log where path = '/sign-in' and status = 401`;
  expect(Number(row?.n)).toBeGreaterThan(0);
  for (const next of ['/\u0001x', '/\r\nset-cookie: a=b', '/\u{1f600}']) {
    const answer = await form(next);
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers.get('content-security-policy')).not.toBeNull();
  }
});

test('an export whose address has a letter in its percent form is in the ledger and in the access log like any other', async () => {
  const { text } = await fixture.ask('/v1/%65xports/%6Beys?kind=project', { as: 'auditor' });
  const sha256 = createHash('sha256').update(text).digest('hex');
  const [event] = (await fixture.ask(`/v1/ledger/events?subject=report_export/${sha256}`, { as: 'auditor' })).body
    .items;
  expect(event).toMatchObject({ type: 'export.completed' });
  const { items } = (await fixture.ask('/v1/access-log?limit=2', { as: 'auditor' })).body;
  expect(items.map(({ path, query }) => `${String(path)}?${String(query)}`)).toContain('/v1/exports/keys?kind=project');
});
