import { createHash } from 'node:crypto';
import { saveEnforcementState, saveKeyListing } from '@keywarden/db/daemon';
import { type Fixture, listKeys, makeFixture, plan } from '@keywarden/testkit/report/fixture';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const post = async (path: string, body: object | undefined, as = 'operator') =>
  await fixture.ask(path, { as, method: 'POST', ...(body === undefined ? {} : { body }) });

async function open(body: object = {}): Promise<string> {
  const { status, body: review } = await post('/v1/reviews', { title: 'spring', ...body }, 'auditor');
  expect(status).toBe(201);
  return String(review.id);
}

const decide = async (review: string, id: string, decision: string, reason = 'as agreed') =>
  await post(`/v1/reviews/${review}/decisions`, { keys: [fixture.keys[id]], decision, reason }, 'auditor');

test('a review freezes its keys: later changes to the keys do not change the review', async () => {
  const review = await open({ keys: { organization_id: 'acme' } });
  const before = (await fixture.ask(`/v1/reviews/${review}/keys`)).body.items;
  expect(before.map(({ key }) => (key as unknown as { id: string }).id)).toEqual(['9007199254740993', '12']);
  expect(before[0]).toMatchObject({ decision: null, findings: [{ rule: 'never-used', action: 'revoke' }] });
  const keys = [makeWireKey('9007199254740993', { name: 'renamed' }), makeWireKey('12', { projectId: 'quiet-river' })];
  await listKeys(fixture, '2026-06-01T00:10:00Z', keys);
  expect((await fixture.ask(`/v1/reviews/${review}/keys`)).body.items).toEqual(before);
});

test('an operator signs a fully decided review once; a signed review cannot change', async () => {
  const review = await open();
  expect((await post(`/v1/reviews/${review}/signature`, undefined, 'auditor')).status).toBe(403);
  expect((await decide(review, '12', 'revoke', 'at first')).status).toBe(201);
  expect((await decide(review, '12', 'keep', 'asked its owner')).status).toBe(201);
  expect((await decide(review, '13', 'revoke')).status).toBe(201);
  const early = await post(`/v1/reviews/${review}/signature`, undefined);
  expect([early.status, early.body.detail]).toEqual([
    409,
    '1 key is undecided; decide about every key before you sign.',
  ]);
  expect((await decide(review, '9007199254740993', 'rotate')).body).toMatchObject({
    undecided: 0,
    keep: 1,
    revoke: 1,
    rotate: 1,
  });
  const signed = await post(`/v1/reviews/${review}/signature`, undefined);
  expect(signed).toMatchObject({ status: 201, body: { exemptions: 1, rotations: 1, revocations: 1 } });

  expect((await decide(review, '12', 'revoke')).status).toBe(409);
  expect((await post(`/v1/reviews/${review}/signature`, undefined)).status).toBe(409);
  const { text } = await fixture.ask(`/v1/reviews/${review}/document`);
  expect(createHash('sha256').update(text).digest('hex')).toBe(signed.body.sha256);
  expect((await fixture.ask(`/v1/reviews/${review}/decisions`)).body.items.map(({ reason }) => reason)).toContain(
    'at first',
  );

  // The effects of the decisions: an exemption, a rotation request, and an item of the next plan.
  const [exemption] = (await fixture.ask(`/v1/exemptions?key=${fixture.keys['12']}`)).body.items;
  expect(exemption).toMatchObject({
    rules: ['never-used'],
    reason: `access review ${review}: asked its owner, decided by auditor (report token 2)`,
    granted_by: 'operator (report token 3)',
    state: 'in_force',
  });
  const { keep_for_days: keepForDays } = (await fixture.ask(`/v1/reviews/${review}`)).body;
  const [from, until] = [exemption?.granted_at, exemption?.until].map((at) => Date.parse(String(at)));
  expect(Number(until) - Number(from)).toBe(Number(keepForDays) * 86_400_000);
  const [request] = (await fixture.ask('/v1/rotation-requests')).body.items;
  expect(request).toMatchObject({
    key: { id: '9007199254740993' },
    requested_by: 'operator (report token 3)',
    reason: `access review ${review}: as agreed, decided by auditor (report token 2)`,
  });
  const id = await plan(fixture.daemon);
  const found = (await fixture.ask(`/v1/findings?plan_id=${id}&rule=access-review`)).body.items;
  expect(found).toEqual([
    expect.objectContaining({
      key: expect.objectContaining({ id: '13' }),
      action: 'revoke',
      reason: expect.stringContaining('as agreed'),
    }),
  ]);

  // An exemption from the rule of reviews would outlast the next review.
  const next = await open({ keys: { organization_id: 'other' } });
  await decide(next, '13', 'keep');
  await post(`/v1/reviews/${next}/signature`, undefined);
  const [kept] = (await fixture.ask(`/v1/exemptions?key=${fixture.keys['13']}`)).body.items;
  expect(kept).toMatchObject({ rules: ['never-used'] });
});

