import { makePrincipal } from '@keywarden/testkit/store/principal';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { saveKeyListing } from './daemon.ts';
import { decideReview, openReview, type Principal, readReviewDocument, signReview } from './report.ts';
import type { Store } from './store.ts';

// What a login of the report can do without the report: nothing but what the holder of a token may do.

let store: TestStore;
let report: Store;
let operator: Principal;
let viewer: Principal;
let auditor: Principal;
/** An operator of one organization. */
let partial: Principal;
let keys: string[];
let review: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
  const controlPlane = await makeControlPlane(store.sql);
  const at = '2026-06-01T00:00:00Z';
  const place = { controlPlane, scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  const listed = [makeWireKey('1', { name: 'one' }), makeWireKey('2', { name: 'two' })];
  await saveKeyListing((await store.as('keywarden_daemon')).sql, { ...place, listedAt: at, begunAt: at, keys: listed });
  keys = (await store.sql`select number from keywarden.key order by number`).map((row) => String(row.number));
  operator = await makePrincipal(store, 'olga');
  viewer = await makePrincipal(store, 'vera', 'viewer');
  auditor = await makePrincipal(store, 'aaron', 'auditor');
  partial = await makePrincipal(store, 'otto', 'operator', ['other']);
});
afterAll(async () => await store.close());

const open = async () => {
  const fields = {
    title: 'x',
    filter: { isThere: true },
    request: {},
    asOf: '2026-06-01T00:00:00Z',
    holes: [],
    keepForDays: 1,
  };
  review = String(await openReview(report, { ...fields, principal: operator }));
};
beforeEach(open);

const decide = async (decision: 'keep' | 'revoke', principal = operator) =>
  await decideReview(report.sql, { review, keys, decision, reason: 'used by the build', principal });

