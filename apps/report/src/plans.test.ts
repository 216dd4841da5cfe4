import { sha256 } from '@keywarden/core/values';
import { createToken, endPause, listReportApprovals, openPause, readStanding } from '@keywarden/db/daemon';
import { type Fixture, makeFixture, plan } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const approve = async (id: string, as: string) =>
  await fixture.ask(`/v1/plans/${id}/approvals`, { as, method: 'POST' });
const reject = async (id: string, as: string) =>
  await fixture.ask(`/v1/plans/${id}/rejections`, { as, method: 'POST', body: { reason: 'not before Friday' } });
/** Returns the plans that the daemon would carry out. */
const approved = async () => (await listReportApprovals(fixture.daemon.sql)).map(({ planId }) => planId);

test('an approval is attributed, counts once per person, and lets the daemon carry out the plan', async () => {
  const { status, body } = await approve(fixture.planId, 'operator');
  expect([status, body.approvers, body.approvers_needed]).toEqual([201, 1, 1]);
  expect(await approved()).toEqual([fixture.planId]);
  expect((await approve(fixture.planId, 'operator')).status).toBe(409);
  const [decision] = (await fixture.ask(`/v1/plans/${fixture.planId}/decisions`)).body.items;
  expect(decision).toMatchObject({
    decision: 'approved',
    via: 'report',
    by: expect.stringMatching(/^operator \(report token \d+\)$/),
  });
});

test('the newest decision counts: a rejection ends an approval, and a later approval overrides the rejection', async () => {
  expect((await reject(fixture.planId, 'second operator')).body).toMatchObject({ rejected: true, approvers: 0 });
  expect(await approved()).toEqual([]);
  expect(await readStanding(fixture.daemon.sql, fixture.planId)).toMatchObject({
    rejection: { reason: 'not before Friday' },
  });
  expect((await approve(fixture.planId, 'operator')).body).toMatchObject({ rejected: false, approvers: 1 });
  expect(await approved()).toEqual([fixture.planId]);
  expect(await readStanding(fixture.daemon.sql, fixture.planId)).toMatchObject({ rejection: null });
});

test('during a pause the overview and an approved plan say who has paused, and that the plan waits', async () => {
  const pageOf = async (path: string, as: string) =>
    (await fixture.ask(path, { as, headers: { accept: 'text/html' } })).text.replaceAll(/\s+/g, ' ');
  const plan = `/plans/${fixture.planId}`;
  expect(await pageOf(plan, 'operator')).toMatch(/You have approved it\. The daemon carries it out in its next pass/);
  await openPause(fixture.daemon, { by: 'ada', reason: 'a migration' }, { signal: new AbortController().signal });
  for (const [path, as] of [
    [plan, 'operator'],
    ['/', 'viewer'],
  ] as const)
    expect(await pageOf(path, as)).toMatch(/Paused by ada since .*\(a migration\): no key is revoked/);
  expect(await pageOf(plan, 'operator')).toContain('You have approved it. The daemon carries it out after the pause.');
  expect(await pageOf('/', 'acme')).not.toContain('Paused by');
  await endPause(fixture.daemon.db, 'ada');
  expect(await pageOf('/', 'viewer')).not.toContain('Paused by');
});

test('a plan with more than second_person_above keys waits for a second person', async () => {
  // A key in an open rotation is revoked only by that rotation.
  await fixture.store.sql`update keywarden.rotation set ended_at = now()`;
  const id = await plan(fixture.daemon, { second_person_above: 0 });
  expect((await approve(id, 'operator')).body).toMatchObject({ approvers: 1, approvers_needed: 2 });
  expect(await approved()).not.toContain(id);
  expect((await approve(id, 'operator')).status).toBe(409);
  // A person with two tokens is one person.
  const { secret } = await createToken((await fixture.store.as('keywarden_admin')).db, {
    name: 'operator',
    role: 'operator',
    organizationIds: null,
    createdBy: 'ada',
  });
  expect((await approve(id, secret)).status).toBe(409);
  await fixture.store
    .sql`insert into keywarden.plan_approval (plan_id, approved_by, via) values (${id}, 'operator', 'command line')`;
  expect((await fixture.ask(`/v1/plans/${id}`)).body.approvers).toBe(1);
  expect((await approve(id, 'second operator')).body).toMatchObject({ approvers: 2 });
  expect(await approved()).toContain(id);
});