test('a signature is of what its signer has read: a decision that another person changed meanwhile is not signed', async () => {
  const review = await open({ keys: { organization_id: 'other' } });
  await decide(review, '13', 'keep');
  const { text } = await fixture.ask(`/v1/reviews/${review}/document`);
  const headers = { cookie: `keywarden_session=${await fixture.signIn('operator')}`, host: 'h', origin: 'http://h' };
  const [, sha256 = ''] =
    /name="sha256" value="(\w+)"/.exec((await fixture.ask(`/reviews/${review}`, { as: null, headers })).text) ?? [];
  expect(sha256).toBe(createHash('sha256').update(text).digest('hex'));
  await decide(review, '13', 'rotate');
  const signForm = await fixture.app.request(`/reviews/${review}/signature`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ sha256, sure: 'on' }),
  });
  expect(signForm.status).toBe(409);
  const signed = await post(`/v1/reviews/${review}/signature?sha256=${sha256}`, undefined);
  expect([signed.status, signed.body.detail]).toEqual([409, expect.stringContaining('has changed since you read it')]);
  expect((await fixture.ask(`/v1/reviews/${review}`)).body.state).toBe('open');
});

test('the database role that serves a signed review cannot change it', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const [signed] = await sql`select review_number from keywarden.review_signature limit 1`;
  const review = String(signed?.review_number);
  const key = String(fixture.keys['12']);
  await expect(sql`
    insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
    values (${review}, ${key}, 'revoke', 'x', 'x')`).rejects.toMatchObject({ code: '42501' });
  for (const statement of [
    'update keywarden.review_decision set reason = reason',
    'delete from keywarden.review_decision',
    'update keywarden.review_item set findings = findings',
    'delete from keywarden.review_signature',
    'update keywarden.review set title = title',
  ])
    await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
  // No role can add a key to it.
  await expect(fixture.store.sql`
    insert into keywarden.review_item (review_number, key_number, key, findings) values (${review}, 999, '{}', '[]')`).rejects.toThrow(
    /signed/,
  );
});

test('concurrent signatures of a review: exactly one succeeds, and the decisions take effect once', async () => {
  const review = await open({ keys: { organization_id: 'other' } });
  await decide(review, '13', 'rotate');
  const answers = await Promise.all(
    [1, 2, 3].map(async () => await post(`/v1/reviews/${review}/signature`, undefined)),
  );
  expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
  expect((await fixture.ask(`/v1/rotation-requests?key=${fixture.keys['13']}`)).body.items).toHaveLength(1);
});

test('keys of another review, an empty selection, and a future time are rejected with a clear error', async () => {
  const review = await open({ keys: { organization_id: 'acme' } });
  expect((await decide(review, '13', 'keep')).status).toBe(422);
  expect((await post('/v1/reviews', { title: 'x', keys: { organization_id: 'nowhere' } })).status).toBe(422);
  expect((await post('/v1/reviews', { title: 'x', keys: { as_of: '2999-01-01T00:00:00Z' } })).status).toBe(400);
  expect((await post('/v1/reviews', { title: ' ' })).status).toBe(201);
  expect((await post('/v1/reviews', { title: '' })).status).toBe(400);
});