test.each([
  `insert into keywarden.plan_approval (plan_id, approved_by, via) values ('p', 'invented (report token 1)', 'report')`,
  `insert into keywarden.plan_rejection (plan_id, rejected_by, reason, rejected_at) values ('p', 'x', 'x', 'infinity')`,
  `insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by) values (1, 1, 'keep', 'x', 'x')`,
  `insert into keywarden.review_signature (review_number, signed_by, sha256) values (1, 'x', 'x')`,
  `insert into keywarden.review_item (review_number, key_number, key, findings) values (1, 1, '{}', '[]')`,
  `update keywarden.exemption set ended_at = null`,
  `insert into keywarden.exemption_key (exemption_number, key_number) values (1, 1)`,
  `insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('x', 'x', now(), 'infinity')`,
  `insert into keywarden.access_log (at, request_id, token_number, address, method, path, status)
     values ('2020-01-01', gen_random_uuid(), 1, 'x', 'GET', '/', 200)`,
  `insert into keywarden.rotation_request (key_number, requested_by, reason) values (1, 'x', 'x')`,
  `select token_hash from keywarden.report_token`,
  `select session_hash from keywarden.report_session`,
  `select keywarden.holder_of('x')`,
  `select keywarden.insert_exemption('x', '{1}', null, null, 'x', now(), 'infinity')`,
  `select keywarden.end_exemption_by('x', 1)`,
  `insert into keywarden.report_token (name, token_hash, role) values ('x', 'x', 'operator')`,
])('a login of the report is refused: %s', async (statement) => {
  await expect(report.sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
});

test('a login of the daemon creates no token, writes no decision and reads no hash', async () => {
  const { sql } = await store.as('keywarden_daemon');
  for (const statement of [
    `insert into keywarden.report_token (name, token_hash, role) values ('x', 'x', 'operator')`,
    'select token_hash from keywarden.report_token',
    'update keywarden.report_token set role = role',
    `update keywarden.exemption set ended_at = null`,
    `select keywarden.approve_plan('x', 'p')`,
    `select keywarden.record_accesses('[]')`,
  ])
    await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
});

const calls: [name: string, args: string, role: 'auditor' | 'operator', organizations: 'some' | 'all'][] = [
  ['approve_plan', `'p'`, 'operator', 'all'],
  ['derive_plan', `'p', '{1}'`, 'operator', 'all'],
  ['reject_plan', `'p', 'x'`, 'operator', 'all'],
  ['grant_exemption', `'{1}', null, 'x', 'infinity'`, 'operator', 'some'],
  ['end_exemption', '1', 'operator', 'some'],
  ['request_rotation', `1, 'x'`, 'operator', 'some'],
  ['sign_review', `1, '{}'`, 'operator', 'all'],
  ['decide_review', `1, '{1}', 'keep', 'x'`, 'auditor', 'all'],
  ['open_review', `'x', now(), '{}', '[]', 1, '[]'`, 'auditor', 'all'],
  ['open_campaign', `'{}', now(), '{}', '[]', 1, '[]'`, 'auditor', 'all'],
  ['cancel_campaign', `1, 'x'`, 'auditor', 'all'],
];

test.each(calls)(
  '%s asks who acts: no credential, a false one, one of a lesser role and one of too few organizations are refused',
  async (name, args, role, organizations) => {
    const call = async (credential: string | null) =>
      await report.sql.unsafe(`select keywarden.${name}($1, ${args})`, [credential]);
    await expect(call(null)).rejects.toMatchObject({ code: 'KW002' });
    await expect(call(operator.token)).rejects.toMatchObject({ code: 'KW002' });
    const lesser = [viewer, ...(role === 'operator' ? [auditor] : []), ...(organizations === 'all' ? [partial] : [])];
    for (const { credential } of lesser) await expect(call(credential)).rejects.toMatchObject({ code: 'KW003' });
  },
);

test('an operator of one organization decides nothing about another', async () => {
  const call = async (text: string) => await report.sql.unsafe(text, [partial.credential]);
  for (const asked of [
    `grant_exemption($1, '{${keys[0]}}', null, 'x', 'infinity')`,
    `request_rotation($1, ${keys[0]}, 'x')`,
  ])
    await expect(call(`select keywarden.${asked}`)).rejects.toMatchObject({ code: 'KW004' });
});

test('a session opens no session, ends only those of its token, and is not prolonged by a request after it has expired', async () => {
  const open = async ({ credential }: Pick<Principal, 'credential'>, session: string) =>
    (await report.sql`select keywarden.open_session(${credential}, ${session}, '127.0.0.1', '') as number`)[0]?.number;
  const end = async ({ credential }: Pick<Principal, 'credential'>, number: unknown) =>
    (await report.sql`select keywarden.end_session(${credential}, ${String(number)}) as ended`)[0]?.ended;
  const isIn = async (credential: string) =>
    (await report.sql`select from keywarden.authenticate(${credential})`).length === 1;
  const number = await open(viewer, 'of vera');
  expect(await open({ credential: 'of vera' }, 'of a thief')).toBeNull();
  for (const other of [auditor, partial]) expect(await end(other, number)).toBe(false);
  expect(await isIn('of vera')).toBe(true);
  await store.sql`update keywarden.report_session set last_seen_at = now() - interval '61 minutes'`;
  for (let requests = 0; requests < 2; requests += 1) expect(await isIn('of vera')).toBe(false);
  await store.sql`update keywarden.report_session set last_seen_at = now()`;
  expect(await end({ credential: 'of vera' }, await open(viewer, 'another of vera'))).toBe(true);
  expect(await end(operator, number)).toBe(true);
  expect(await end(operator, number)).toBe(false);
  expect(await isIn('of vera')).toBe(false);
});

test('a token and a session end at their time, also for a transaction that began before', async () => {
  const { credential } = await makePrincipal(store, 'lena', 'viewer');
  await report.sql`select keywarden.open_session(${credential}, 'of lena', '127.0.0.1', '')`;
  const isIn = async (tx: Pick<typeof report.sql, 'unsafe'>, of: string) =>
    (await tx.unsafe('select from keywarden.authenticate($1)', [of])).length === 1;
  const before = "expires_at = now() + interval '1 hour', last_seen_at = now()";
  await report.sql.begin(async (tx) => {
    for (const change of ['expires_at = clock_timestamp()', "last_seen_at = clock_timestamp() - interval '1 hour'"]) {
      await store.sql.unsafe(`update keywarden.report_session set ${before} where session_hash = 'of lena'`);
      expect(await isIn(tx, 'of lena')).toBe(true);
      await store.sql.unsafe(`update keywarden.report_session set ${change} where session_hash = 'of lena'`);
      expect([change, await isIn(tx, 'of lena')]).toEqual([change, false]);
    }
    expect(await isIn(tx, credential)).toBe(true);
    await store.sql`update keywarden.report_token set expires_at = clock_timestamp() where name = 'lena'`;
    expect(await isIn(tx, credential)).toBe(false);
  });
});

test('a decision in an open transaction and a signature wait for each other; the signature covers the decision, or is refused', async () => {
  await decide('keep');
  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const document = await readReviewDocument(report.sql, review);
  const decision = report.sql.begin(async (tx) => {
    await tx`select keywarden.decide_review(${operator.credential}, ${review}, ${keys}::bigint[], 'revoke', 'changed')`;
    begun.resolve();
    await release.promise;
  });
  await Promise.race([begun.promise, decision]);
  const signing =
    report.sql`select keywarden.sign_review(${operator.credential}, ${review}, ${document})::text as signed`.execute();
  await store.untilBlocked(signing).finally(release.resolve);
  await decision;
  expect(await signing).toEqual([{ signed: '{"changed": true}' }]);
  expect(await signReview(report.sql, { review, principal: operator })).toMatchObject({
    isSigned: true,
    revocations: 2,
  });
  expect(await decide('keep')).toBe('signed');
});

test('a decision, and a row that the owner inserts, wait for a signature in progress, and are then refused', async () => {
  await decide('keep');
  const document = await readReviewDocument(report.sql, review);
  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const signing = report.sql.begin(async (tx) => {
    await tx`select keywarden.sign_review(${operator.credential}, ${review}, ${document})`;
    begun.resolve();
    await release.promise;
  });
  await Promise.race([begun.promise, signing]);
  const late = store.sql`
    insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
    values (${review}, ${keys[0] ?? ''}, 'revoke', 'late', 'x')`.catch((error: unknown) => error);
  const lateDecision = decide('revoke');
  await store.untilBlocked(late, lateDecision).finally(release.resolve);
  await signing;
  expect(await late).toMatchObject({ code: 'KW001' });
  expect(await lateDecision).toBe('signed');
});

test('a signature needs every decision, and the document that has them', async () => {
  const document = await readReviewDocument(report.sql, review);
  const sign = async (text: string) => {
    const [row] =
      await report.sql`select keywarden.sign_review(${operator.credential}, ${review}, ${text})::text as signed`;
    return row?.signed === null ? null : (JSON.parse(String(row?.signed)) as unknown);
  };
  const ofNone = { review, keys: [], decision: 'keep' as const, reason: 'x', principal: operator };
  expect(await decideReview(report.sql, ofNone)).toBe('not its keys');
  expect(await sign(document)).toEqual({ undecided: 2 });
  await decide('keep');
  expect(await sign(document)).toEqual({ changed: true });
  const current = await readReviewDocument(report.sql, review);
  expect(await sign(current.replaceAll('"keep"', '"revoke"'))).toEqual({ changed: true });
  const { items, review: head } = JSON.parse(current) as { items: object[]; review: object };
  for (const other of [
    ...['key', 'findings', 'decision', 'reason', 'decided_by'].map((field) => ({
      items: [{ ...items[0], [field]: 'another' }, items[1]],
      review: head,
    })),
    { items: items.slice(0, -1), review: head },
    { items: [...items, items[0]], review: head },
    ...[{ ...head, id: '999' }, {}].map((ofReview) => ({ items, review: ofReview })),
    { items: [], review: {} },
  ])
    expect([other, await sign(JSON.stringify(other))]).toEqual([other, { changed: true }]);
  // A key without a finding needs no exemption.
  expect(await sign(current)).toMatchObject({ exemptions: 0, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(await sign(current)).toBeNull();
});

test("the review that was signed last decides, also if the database's clock was ahead at an earlier signature", async () => {
  const first = review;
  await decide('revoke');
  await open();
  await decide('keep');
  await signReview(report.sql, { review, principal: operator });
  store.isTampered();
  await store.sql`update keywarden.review_signature set signed_at = now() + interval '1 hour' where review_number = ${review}`;
  await signReview(report.sql, { review: first, principal: operator });
  const decided = { decision: 'revoke', review_number: first };
  const verdicts = async () => await store.sql`select decision, review_number from keywarden.review_verdict`;
  expect(await verdicts()).toEqual([decided, decided]);
  // Without a signature, a review decides nothing.
  await open();
  await decide('keep');
  expect(await verdicts()).toEqual([decided, decided]);
});

test('for the keys of a signed review whose rows change, no review decides, also no earlier one; it is an incident', async () => {
  for (const decision of ['revoke', 'keep'] as const) {
    if (decision === 'keep') await open();
    await decide(decision);
    await signReview(report.sql, { review, principal: operator });
  }
  const verdicts = async () => await store.sql`select decision, review_number from keywarden.review_verdict`;
  const kept = { decision: 'keep', review_number: review };
  expect(await verdicts()).toEqual([kept, kept]);
  store.isTampered();
  await store.sql`update keywarden.review_decision set reason = 'other' where review_number = ${review} and key_number = ${keys[0] ?? ''}`;
  expect(await verdicts()).toEqual([]);
  const broken = async () => await report.sql`select keywarden.report_broken_reviews()::int as n`;
  expect(await broken()).toEqual([{ n: 1 }]);
  await store.sql`update keywarden.review_signature set content_sha256 = null where review_number = ${review}`;
  expect(await broken()).toEqual([{ n: 1 }]);
  const incidents = await store.sql`select kind, scope from keywarden.incident`;
  expect(incidents).toEqual([{ kind: 'signature_broken', scope: `review ${review}` }]);
  await store.sql`delete from keywarden.review_decision where review_number = ${review}`;
  expect(await verdicts()).toEqual([]);
});

test('refused requests of one minute and network are one row, however many and however long', async () => {
  const row = {
    credential: operator.credential,
    request_id: '11111111-2222-4333-8444-555555555555',
    address: '2001:db8::1',
    network: '2001:db8::/64',
    method: 'GET',
    query: 'q'.repeat(100_000),
    status: 400,
    stream: null,
    records: null,
    sha256: null,
    event: 'request',
  };
  for (let batch = 0; batch < 10; batch += 1) {
    const rows = Array.from({ length: 100 }, (_, index) => ({ ...row, path: `/${batch}/${index}${'p'.repeat(9000)}` }));
    await report.sql`select keywarden.record_accesses(${JSON.stringify(rows)}::text::json)`;
  }
  const recorded = await store.sql`
    select sum(times)::int as times, count(*)::int as rows, max(length(path) + length(query)) as size from keywarden.access_log`;
  expect(recorded[0]?.times).toBe(1000);
  expect(Number(recorded[0]?.rows)).toBeLessThanOrEqual(2); // a minute may end meanwhile
  expect(recorded[0]?.size).toBe(512 + 1024);
});