test('the page of a plan asks for the approval of the keys that are left, and of a plan without any it says so', async () => {
  const { sql } = fixture.store;
  const id = await plan(fixture.daemon, { second_person_above: 9 });
  const shown = async () =>
    (await fixture.ask(`/plans/${id}`, { as: 'operator', headers: { accept: 'text/html' } })).text;
  const keys =
    await sql`select key_number as number from keywarden.finding_now where plan_id = ${id} and disposition = 'planned'`;
  const setGone = async (at: string | null) =>
    await sql`update keywarden.credential set gone_at = ${at}::timestamptz where number = any(${keys.map(({ number }) => String(number))})`;
  expect(await shown()).toContain(`Approve plan ${id}`);
  await setGone('now');
  const done = await shown();
  expect(done).toContain('Nothing is left to do: each key of this plan is revoked or gone.');
  expect(done).not.toMatch(/Approve plan|Reject plan|Show this part/);
  await setGone(null);
});

test('the newest plan, too, cannot be approved if it was not produced within the last day', async () => {
  const id = await plan(fixture.daemon, { second_person_above: 7 });
  const producedAgo = async (hours: number) =>
    await fixture.store.sql`update keywarden.plan set last_made_at = now() - ${hours} * interval '1 hour'
      where last_made_at > now() - interval '2 days'`;
  await fixture.store.sql`update keywarden.plan set last_made_at = now() - interval '3 days' where id <> ${id}`;
  await producedAgo(25);
  expect((await fixture.ask(`/v1/plans/${id}`)).body.superseded_by).toBeNull();
  const { status, body } = await approve(id, 'operator');
  expect([status, body.detail]).toEqual([409, expect.stringContaining('within the last day')]);
  await producedAgo(23);
  expect((await approve(id, 'operator')).status).toBe(201);
});

test('what was revoked automatically by a plan does not end a person’s approval of it', async () => {
  const { sql } = fixture.store;
  const id = await plan(fixture.daemon, { second_person_above: 8 });
  expect((await approve(id, 'operator')).status).toBe(201);
  const end = async (via: string) =>
    await sql`
      with made as (
        insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values (${id}, 'x', ${via}, now()) returning number
      ) insert into keywarden.approval_end (approval_number, how) select number, 'done' from made`;
  await end('enforcement');
  expect((await fixture.ask(`/v1/plans/${id}`)).body.approvers).toBe(1);
  await end('command line');
  expect((await fixture.ask(`/v1/plans/${id}`)).body.approvers).toBe(0);
});

test('a plan is shown with the document that it hashes', async () => {
  const { body } = await fixture.ask(`/v1/plans/${fixture.planId}`);
  expect(body).toMatchObject({ items: 1, held: 2, document: { version: 3 } });
  expect((await fixture.ask('/v1/plans/p-none')).status).toBe(404);
});