test('a decision to rotate is refused before the signature while no sink is configured', async () => {
  const review = await open({ keys: { organization_id: 'acme' } });
  const state = { whyNotApproved: null, whyNotAutomatic: null, approvalsSince: null, nextAt: null };
  await saveEnforcementState(fixture.daemon.db, 'machine', { ...state, sinks: 0 });
  const refused = await decide(review, '9007199254740993', 'rotate');
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('No sink is configured')]);
  await saveEnforcementState(fixture.daemon.db, 'machine', { ...state, sinks: 1 });
  expect((await decide(review, '9007199254740993', 'rotate')).status).toBe(201);
});

test('a decision to revoke ends the exemption of an earlier review, and no exemption that a person granted', async () => {
  const sign = async (decision: string) => {
    const review = await open({ keys: { organization_id: 'other' } });
    await decide(review, '13', decision);
    return { review, ...(await post(`/v1/reviews/${review}/signature`, undefined)).body };
  };
  const kept = await sign('keep');
  expect(kept).toMatchObject({ exemptions: 1 });
  for (const [as, reason] of [
    ['operator', 'access review of May: until the move'],
    ['operator', `access review ${kept.review} of May: until the move`],
    ['second operator', `access review ${kept.review}: until the move`],
  ]) {
    const granted = { keys: [fixture.keys['13']], rules: ['never-used'], reason, for: '30d' };
    expect((await post('/v1/exemptions', granted, as)).status).toBe(201);
  }
  // Those of a review have one state, and those of persons another one or the same.
  const statesOf = async () => {
    const { items } = (await fixture.ask(`/v1/exemptions?key=${fixture.keys['13']}`)).body;
    const each = items.map(
      ({ reason, state }) =>
        `${/: as agreed, decided by/.test(String(reason)) ? 'review' : 'person'}: ${String(state)}`,
    );
    return [...new Set(each)].toSorted();
  };
  expect(await statesOf()).toEqual(['person: in_force', 'review: in_force']);
  const countInForce = async () =>
    (await fixture.ask(`/v1/exemptions?key=${fixture.keys['13']}&state=in_force`)).body.items.length;
  const before = await countInForce();
  // Neither another decision nor a review without a signature ends it.
  await decide(await open({ keys: { organization_id: 'other' } }), '13', 'revoke');
  for (const decision of ['keep', 'rotate']) await sign(decision);
  expect(await countInForce()).toBe(before + 1);
  await sign('revoke');
  expect(await statesOf()).toEqual(['person: in_force', 'review: ended']);
  const endsOf = async () =>
    (await fixture.ask(`/v1/exemptions?key=${fixture.keys['13']}`)).body.items.map(({ ended_at: at }) => at);
  const ends = await endsOf();
  await sign('revoke');
  expect(await endsOf()).toEqual(ends);
});

test('no exemption ends before it was granted, although the clock of its control plane has been set back', async () => {
  const { sql } = fixture.store;
  const keys = [fixture.keys['13']];
  const isOrdered = async (why: string) => {
    const [row] = await sql`
      select ended_at = granted_at as is_ordered from keywarden.exemption where reason like ${`%${why}%`}`;
    return row?.is_ordered as unknown;
  };
  const sign = async (decision: string, reason: string) => {
    const review = await open({ keys: { organization_id: 'other' } });
    await decide(review, '13', decision, reason);
    expect((await post(`/v1/reviews/${review}/signature`, undefined)).status).toBe(201);
  };
  await sign('keep', 'kept early');
  const granted = await post('/v1/exemptions', { keys, rules: ['never-used'], reason: 'granted early', for: '30d' });
  await sql`update keywarden.key_listing set received_at = received_at + interval '1 hour'`;
  await sign('revoke', 'not needed');
  expect((await post(`/v1/exemptions/${String(granted.body.id)}/end`, undefined)).status).toBeLessThan(300);
  await sql`update keywarden.key_listing set received_at = received_at - interval '1 hour'`;
  expect([await isOrdered('kept early'), await isOrdered('granted early')]).toEqual([true, true]);
});

