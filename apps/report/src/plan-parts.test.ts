import { isApprovedContent, type PlanDocument } from '@keywarden/core/policy';
import { sha256 } from '@keywarden/core/values';
import { derivePlan, listReportApprovals } from '@keywarden/db/daemon';
import { type Fixture, makeFixture, plan } from '@keywarden/testkit/report/fixture';
import { beforeAll, beforeEach, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  // A key in an open rotation is revoked only by that rotation.
  await fixture.store.sql`update keywarden.rotation set ended_at = now()`;
  await fixture.store.sql`update keywarden.connection set own_key_id = '13'`;
  // A key in use: if all keys of an organization are flagged, one stays.
  await fixture.store.sql`
    insert into keywarden.credential (control_plane_number, scope, id, kind, organization_id, name, creator_id, created_at, last_used_at, first_seen_at,
      present_since)
    select control_plane_number, scope, '99', kind, organization_id, 'busy', creator_id, created_at, '2026-05-31T23:00Z', first_seen_at, present_since
    from keywarden.credential where id = '9007199254740993'`;
  return async () => await fixture.close();
});

// Approvals of one test do not count in the next.
beforeEach(async () => {
  await fixture.store.sql`update keywarden.plan_approval set approved_at = now() - interval '2 days'`;
});

const post = async (path: string, { as = 'operator', body }: { as?: string; body?: object } = {}) =>
  await fixture.ask(path, { as, method: 'POST', ...(body === undefined ? {} : { body }) });
const partOf = async (id: string, filter: object) => await post(`/v1/plans/${id}/parts`, { body: filter });
const approve = async (id: string, as?: string) =>
  await post(`/v1/plans/${id}/approvals`, as === undefined ? {} : { as });
const twelve = () => fixture.keys['12'];
const documentOf = async (id: string) =>
  (await fixture.ask(`/v1/plans/${id}`)).body.document as unknown as PlanDocument;

test('a part of a plan is a plan of its own: hashed, with exactly the chosen keys, and approved alone', async () => {
  const whole = await plan(fixture.daemon);
  expect((await documentOf(whole)).items.map(({ key }) => key.id).toSorted()).toEqual(['12', '9007199254740993']);
  const made = await partOf(whole, { keys: [twelve()] });
  expect([made.status, made.body.items, made.body.derived_from]).toEqual([201, 1, whole]);
  const id = String(made.body.id);
  const document = await documentOf(id);
  expect(document.items.map(({ key }) => key.id)).toEqual(['12']);
  const [row] = await fixture.store.sql`
    select p.approves, p.last_made_at = w.last_made_at as is_as_old from keywarden.plan p join keywarden.plan w on w.id = p.derived_from where p.id = ${id}`;
  expect(isApprovedContent(document, { id, approves: String(row?.approves) })).toBe(true);
  expect(row?.is_as_old).toBe(true);
  const changed = {
    ...document,
    items: document.items.map((item) => ({ ...item, key: { ...item.key, number: '1' } })),
  };
  expect(isApprovedContent(changed, { id, approves: String(row?.approves) })).toBe(false);
  // The same keys of the same plan are the same part, however they are chosen.
  expect((await partOf(whole, { keys: [twelve()], rule: 'never-used', organization_id: 'acme' })).body.id).toBe(id);
  expect((await partOf(id, { organization_id: 'acme' })).body.id).toBe(id);
  expect((await approve(id)).status).toBe(201);
  expect((await listReportApprovals(fixture.daemon.sql)).map(({ planId }) => planId)).toEqual([id]);
  const findings = (await fixture.ask(`/v1/findings?plan_id=${id}`)).body.items;
  expect(findings.map((finding) => finding.disposition)).toEqual(['planned']);
  // The newest plan is still the whole one.
  expect((await fixture.ask('/v1/findings')).body.items.length).toBeGreaterThan(1);
});

test('a part of no key, of a plan that does not exist, by a viewer, or with a bad key is refused', async () => {
  const whole = await plan(fixture.daemon);
  const empty = await partOf(whole, { organization_id: 'nosuch' });
  expect([empty.status, empty.body.detail]).toEqual([409, expect.stringContaining('no key that matches')]);
  expect((await partOf('p-none', {})).status).toBe(404);
  expect((await partOf(whole, { keys: ['x'] })).status).toBe(400);
  const other = await partOf(whole, { keys: [twelve(), fixture.keys['13']] });
  expect([other.status, other.body.detail]).toEqual([
    409,
    expect.stringContaining(`keys ${String(fixture.keys['13'])}`),
  ]);
  expect((await post(`/v1/plans/${whole}/parts`, { as: 'viewer', body: {} })).status).toBe(403);
  // A plan of an older version has no hash of what a person approves.
  const older = await plan(fixture.daemon, { quotas: { per_run: 9 } });
  const [row] = await fixture.store.sql`select approves from keywarden.plan where id = ${older}`;
  const setHash = async (hash: string | null) =>
    await fixture.store.sql`update keywarden.plan set approves = ${hash} where id = ${older}`;
  await setHash(null);
  expect((await partOf(older, { keys: [twelve()] })).status).toBe(409);
  await setHash(String(row?.approves));
});