test('an exemption is attributed when it is granted, shown and ended', async () => {
  const body = { keys: [fixture.keys['12']], rules: ['never-used'], reason: 'until the move', for: '30d' };
  const granted = await fixture.ask('/v1/exemptions', { as: 'acme', method: 'POST', body });
  expect(granted).toMatchObject({
    status: 201,
    body: { state: 'in_force', granted_by: expect.stringContaining('acme (') },
  });
  expect(String(granted.body.until).slice(0, 10)).toBe('2026-07-01');
  const id = await plan(fixture.daemon);
  const [held] = (await fixture.ask(`/v1/findings?plan_id=${id}&key=${fixture.keys['12']}`)).body.items;
  expect(held?.why_held).toContain('connection main itself uses this key');
  const end = async (as: string) =>
    await fixture.ask(`/v1/exemptions/${String(granted.body.id)}/end`, { as, method: 'POST' });
  expect((await end('operator')).body).toMatchObject({ state: 'ended', ended_by: 'operator (report token 3)' });
  expect((await end('operator')).status).toBe(409);
  const both = { ...body, keys: [fixture.keys['12'], fixture.keys['13']] };
  const wide = await fixture.ask('/v1/exemptions', { as: 'operator', method: 'POST', body: both });
  const refused = await fixture.ask(`/v1/exemptions/${String(wide.body.id)}/end`, { as: 'acme', method: 'POST' });
  expect(refused.status).toBe(403);
  const { sql } = fixture.store;
  const belongsTo = async (organization: string | null) =>
    await sql`update keywarden.credential set organization_id = ${organization} where number = ${fixture.keys['13'] ?? ''}`;
  // A login of the report may do no more with its token than the report.
  const report = await fixture.store.as('keywarden_report');
  const call = async (text: string) =>
    await report.sql.unsafe(`select keywarden.${text}`, [sha256(fixture.tokens.acme ?? '')]);
  await belongsTo(null);
  await expect(call(`end_exemption($1, ${String(wide.body.id)})`)).rejects.toMatchObject({ code: 'KW003' });
  await belongsTo('other');
  const own = await fixture.ask('/v1/exemptions', { as: 'acme', method: 'POST', body: { ...body, reason: 'its own' } });
  const ended = await fixture.ask(`/v1/exemptions/${String(own.body.id)}/end`, { as: 'acme', method: 'POST' });
  expect(ended.body).toMatchObject({ state: 'ended' });
  const hidden = `grant_exemption($1, '{${String(fixture.keys['13'])}}', null, 'x', now() + interval '1 day')`;
  await expect(call(hidden)).rejects.toMatchObject({ code: 'KW004' });
  const bad = async (change: object) =>
    (await fixture.ask('/v1/exemptions', { as: 'operator', method: 'POST', body: { ...body, ...change } })).status;
  expect(await bad({ until: '2027-01-01T00:00:00Z' })).toBe(400);
  expect(await bad({ for: undefined, until: '2026-01-01T00:00:00Z' })).toBe(422);
  expect(await bad({ for: undefined })).toBe(400);
});

test('an exemption that is asked for several times is granted once, so that one end ends it', async () => {
  const body = { keys: [fixture.keys['12'], fixture.keys['13']], reason: 'asked again', for: '30d' };
  const grant = async (change: object = {}, as = 'operator') =>
    await fixture.ask('/v1/exemptions', { as, method: 'POST', body: { ...body, ...change } });
  const twice = [...body.keys, ...body.keys];
  const answers = await Promise.all([
    grant({ keys: twice }),
    grant(),
    grant({ keys: body.keys.toReversed() }),
    grant({ keys: twice }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  const ids = answers.map(({ body: { id } }) => String(id));
  expect(new Set(ids).size).toBe(1);
  const others = await Promise.all([
    grant({ keys: body.keys.slice(1) }),
    grant({ reason: 'another' }),
    grant({ rules: ['never-used'] }),
    grant({ for: '29d' }),
    grant({ for: '31d' }),
    grant({}, 'second operator'),
  ]);
  expect(new Set([...others.map(({ body: { id } }) => String(id)), ...ids]).size).toBe(1 + others.length);
  const ended = await fixture.ask(`/v1/exemptions/${ids[0]}/end`, { as: 'operator', method: 'POST' });
  expect(ended.body).toMatchObject({ state: 'ended' });
  const inForce = (await fixture.ask(`/v1/exemptions?key=${fixture.keys['13']}&state=in_force`)).body.items;
  expect(inForce.map(({ id }) => id)).toEqual(expect.arrayContaining(others.map(({ body: { id } }) => id)));
  expect((await grant()).body.id).not.toBe(ids[0]);
});

test('the reason of an exemption that also covers other organizations is hidden from a token of one', async () => {
  const { body } = await fixture.ask('/v1/exemptions', {
    as: 'operator',
    method: 'POST',
    body: { keys: [fixture.keys['12'], fixture.keys['13']], reason: 'merger of acme and other', for: '30d' },
  });
  expect(body.reason).toBe('merger of acme and other');
  const seen = await fixture.ask('/v1/exemptions', { as: 'acme' });
  const shared = seen.body.items.find(({ id }) => id === body.id);
  expect(shared).toMatchObject({ reason: 'It also covers keys of other organizations.', pattern: null });
  expect(seen.text).not.toContain('merger');
  for (const path of [`/keys/${fixture.keys['12']}`, '/exemptions', '/'])
    expect((await fixture.ask(path, { as: 'acme', headers: { accept: 'text/html' } })).text).not.toContain('merger');
});
