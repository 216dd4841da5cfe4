import { addDays, dayOf, startOfDay } from '@keywarden/core/values';
import { keyList, readItems } from '@keywarden/db/report';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const post = async (path: string, body: object | undefined, as = 'auditor') =>
  await fixture.ask(path, { as, method: 'POST', ...(body === undefined ? {} : { body }) });

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const dueDay = dayOf(inDays(64));

const open = async (body: object = {}) => {
  const asked = { title: 'autumn', split_by: 'organization', due_at: inDays(20), ...body };
  const answer = await post('/v1/campaigns', asked);
  expect(answer.status).toBe(201);
  const reviews = (await fixture.ask(`/v1/reviews?campaign_id=${answer.body.id}`)).body.items;
  return { campaign: answer.body as unknown as Record<string, unknown> & { id: string }, reviews };
};

interface Item {
  key: { number: string; id: string };
  findings: unknown[];
  decision: string | null;
  reason: string;
  decided_by: string;
  context: Record<string, unknown>;
}

const keysOf = async (review: unknown) =>
  (await fixture.ask(`/v1/reviews/${String(review)}/keys`)).body.items as unknown as Item[];

test('a campaign opens a review for each organization, all with one due date', async () => {
  const { campaign, reviews } = await open({ due_at: dueDay, remind_days: [1, 14, 1, 7] });
  expect(campaign).toMatchObject({
    state: 'open',
    due_at: startOfDay(addDays(dueDay, 1)),
    remind_days: [14, 7, 1],
    default_decision: 'none',
    reviews: 2,
    signed: 0,
    keys: 3,
    undecided: 3,
  });
  expect(reviews.map(({ title, keys, campaign_id: id, reviewer }) => [title, keys, id, reviewer])).toEqual([
    ['autumn: other', 1, campaign.id, 'auditor (report token 2)'],
    ['autumn: acme', 2, campaign.id, 'auditor (report token 2)'],
  ]);
});

test('a review that is asked for like one of a campaign is another one, and has no reviewer to remind', async () => {
  const keys = { organization_id: 'acme' };
  const [ofCampaign] = (await open({ title: 'alone', keys })).reviews;
  const { status, body } = await post('/v1/reviews', { title: ofCampaign?.title, keys });
  expect([status, body.id === ofCampaign?.id, body.reviewer]).toEqual([201, false, null]);
});

test('a campaign that is asked for again is opened once, until it is canceled', async () => {
  const asked = { title: 'twice', due_at: dueDay, remind_days: [1, 7], escalate_to: 'security' };
  const ids = await Promise.all([1, 2, 3].map(async () => (await open(asked)).campaign.id));
  expect(new Set(ids).size).toBe(1);
  const changes = [
    { title: 'once' },
    { split_by: 'owner' },
    { due_at: addDays(dueDay, 1) },
    { remind_days: [7] },
    { default_decision: 'keep' },
    { keep_needs_reason: 'finding' },
    { escalate_to: 'audit' },
    { keys: { organization_id: 'acme' } },
  ];
  const others = await Promise.all(changes.map(async (change) => (await open({ ...asked, ...change })).campaign.id));
  expect(new Set([...ids, ...others]).size).toBe(1 + changes.length);
  expect((await open(asked)).campaign.id).toBe(ids[0]);
  expect(ids).not.toContain((await post('/v1/campaigns', { split_by: 'organization', ...asked }, 'operator')).body.id);
  await post(`/v1/campaigns/${String(ids[0])}/cancel`, { reason: 'no longer needed' });
  expect(ids).not.toContain((await open(asked)).campaign.id);
});

test('a campaign by owner names the owner as the reviewer', async () => {
  await fixture.store.sql`insert into keywarden.key_owner (key_number, owner, source, assigned_by)
    values (${String(fixture.keys['12'])}, 'ada@acme.example', 'assignment', 'olga')`;
  const { reviews } = await open({ split_by: 'owner', keys: { organization_id: 'acme' } });
  expect(reviews.map(({ title, reviewer }) => [title, reviewer])).toContainEqual([
    'autumn: ada@acme.example',
    'ada@acme.example',
  ]);
  expect(reviews).toHaveLength(2);
});

test.each([
  ['a due date in the past', { due_at: '2020-01-01' }, 422],
  ['a due date after more than a year', { due_at: inDays(400) }, 422],
  ['no due date', { due_at: undefined }, 400],
  ['a default decision that rotates', { default_decision: 'rotate' }, 400],
  ['keys and credentials', { keys: {}, credentials: {} }, 400],
  ['a filter that selects no key', { keys: { q: 'nothing has this name' } }, 422],
])('%s is refused', async (_what, body, status) => {
  const before = await fixture.store.sql`select count(*)::int as n from keywarden.review_campaign`;
  const answer = await post('/v1/campaigns', { title: 'no', split_by: 'owner', due_at: inDays(20), ...body });
  expect([answer.status, answer.body.detail]).toEqual([status, expect.any(String)]);
  expect(await fixture.store.sql`select count(*)::int as n from keywarden.review_campaign`).toEqual(before);
});