test('parts that one person approves count together, also those of different plans: a second person is still needed', async () => {
  const whole = await plan(fixture.daemon, { second_person_above: 1 });
  const partIds = async (keys: (string | undefined)[]) => String((await partOf(whole, { keys })).body.id);
  const first = await partIds([twelve()]);
  const second = await partIds([fixture.keys['9007199254740993']]);
  expect((await approve(first)).body).toMatchObject({ approvers: 1, approvers_needed: 1 });
  expect((await fixture.ask(`/v1/plans/${second}`)).body).toMatchObject({ approvers: 0, approvers_needed: 2 });
  expect((await approve(second)).body).toMatchObject({ approvers: 1, approvers_needed: 2 });
  const carriedOut = async () => (await listReportApprovals(fixture.daemon.sql)).map(({ planId }) => planId);
  expect(await carriedOut()).toContain(first);
  expect(await carriedOut()).not.toContain(second);
  expect((await approve(second, 'second operator')).body).toMatchObject({ approvers: 2 });
  expect(await carriedOut()).toContain(second);
});

test('a superseded plan and its parts are marked, and cannot be approved or divided', async () => {
  const old = await plan(fixture.daemon, { second_person_above: 5 });
  const part = String((await partOf(old, { keys: [twelve()] })).body.id);
  const newer = await plan(fixture.daemon, { second_person_above: 6 });
  for (const id of [old, part]) {
    expect((await fixture.ask(`/v1/plans/${id}`)).body.superseded_by).toBe(newer);
    expect((await approve(id)).status).toBe(409);
    expect((await partOf(id, { organization_id: 'acme' })).status).toBe(409);
  }
  expect((await fixture.ask(`/v1/plans/${newer}`)).body.superseded_by).toBeNull();
});

test('a part of the newest plan that is the same as an earlier plan is a part, and can be approved', async () => {
  const { sql } = fixture.store;
  const whole = await plan(fixture.daemon);
  const nine = fixture.keys['9007199254740993'] ?? '';
  // The other key is away for a time, so the plan of that time has only key 12.
  await sql`update keywarden.credential set missing_since = now() where number = ${nine}`;
  const earlier = await plan(fixture.daemon);
  const former = await documentOf(earlier);
  expect(former.items.map(({ key }) => key.id)).toEqual(['12']);
  expect(former.held).not.toEqual([]);
  await sql`update keywarden.plan set last_made_at = now() - interval '25 hours' where id = ${earlier}`;
  await sql`update keywarden.credential set missing_since = null where number = ${nine}`;
  expect(await plan(fixture.daemon)).toBe(whole);
  const part = await partOf(whole, { keys: [twelve()] });
  expect(part.body).toMatchObject({ id: earlier, items: 1, held: 0, derived_from: whole, superseded_by: null });
  expect(await documentOf(earlier)).toEqual({ ...former, held: [], blind_spots: [] });
  const [{ is_its_hash: isItsHash } = {}] = await sql`
    select sha256 = encode(sha256(convert_to(document, 'UTF8')), 'hex') as is_its_hash from keywarden.plan where id = ${earlier}`;
  expect(isItsHash).toBe(true);
  const findings = (await fixture.ask(`/v1/findings?plan_id=${earlier}`)).body.items;
  expect(findings.map(({ disposition }) => disposition)).toEqual(['planned']);
  expect((await fixture.ask(`/v1/plans/${whole}`)).body.superseded_by).toBeNull();
  expect((await approve(earlier)).status).toBe(201);
  // The same keys as the whole plan again: it is no part any more.
  await sql`update keywarden.credential set missing_since = now() where number = ${nine}`;
  expect(await plan(fixture.daemon)).toBe(earlier);
  for (const [keys, id] of [
    [[twelve() ?? ''], earlier],
    [[twelve() ?? '', nine], whole],
  ] as const) {
    expect(await derivePlan(fixture.daemon.sql, { plan: whole, keys: [...keys] })).toMatchObject({ id });
    expect((await fixture.ask(`/v1/plans/${id}`)).body.derived_from).toBeNull();
  }
  expect((await fixture.ask(`/v1/plans/${whole}`)).body.superseded_by).toBe(earlier);
  await sql`update keywarden.credential set missing_since = null where number = ${nine}`;
});