test('a signature exempts each key with a finding that is kept', async () => {
  const review = await open({ keys: { organization_id: 'acme' } });
  for (const id of ['12', '9007199254740993']) await decide(review, id, 'keep');
  expect((await post(`/v1/reviews/${review}/signature`, undefined)).body).toMatchObject({ exemptions: 2 });
});

test('a review that keeps keys for no time exempts none', async () => {
  const review = await open({ keys: { organization_id: 'other' }, keep_for_days: 0 });
  await decide(review, '13', 'keep');
  const signed = await post(`/v1/reviews/${review}/signature`, undefined);
  expect(signed).toMatchObject({ status: 201, body: { exemptions: 0 } });
});

test('a key that is gone before the signature gets no exemption and no rotation', async () => {
  const { sql } = fixture.store;
  const before = (await fixture.ask('/v1/rotation-requests')).body.items.length;
  const review = await open({ keys: { organization_id: 'acme' } });
  await decide(review, '12', 'keep');
  await decide(review, '9007199254740993', 'rotate');
  await sql`update keywarden.credential set gone_at = now() where organization_id = 'acme'`;
  const signed = await post(`/v1/reviews/${review}/signature`, undefined);
  await sql`update keywarden.credential set gone_at = null where organization_id = 'acme'`;
  expect(signed).toMatchObject({ status: 201, body: { exemptions: 0, rotations: 0 } });
  expect((await fixture.ask('/v1/rotation-requests')).body.items).toHaveLength(before);
});

test('exemptions begin and end by the clock of the control plane of their key, and a review grants each once', async () => {
  const { sql } = fixture.store;
  const keys = [fixture.keys['13']];
  const ahead = await makeControlPlane(fixture.daemon.sql, { name: 'ahead', baseUrl: 'sandbox ahead' });
  const listedAt = new Date(Date.now() + 10 * 86_400_000).toISOString();
  const place = { controlPlane: ahead, scope: 'organization:ahead', organizationId: 'ahead', connection: 'ahead' };
  const listed = { ...place, run: null, listedAt, begunAt: listedAt, keys: [makeWireKey('77')] };
  await saveKeyListing(fixture.daemon.sql, listed);
  const [{ number: foreign } = {}] = await sql`select number from keywarden.key where id = '77'`;
  const ofForeign = { keys: [String(foreign)], rules: ['never-used'], reason: 'by another clock', for: '30d' };
  expect((await post('/v1/exemptions', ofForeign)).status).toBe(201);
  const sign = async (decision: string) => {
    const review = await open({ keys: { organization_id: 'other' } });
    await decide(review, '13', decision, 'by its own clock');
    return (await post(`/v1/reviews/${review}/signature`, undefined)).body;
  };
  expect(await sign('keep')).toMatchObject({ exemptions: 1 });
  const own = { keys, rules: ['never-used'], reason: 'by its own clock', for: '30d' };
  const { body: granted } = await post('/v1/exemptions', own);
  await sql`update keywarden.exemption set granted_at = '2026-06-01' where number = ${String(granted.id)}`;
  await sign('revoke');
  expect((await post(`/v1/exemptions/${String(granted.id)}/end`, undefined)).status).toBe(200);
  const rows = await sql`
    select ended_at > granted_at and ended_at < now() + interval '1 day' as is_of_its_clock from keywarden.exemption where reason like '%by its own clock%'`;
  expect(rows.map((row) => row.is_of_its_clock)).toEqual([true, true]);
});
