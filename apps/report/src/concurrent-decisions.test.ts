import { sha256 } from '@keywarden/core/values';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// A transaction that stays open while others decide about reviews and campaigns.

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const post = async (path: string, as: string, body?: object) =>
  await fixture.ask(path, { as, method: 'POST', ...(body === undefined ? {} : { body }) });
const credential = (of: string) => sha256(fixture.tokens[of] ?? '');
const keys = { organization_id: 'other' };

async function openCampaign(change: object): Promise<string> {
  const due = new Date(Date.now() + 20 * 86_400_000).toISOString();
  const { body } = await post('/v1/campaigns', 'auditor', { split_by: 'organization', due_at: due, keys, ...change });
  return String(body.id);
}

test('a signature waits for one in an open transaction, and ends its exemption of a key to revoke', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const decided = async (decision: string) => {
    const review = String((await post('/v1/reviews', 'auditor', { title: decision, keys })).body.id);
    const body = { keys: [fixture.keys['13']], decision, reason: 'as agreed' };
    expect((await post(`/v1/reviews/${review}/decisions`, 'auditor', body)).status).toBe(201);
    return review;
  };
  const [first, second] = [await decided('keep'), await decided('revoke')];
  const { text } = await fixture.ask(`/v1/reviews/${first}/document`);
  let later: ReturnType<typeof post> | undefined;
  await sql.begin(async (tx) => {
    await tx`select keywarden.sign_review(${credential('operator')}, ${first}, ${text})`;
    later = post(`/v1/reviews/${second}/signature`, 'operator');
    await fixture.store.untilBlocked(later);
  });
  expect((await later)?.status).toBe(201);
  const { items } = (await fixture.ask(`/v1/exemptions?key=${String(fixture.keys['13'])}`)).body;
  expect(items).toMatchObject([{ state: 'ended', ended_by: 'operator (report token 3)' }]);
});

test('the default of a campaign waits for its cancellation in an open transaction, and then decides nothing', async () => {
  const { store, daemon } = fixture;
  const { sql } = await store.as('keywarden_report');
  const campaign = await openCampaign({ title: 'due', default_decision: 'revoke' });
  await store.sql`
    update keywarden.review_campaign set opened_at = now() - interval '30 days', due_at = now() - interval '1 minute' where number = ${campaign}`;
  let applied: Promise<unknown> | undefined;
  await sql.begin(async (tx) => {
    await tx`select keywarden.cancel_campaign(${credential('auditor')}, ${campaign}, 'opened twice')`;
    applied = daemon.sql`select keywarden.apply_review_defaults()::int as n`.execute();
    await store.untilBlocked(applied);
  });
  expect(await applied).toEqual([{ n: 0 }]);
});

test('a campaign is canceled at the time of its cancellation, also in a transaction that began before it was opened', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const campaign = await sql.begin(async (tx) => {
    await tx`select now()`;
    const opened = await openCampaign({ title: 'later' });
    await tx`select keywarden.cancel_campaign(${credential('auditor')}, ${opened}, 'opened twice')`;
    return opened;
  });
  const [row] = await fixture.store.sql`
    select canceled_at > opened_at as is_ordered from keywarden.review_campaign where number = ${campaign}`;
  expect(row).toEqual({ is_ordered: true });
});