test('a part of the next plan counts with a part of the former one that was approved within a day', async () => {
  const first = await plan(fixture.daemon, { second_person_above: 1, quotas: { per_run: 10 } });
  const one = String((await partOf(first, { keys: [twelve()] })).body.id);
  expect((await approve(one)).body).toMatchObject({ approvers: 1, approvers_needed: 1 });
  // What was carried out changes the facts, so the next plan has another id.
  const next = await plan(fixture.daemon, { second_person_above: 1, quotas: { per_run: 11 } });
  const two = String((await partOf(next, { keys: [fixture.keys['9007199254740993']] })).body.id);
  expect((await approve(two)).body).toMatchObject({ approvers: 1, approvers_needed: 2 });
});

test('parts count together also if one person approves them in one transaction, or in one that began before the others', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const whole = await plan(fixture.daemon, { second_person_above: 1, quotas: { per_run: 17 } });
  const partIds = async (keys: (string | undefined)[]) => String((await partOf(whole, { keys })).body.id);
  const first = await partIds([twelve()]);
  const second = await partIds([fixture.keys['9007199254740993']]);
  const credential = sha256(fixture.tokens.operator ?? '');
  const approveIn = async (tx: Pick<typeof sql, 'unsafe'>, id: string) =>
    await tx.unsafe('select keywarden.approve_plan($1, $2)', [credential, id]);
  const carriedOut = async () => (await listReportApprovals(fixture.daemon.sql)).map(({ planId }) => planId);
  await sql.begin(async (tx) => {
    await approveIn(tx, first);
    await approveIn(tx, second);
  });
  expect(await carriedOut()).toEqual([first]);
  await fixture.store.sql`update keywarden.plan_approval set approved_at = now() - interval '2 days'`;
  await sql.begin(async (tx) => {
    await approve(first);
    await approveIn(tx, second);
  });
  expect(await carriedOut()).toEqual([first]);
  await fixture.store.sql`update keywarden.plan_approval set approved_at = now() - interval '2 days'`;
  let later: Promise<unknown> | undefined;
  await sql.begin(async (tx) => {
    await approveIn(tx, first);
    later = approve(second);
    await fixture.store.untilBlocked(later);
  });
  await later;
  expect(await carriedOut()).toEqual([first]);
});

test('a part that waits for a second person still waits when the approval that it was counted with is a day old', async () => {
  const whole = await plan(fixture.daemon, { second_person_above: 1, quotas: { per_run: 14 } });
  const partIds = async (keys: (string | undefined)[]) => String((await partOf(whole, { keys })).body.id);
  const first = await partIds([twelve()]);
  const second = await partIds([fixture.keys['9007199254740993']]);
  await approve(first);
  expect((await approve(second)).body).toMatchObject({ approvers: 1, approvers_needed: 2 });
  // Ten minutes lie between the approvals, and the first one has expired.
  const approvedBefore = async (id: string, before: string) =>
    await fixture.store
      .sql`update keywarden.plan_approval set approved_at = now() - ${before}::interval where plan_id = ${id}`;
  await approvedBefore(first, '24 hours 5 minutes');
  await approvedBefore(second, '23 hours 55 minutes');
  expect((await fixture.ask(`/v1/plans/${second}`)).body).toMatchObject({ approvers: 1, approvers_needed: 2 });
  expect((await listReportApprovals(fixture.daemon.sql)).map(({ planId }) => planId)).not.toContain(second);
});

test.each(['part', 'plan'])('a key of a plan and of its part counts once, with the %s first', async (first) => {
  const whole = await plan(fixture.daemon, { second_person_above: 2, quotas: { per_run: 15 } });
  const part = String((await partOf(whole, { keys: [twelve()] })).body.id);
  for (const id of first === 'part' ? [part, whole] : [whole, part])
    expect((await approve(id)).body).toMatchObject({ approvers: 1, approvers_needed: 1 });
});

