import { sha256 } from '@keywarden/core/values';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const dueAt = new Date(Date.now() + 20 * 86_400_000).toISOString();
const credential = () => sha256(fixture.tokens.auditor ?? '');

/** Opens a campaign about the keys of one organization, and returns its number and that of its review. */
async function open(organizationId: string, change: object): Promise<{ campaign: string; review: string }> {
  const asked = { title: 'autumn', split_by: 'organization', due_at: dueAt, keys: { organization_id: organizationId } };
  const { body } = await fixture.ask('/v1/campaigns', { as: 'auditor', method: 'POST', body: { ...asked, ...change } });
  const reviews = (await fixture.ask(`/v1/reviews?campaign_id=${body.id}`)).body.items;
  return { campaign: String(body.id), review: String(reviews[0]?.id) };
}

async function decisionOf(review: string, id: string): Promise<object | undefined> {
  const [row] = await fixture.store.sql`select decision, reason, decided_by from keywarden.review_item_now
    where review_number = ${review} and key_number = ${fixture.keys[id] ?? ''}`;
  return row;
}

const isDue = async (campaign: string, due = '-1 minute') =>
  await fixture.store
    .sql`update keywarden.review_campaign set opened_at = now() - interval '30 days', due_at = now() + ${due}::interval
    where number = ${campaign}`;

test.each([
  ['finding', 'no finding'],
  ['flagged', 'not flagged'],
])(
  'where a reason is required %s, a key that is kept without one has the reason "%s"; one that a rule rotates needs one',
  async (needs, reason) => {
    const { review } = await open('acme', { title: needs, keep_needs_reason: needs });
    fixture.store.isTampered();
    const keepWith = async (findings: object[]) => {
      await fixture.store
        .sql`update keywarden.review_item set findings = ${JSON.stringify(findings)}::text::jsonb where review_number = ${review}`;
      const body = { keys: [fixture.keys['12']], decision: 'keep' };
      return (await fixture.ask(`/v1/reviews/${review}/decisions`, { as: 'auditor', method: 'POST', body })).status;
    };
    expect(await keepWith([])).toBe(201);
    expect(await decisionOf(review, '12')).toMatchObject({ decision: 'keep', reason });
    expect(await keepWith([{ rule: 'r', action: 'rotate', disposition: 'reported', reason: 'x' }])).toBe(422);
  },
);

test('a campaign without a default decision decides nothing at its due date', async () => {
  const { campaign, review } = await open('other', { title: 'no default' });
  await isDue(campaign);
  expect(await fixture.daemon.sql`select keywarden.apply_review_defaults()::int as n`).toEqual([{ n: 0 }]);
  expect(await decisionOf(review, '13')).toMatchObject({ decision: null });
});

test('a default decides nothing before the due date', async () => {
  const { campaign, review } = await open('other', { title: 'early', default_decision: 'revoke' });
  await isDue(campaign, '30 minutes');
  expect(await fixture.daemon.sql`select keywarden.apply_review_defaults()::int as n`).toEqual([{ n: 0 }]);
  expect(await decisionOf(review, '13')).toMatchObject({ decision: null });
});

test('the default waits for a decision in an open transaction, and does not overrule it', async () => {
  const { campaign, review } = await open('other', { title: 'default', default_decision: 'revoke' });
  await isDue(campaign);
  const { sql } = await fixture.store.as('keywarden_report');
  let applied: Promise<unknown> | undefined;
  await sql.begin(async (tx) => {
    await tx`select keywarden.decide_review(${credential()}, ${review}, ${[fixture.keys['13'] ?? '']}::bigint[], 'keep', 'in use')`;
    applied = fixture.daemon.sql`select keywarden.apply_review_defaults()::int as n`.execute();
    await fixture.store.untilBlocked(applied);
  });
  expect(await applied).toEqual([{ n: 0 }]);
  expect(await decisionOf(review, '13')).toMatchObject({ decision: 'keep', reason: 'in use' });
});

