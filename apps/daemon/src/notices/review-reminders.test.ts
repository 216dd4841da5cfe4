import { policySchema } from '@keywarden/core/policy';
import { decideReview, openCampaign, signReview } from '@keywarden/db/report';
import { fixture, prepare, store, useApplyFixture } from '@keywarden/testkit/daemon/apply-fixture';
import { channel, receiver, useReceiver } from '@keywarden/testkit/daemon/receiver-fixture';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { enforce } from '../enforce/enforce.ts';
import { syncKeys } from '../sync/keys.ts';

useApplyFixture();
useReceiver();

const dayMs = 86_400_000;

async function pass() {
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  await enforce(fixture.context, fixture.connections);
}

/** Opens a campaign by owner that is due in 20 days. Moving its due date is moving the time. */
async function campaign(change: { default_decision?: 'none' | 'revoke'; escalate_to?: string | null } = {}) {
  await pass();
  const report = await store.as('keywarden_report');
  const principal = await makePrincipal(store, `olga ${Math.random()}`, 'operator');
  const { number } = await openCampaign(report, {
    filter: { isThere: true },
    request: {},
    asOf: new Date().toISOString(),
    holes: [],
    keepForDays: 0,
    principal,
    settings: {
      title: 'autumn',
      split_by: 'owner',
      due_at: new Date(Date.now() + 20 * dayMs).toISOString(),
      remind_days: [14, 7],
      default_decision: 'none',
      keep_needs_reason: 'always',
      escalate_to: 'security@company.example',
      escalate_after_days: 3,
      ...change,
    },
  });
  expect(number).not.toBeNull();
  const dueIn = async (days: number) => {
    await store.sql`update keywarden.review_campaign set opened_at = now() - interval '60 days', due_at = now() + ${days} * interval '1 day'
      where number = ${number}`;
    await pass();
  };
  const finish = async () => {
    for (const {
      number: review,
    } of await store.sql`select number from keywarden.review where campaign_number = ${number}`) {
      const rows =
        await store.sql`select key_number from keywarden.review_item where review_number = ${String(review)}`;
      const keys = rows.map((row) => String(row.key_number));
      await decideReview(report.sql, { review: String(review), keys, decision: 'keep', reason: 'in use', principal });
      expect(await signReview(report.sql, { review: String(review), principal })).toMatchObject({ isSigned: true });
    }
  };
  return { dueIn, finish };
}

interface Message {
  type: string;
  data: { owner: string; step: string; reviews: { title: string; undecided: number }[] };
}
const messages = () =>
  receiver.received
    .map(({ text }) => JSON.parse(text) as Message)
    .filter(({ type }) => type.startsWith('review.'))
    .map(
      ({ type, data }) =>
        `${type} ${data.step} to ${data.owner}: ${data.reviews.reduce((sum, { undecided }) => sum + undecided, 0)} undecided`,
    );

const silent = policySchema.parse({ rules: [] });

const openIncidents = async () =>
  (await store.sql`select kind, closed_by from keywarden.incident where kind = 'review_overdue' order by number`).map(
    (row) => String(row.closed_by),
  );

test('a reviewer is reminded once before each date, then that the review is overdue; then it is escalated, until it is signed', async () => {
  await prepare(['one', 'two'], { policy: silent, channels: [channel()] });
  const { dueIn, finish } = await campaign();
  await dueIn(15);
  expect(messages()).toEqual([]);
  await dueIn(13);
  await dueIn(12);
  const [first = ''] = messages();
  expect(first).toMatch(/^review\.due 14d to \S+@\S+: \d+ undecided$/);
  const owner = first.split(' to ')[1] ?? '';
  const others = messages().length;
  await dueIn(6);
  await dueIn(-1);
  expect(messages()).toContain(`review.due 7d to ${owner}`);
  expect(messages()).toContain(`review.overdue overdue to ${owner}`);
  expect(await openIncidents()).toEqual(['null']);
  await dueIn(-4);
  await dueIn(-5);
  // All reviews are escalated to one person, in one message.
  expect(messages()).toHaveLength(3 * others + 1);
  expect(messages().at(-1)).toMatch(/^review\.escalated escalation to security@company\.example: \d+ undecided$/);
  await finish();
  await dueIn(-6);
  expect(messages()).toHaveLength(3 * others + 1);
  expect(await openIncidents()).toEqual(['keywarden']);
});

test('a daemon that was down sends only the newest reminder, and none that was not accepted before a newer one', async () => {
  await prepare(['one'], { policy: silent, channels: [channel()] });
  const { dueIn } = await campaign({ escalate_to: null });
  receiver.answer = 'refuse';
  await dueIn(13);
  await dueIn(6);
  receiver.answer = 'accept';
  await dueIn(5);
  expect(new Set(messages().map((text) => text.split(' ')[1]))).toEqual(new Set(['7d']));
  await dueIn(-30);
  expect(new Set(messages().map((text) => text.split(' ')[1]))).toEqual(new Set(['7d', 'overdue']));
});

test('a campaign that was canceled sends no reminder, also none that was not accepted before, and its incident is closed', async () => {
  await prepare(['one'], { policy: silent, channels: [channel()] });
  const { dueIn } = await campaign();
  receiver.answer = 'refuse';
  await dueIn(-1);
  expect(await openIncidents()).toEqual(['null']);
  await store.sql`update keywarden.review_campaign set canceled_at = now(), canceled_by = 'ada', canceled_because = 'a mistake'`;
  receiver.answer = 'accept';
  await dueIn(-2);
  await dueIn(-4);
  expect(messages()).toEqual([]);
  expect(await openIncidents()).toEqual(['keywarden']);
});

test('a pass records the default decisions of a due campaign, and its reminder asks for a signature', async () => {
  await prepare(['one', 'two'], { policy: silent, channels: [channel({ format: 'slack', secret: null })] });
  const { dueIn } = await campaign({ default_decision: 'revoke' });
  await dueIn(1);
  const [{ n: before } = {}] = await store.sql`select count(*)::int as n from keywarden.review_decision`;
  await dueIn(-0.1);
  const [{ n: after } = {}] =
    await store.sql`select count(*)::int as n from keywarden.review_decision where decision = 'revoke'`;
  const [{ n: items } = {}] = await store.sql`select count(*)::int as n from keywarden.review_item`;
  expect([before, after]).toEqual([0, items]);
  expect(receiver.received.at(-1)?.text).toContain('a signature is missing');
  expect(receiver.received.at(-1)?.text).toContain('was due at');
  expect(receiver.received.at(-1)?.text).toContain('keys got the default decision');
  const [incident] = await store.sql`select detail from keywarden.incident where kind = 'review_overdue'`;
  expect(incident?.detail).toMatchObject({ title: 'autumn', undecided: items });
  // A person may close the incident: it is not opened again.
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada' where kind = 'review_overdue'`;
  await dueIn(-1);
  expect(await openIncidents()).toEqual(['ada']);
  // No key is revoked without a signature and an approval.
  const [{ n: intents } = {}] = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(intents).toBe(0);
});