test('a part counts once, however often it was approved, and what was revoked automatically does not count', async () => {
  const { sql } = fixture.store;
  const whole = await plan(fixture.daemon, { second_person_above: 2, quotas: { per_run: 18 } });
  const first = String((await partOf(whole, { keys: [twelve()] })).body.id);
  const second = String((await partOf(whole, { keys: [fixture.keys['9007199254740993']] })).body.id);
  for (const as of ['operator', 'second operator']) expect((await approve(first, as)).status).toBe(201);
  await sql`insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values (${whole}, 'policy', 'enforcement', now() - interval '1 hour')`;
  expect((await approve(second)).body).toMatchObject({ approvers: 1, approvers_needed: 1 });
  // An expired approval of the same part.
  await sql`update keywarden.plan_approval set approved_at = approved_at - interval '2 hours' where plan_id in (${first}, ${second})`;
  for (const id of [first, second])
    await sql`insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values (${id}, 'x', 'report', now() - interval '25 hours')`;
  expect((await fixture.ask(`/v1/plans/${second}`)).body).toMatchObject({ approvers: 1, approvers_needed: 1 });
});

test('one person who makes plans small by exemptions needs a second one for the keys of all of them', async () => {
  const [one, other] = [twelve(), fixture.keys['9007199254740993']];
  const exempt = async (key: string | undefined) =>
    String((await post('/v1/exemptions', { body: { keys: [key], reason: 'not yet', for: '1d' } })).body.id);
  const planned = async (perRun: number) =>
    await plan(fixture.daemon, { second_person_above: 1, quotas: { per_run: perRun } });
  const whole = await planned(12);
  expect((await fixture.ask(`/v1/plans/${whole}`)).body).toMatchObject({ items: 2, approvers_needed: 2 });
  const first = await exempt(other);
  const small = await planned(12);
  expect((await approve(small)).body).toMatchObject({ items: 1, approvers: 1, approvers_needed: 1 });
  const end = async (id: string) => await post(`/v1/exemptions/${id}/end`);
  await end(first);
  const second = await exempt(one);
  expect((await approve(await planned(13))).body).toMatchObject({ items: 1, approvers: 1, approvers_needed: 2 });
  await end(second);
});

test('a part has only the findings for which it revokes its keys, once, however often it is made', async () => {
  const whole = await plan(fixture.daemon, {
    rules: [
      { name: 'never-used', never_used_for: '30d', action: 'revoke' },
      { name: 'old', older_than: '30d', action: 'report' },
    ],
  });
  const stored = async (id: string) =>
    (
      await fixture.store
        .sql`select rule from keywarden.finding where plan_id = ${id} and key_number = ${twelve() ?? ''}
      order by rule`
    ).map(({ rule }) => String(rule));
  expect(await stored(whole)).toEqual(['never-used', 'old']);
  const id = String((await partOf(whole, { keys: [twelve()] })).body.id);
  expect(await stored(id)).toEqual(['never-used']);
  expect((await partOf(whole, { keys: [twelve()] })).body.id).toBe(id);
  expect(await stored(id)).toEqual(['never-used']);
  // Also twice in one transaction.
  const next = await plan(fixture.daemon, { quotas: { per_run: 19 } });
  const { sql } = await fixture.store.as('keywarden_report');
  const made = await sql.begin(async (tx) => {
    const make = async () =>
      (
        await tx`select keywarden.derive_plan(${sha256(fixture.tokens.operator ?? '')}, ${next}, ${[twelve() ?? '']}::bigint[]) as id`
      )[0]?.id;
    return [await make(), await make()];
  });
  expect(made[0]).toBe(made[1]);
  expect(await stored(String(made[0]))).toEqual(['never-used']);
});

test('a part of several keys keeps the order of the plan, and a part of it is a part of the plan', async () => {
  const { sql } = fixture.store;
  await sql`
    insert into keywarden.credential (control_plane_number, scope, id, kind, organization_id, name, creator_id, created_at, first_seen_at, present_since)
    select control_plane_number, scope, '98', kind, organization_id, 'third', creator_id, created_at, first_seen_at, present_since
    from keywarden.credential where id = '9007199254740993'`;
  const whole = await plan(fixture.daemon);
  const { items } = await documentOf(whole);
  expect(items).toHaveLength(3);
  const two = await partOf(whole, { keys: items.slice(1).map(({ key }) => key.number) });
  const id = String(two.body.id);
  const document = await documentOf(id);
  expect(document.items).toEqual(items.slice(1));
  const [row] = await sql`select approves from keywarden.plan where id = ${id}`;
  expect(isApprovedContent(document, { id, approves: String(row?.approves) })).toBe(true);
  const one = await partOf(id, { keys: [items[1]?.key.number] });
  expect(one.body).toMatchObject({ items: 1, derived_from: whole, superseded_by: null });
  expect((await approve(String(one.body.id))).status).toBe(201);
});