test('a viewer opens no campaign, and a token of one organization sees none', async () => {
  const body = { title: 'no', split_by: 'owner', due_at: inDays(20) };
  expect((await post('/v1/campaigns', body, 'viewer')).status).toBe(403);
  expect((await fixture.ask('/v1/campaigns', { as: 'acme' })).status).toBe(403);
});

test.each([
  ['always', { clean: 422, reported: 422, flagged: 422 }],
  ['finding', { clean: 201, reported: 422, flagged: 422 }],
  ['flagged', { clean: 201, reported: 201, flagged: 422 }],
])(
  'where a reason is required %s, keys are kept without one accordingly; other decisions always need one',
  async (keepNeedsReason, expected) => {
    const { reviews } = await open({ keep_needs_reason: keepNeedsReason, keys: { organization_id: 'acme' } });
    const review = String(reviews[0]?.id);
    const [key] = await keysOf(review);
    const decide = async (decision: string, reason?: string) =>
      await post(`/v1/reviews/${review}/decisions`, { keys: [key?.key.number], decision, reason });
    const result: Record<string, number> = {};
    for (const [name, findings] of [
      ['clean', []],
      ['reported', [{ rule: 'r', action: 'report', disposition: 'reported', reason: 'x' }]],
      ['flagged', [{ rule: 'r', action: 'revoke', disposition: 'planned', reason: 'x' }]],
    ] as const) {
      fixture.store.isTampered();
      await fixture.store.sql`update keywarden.review_item set findings = ${JSON.stringify(findings)}::text::jsonb
      where review_number = ${review} and key_number = ${String(key?.key.number)}`;
      result[name] = (await decide('keep')).status;
      const refused = await decide('revoke');
      expect([refused.status, refused.body.detail]).toEqual([422, 'A reason is required to revoke keys; give one.']);
    }
    expect(result).toEqual(expected);
    expect((await decide('keep', 'in use by the importer')).status).toBe(201);
  },
);

test('a review without a campaign needs a reason for every decision', async () => {
  const review = (await post('/v1/reviews', { title: 'alone' })).body.id;
  const keys = [fixture.keys['12']];
  const refused = await post(`/v1/reviews/${review}/decisions`, { keys, decision: 'keep' });
  expect([refused.status, refused.body.detail]).toEqual([422, 'A reason is required to keep these keys; give one.']);
});