test('without a plan the findings are unknown, so every decision needs a reason', async () => {
  const { review } = await open('other', { title: 'no plan', keep_needs_reason: 'finding' });
  fixture.store.isTampered();
  await fixture.store.sql`update keywarden.review_item set findings = '[]' where review_number = ${review}`;
  await fixture.store.sql`update keywarden.review set plan_id = null where number = ${review}`;
  const body = { keys: [fixture.keys['13']], decision: 'keep' };
  const decided = await fixture.ask(`/v1/reviews/${review}/decisions`, { as: 'auditor', method: 'POST', body });
  expect(decided.status).toBe(422);
});

test('a key that is named twice gets one decision', async () => {
  const { review } = await open('other', { title: 'twice' });
  const { sql } = await fixture.store.as('keywarden_report');
  const key = fixture.keys['13'] ?? '';
  await sql`select keywarden.decide_review(${credential()}, ${review}, ${[key, key]}::bigint[], 'keep', 'in use')`;
  const decided = await fixture.store
    .sql`select decision from keywarden.review_decision where review_number = ${review}`;
  expect(decided).toEqual([{ decision: 'keep' }]);
});

const settings = JSON.stringify({
  title: 'by hand',
  split_by: 'organization',
  due_at: dueAt,
  remind_days: [],
  default_decision: 'none',
  keep_needs_reason: 'always',
  escalate_to: null,
  escalate_after_days: 1,
});

test('no campaign and no review of no key, or of more than 20,000, is opened', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  for (const items of ["'[]'", "(select jsonb_agg(jsonb_build_object('number', n)) from generate_series(1, 20001) n)"])
    for (const call of ['open_campaign($1, $2::text::jsonb', 'open_review($1, $2'])
      expect([
        items,
        await sql.unsafe(`select keywarden.${call}, now(), '{}', '[]', 1, ${items}) as number`, [
          credential(),
          settings,
        ]),
      ]).toEqual([items, [{ number: null }]]);
});

test('the reviews of a campaign have the names of organizations, their ids without one, and one is of personal keys', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const numbers = Object.values(fixture.keys);
  const keys = [{ organization_id: 'org-1', organization_name: 'Acme' }, { organization_id: 'org-2' }, {}];
  const items = JSON.stringify(keys.map((key, index) => ({ number: numbers[index], key })));
  const [opened] = await sql`select keywarden.open_campaign(
    ${credential()}, ${settings}::text::jsonb, now(), '{}', '[]', 1, ${items}::text::jsonb) as number`;
  const reviews = await fixture.store
    .sql`select title from keywarden.review where campaign_number = ${String(opened?.number)} order by number`;
  expect(reviews.map(({ title }) => title)).toEqual(['by hand: Acme', 'by hand: org-2', 'by hand: personal keys']);
});

test('a review that is asked for is none of a campaign, even if that has the same title and keys', async () => {
  const { review } = await open('acme', { title: 'winter' });
  const { title } = (await fixture.ask(`/v1/reviews/${review}`)).body;
  const asked = { as: 'auditor', method: 'POST', body: { title, keys: { organization_id: 'acme' } } };
  const [one, again] = [await fixture.ask('/v1/reviews', asked), await fixture.ask('/v1/reviews', asked)];
  expect(one.body).toMatchObject({ title, id: again.body.id });
  expect(one.body.id).not.toBe(review);
});

test('a campaign is canceled alone: another one stays open', async () => {
  const [canceled, other] = [await open('acme', { title: 'canceled' }), await open('acme', { title: 'other' })];
  const body = { reason: 'opened twice' };
  await fixture.ask(`/v1/campaigns/${canceled.campaign}/cancel`, { as: 'auditor', method: 'POST', body });
  const stateOf = async (campaign: string) => (await fixture.ask(`/v1/campaigns/${campaign}`)).body.state;
  expect([await stateOf(canceled.campaign), await stateOf(other.campaign)]).toEqual(['canceled', 'open']);
});