test('after the due date the default decides what is undecided, says so, and still needs a signature', async () => {
  const { campaign, reviews } = await open({ default_decision: 'revoke' });
  const [other, acme] = reviews.map(({ id }) => String(id));
  const decided = await post(`/v1/reviews/${acme}/decisions`, {
    keys: [fixture.keys['12']],
    decision: 'keep',
    reason: 'in use',
  });
  expect(decided.status).toBe(201);
  const apply = async () => {
    const [row] = await fixture.daemon.sql`select keywarden.apply_review_defaults()::int as n`;
    return row?.n as number;
  };
  expect(await apply()).toBe(0);
  await fixture.store
    .sql`update keywarden.review_campaign set opened_at = now() - interval '30 days', due_at = now() - interval '1 minute'
    where number = ${campaign.id}`;
  expect(await apply()).toBe(2);
  expect(await apply()).toBe(0);
  const items = [...(await keysOf(acme)), ...(await keysOf(other))];
  expect(items.map(({ key, decision, decided_by: by }) => [key.id, decision, by])).toEqual([
    ['9007199254740993', 'revoke', `the default of review campaign ${campaign.id}`],
    ['12', 'keep', 'auditor (report token 2)'],
    ['13', 'revoke', `the default of review campaign ${campaign.id}`],
  ]);
  expect(items[0]?.reason).toMatch(/^undecided at the due date, \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  expect((await fixture.ask(`/v1/campaigns/${campaign.id}`)).body).toMatchObject({
    state: 'overdue',
    undecided: 0,
    by_default: 2,
    signed: 0,
  });
  // A person may still decide otherwise, and only a signature gives effect.
  expect(
    (await post(`/v1/reviews/${other}/decisions`, { keys: [fixture.keys['13']], decision: 'keep', reason: 'in use' }))
      .status,
  ).toBe(201);
  expect(await apply()).toBe(0);
  for (const review of [acme, other])
    expect((await post(`/v1/reviews/${review}/signature`, undefined, 'operator')).status).toBe(201);
  expect((await fixture.ask(`/v1/campaigns/${campaign.id}`)).body).toMatchObject({ state: 'signed', signed: 2 });
});

test('a key that was kept by default is not exempt, and evidence counts it as not reviewed', async () => {
  const { campaign, reviews } = await open({ default_decision: 'keep', keys: { organization_id: 'acme' } });
  const review = String(reviews[0]?.id);
  await post(`/v1/reviews/${review}/decisions`, { keys: [fixture.keys['12']], decision: 'keep', reason: 'in use' });
  await fixture.store
    .sql`update keywarden.review_item set findings = '[{"rule": "never-used", "action": "revoke"}]' where review_number = ${review}`;
  await fixture.store
    .sql`update keywarden.review_campaign set opened_at = now() - interval '30 days', due_at = now() - interval '1 minute'
    where number = ${campaign.id}`;
  await fixture.daemon.sql`select keywarden.apply_review_defaults()`;
  expect((await fixture.ask(`/v1/reviews/${review}`)).body).toMatchObject({ undecided: 0, by_default: 1 });
  const signed = await post(`/v1/reviews/${review}/signature`, undefined, 'operator');
  expect(signed.body).toMatchObject({ exemptions: 1 });
  const reader = await fixture.store.as('keywarden_report');
  const unreviewed = keyList({ notReviewedSince: '2026-01-01', organizationId: 'acme' }, { organizations: null });
  await fixture.store
    .sql`update keywarden.review_signature set signed_at = '2026-05-31' where review_number = ${review}`;
  await fixture.store.sql`delete from keywarden.review_signature where review_number <> ${review}`;
  expect((await readItems(reader.db, unreviewed, 10)).map(({ id }) => id)).toEqual(['9007199254740993']);
});

test('the form of the page opens a campaign', async () => {
  const send = async (fields: Record<string, string>) =>
    await fixture.app.request('/campaigns', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${fixture.tokens.auditor}`,
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'http://localhost',
      },
      body: new URLSearchParams({
        title: 'by form',
        split_by: 'owner',
        due_at: inDays(30).slice(0, 10),
        remind_days: '14, 7 1',
        default_decision: 'none',
        keep_needs_reason: 'flagged',
        escalate_to: '',
        escalate_after_days: '3',
        keep_for_days: '180',
        organization_id: 'acme',
        ...fields,
      }).toString(),
    });
  const opened = await send({});
  expect([opened.status, opened.headers.get('location')]).toEqual([
    303,
    expect.stringMatching(/^\/campaigns\/\d+\?flash=campaign$/),
  ]);
  const id = /\d+/.exec(opened.headers.get('location') ?? '')?.[0];
  expect((await fixture.ask(`/v1/campaigns/${id}`)).body).toMatchObject({
    title: 'by form',
    remind_days: [14, 7, 1],
    escalate_to: null,
    keys: 2,
  });
  expect((await send({ due_at: '' })).status).toBe(400);
  expect((await send({ remind_days: '7, soon' })).status).toBe(400);
});

test('an auditor cancels a campaign once, with a reason: it gets no default decision, and its reviews stay', async () => {
  const { campaign, reviews } = await open({ default_decision: 'revoke' });
  const cancel = async (as: string) =>
    await post(`/v1/campaigns/${campaign.id}/cancel`, { reason: 'opened twice' }, as);
  expect((await cancel('viewer')).status).toBe(403);
  expect((await cancel('auditor')).body).toMatchObject({
    state: 'canceled',
    canceled_by: 'auditor (report token 2)',
    canceled_because: 'opened twice',
  });
  expect((await cancel('auditor')).status).toBe(409);
  expect((await post('/v1/campaigns/999999/cancel', { reason: 'x' })).status).toBe(404);
  await fixture.store
    .sql`update keywarden.review_campaign set opened_at = now() - interval '30 days', due_at = now() - interval '1 minute'
    where number = ${campaign.id}`;
  const [row] = await fixture.daemon.sql`select keywarden.apply_review_defaults()::int as n`;
  expect(row?.n).toBe(0);
  expect((await fixture.ask(`/v1/reviews/${String(reviews[0]?.id)}`)).body).toMatchObject({
    state: 'open',
    undecided: 1,
  });
});

test('a reviewer sees what a key reaches, when it is used, and the decision before', async () => {
  const { reviews } = await open();
  const acme = String(reviews.find(({ title }) => String(title) === 'autumn: acme')?.id);
  await fixture.store.sql`insert into keywarden.key_use (key_number, hour, address, first_used_at, last_used_at)
    select ${String(fixture.keys['12'])}::bigint, date_trunc('day', p.at) - n * interval '1 day' + interval '9 hours', '192.0.2.' || a,
      date_trunc('day', p.at) - n * interval '1 day' + interval '9 hours', date_trunc('day', p.at) - n * interval '1 day' + interval '9 hours 5 minutes'
    from keywarden.control_plane_now p, generate_series(1, 200) n, generate_series(1, 2) a`;
  const items = await keysOf(acme);
  const used = items.find(({ key }) => key.id === '12')?.context;
  const hours = used?.use_by_hour as number[];
  // Two addresses in an hour are one hour, and only 90 days count.
  expect(hours[9]).toBeGreaterThanOrEqual(88);
  expect(hours[9]).toBeLessThanOrEqual(90);
  expect(hours.filter((count) => count > 0)).toHaveLength(1);
  expect(used).toMatchObject({
    reach: 'project',
    projects: 1,
    last_decision: { decision: 'keep', decided_by: 'auditor (report token 2)' },
  });
  expect(items.find(({ key }) => key.id !== '12')?.context).toMatchObject({ reach: 'organization', projects: 1 });
});
