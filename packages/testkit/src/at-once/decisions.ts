import type { DueNotice } from '@keywarden/core/policy';
import * as db from '@keywarden/db/daemon';
import * as report from '@keywarden/db/report';
import * as fc from 'fast-check';
import { always, type Fixture, hourOf, type Noun, writing } from './fixture.ts';

// What daemons and people record about keys: notices, reviews, plans, revocations, rotations and incidents.

/** The place of a key, a person, a plan or a review among those of the fixture. */
const key = fc.nat(5);
const someKeys = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 1 });
const person = fc.nat(1);
const plan = fc.nat(1);
const review = fc.nat(4);

const at = <T>(list: readonly T[] | undefined, index: number): T => {
  const found = list?.[index];
  if (found === undefined) throw new Error('the fixture has no such row');
  return found;
};
const keysOf = ({ keys }: Fixture, some: number[]) => some.map((index) => at(keys, index));
const byPerson = ({ people }: Fixture, index: number) => ({ principal: at(people, index), reason: 'a test' });

const noticesOf = (fixture: Fixture, some: number[]) =>
  keysOf(fixture, some).map((number) => ({ key: { number }, rule: 'unused', basis: 'b', step: '7d' }) as DueNotice);
const messageOf = ({ controlPlane }: Fixture) => ({
  controlPlane,
  channel: 'slack',
  owner: 'ada',
  body: {},
  notices: [],
});

/** Opens a review of the organization's live keys, and a campaign that is due. Unsigned reviews of earlier rounds take part, too. */
async function openReviews(fixture: Fixture): Promise<Fixture['fresh']> {
  const filter = { isThere: true, organizationId: 'acme' };
  const times = { asOf: hourOf(0), holes: [], keepForDays: 1 };
  const chosen = { filter, request: {}, ...times, ...byPerson(fixture, 0) };
  const title = `round ${fixture.round}`;
  const settings = {
    title,
    split_by: 'organization' as const,
    due_at: new Date(Date.now() + 60_000).toISOString(),
    remind_days: [7],
    default_decision: 'keep' as const,
    keep_needs_reason: 'always' as const,
    escalate_to: null,
    escalate_after_days: 1,
  };
  const { number: campaign } = await report.openCampaign(fixture.report, { ...chosen, settings });
  const opened = await report.openReview(fixture.report, { ...chosen, title });
  await fixture.store.sql`
    update keywarden.review_campaign set due_at = now(), opened_at = now() - interval '1 day' where number = ${campaign}`;
  const unsigned = await fixture.store.sql`
    select number from keywarden.review r where campaign_number is not null
      and not exists (select from keywarden.review_signature s where s.review_number = r.number) order by number desc limit 4`;
  return { campaigns: [String(campaign)], reviews: [String(opened), ...unsigned.map(({ number }) => String(number))] };
}

const reviewsOf = ({ fresh }: Fixture, some: number[]) =>
  (fresh.reviews ?? []).filter((_, index) => some.includes(index));
const reviewOf = ({ fresh }: Fixture, index: number) => fresh.reviews?.[index] ?? at(fresh.reviews, 0);

const remind = writing(
  fc.tuple(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 1 }), fc.boolean(), fc.uuid()),
  async (fixture, [some, isReversed, step]) => {
    const found = reviewsOf(fixture, some);
    const reminder = { reviews: isReversed ? found.toReversed() : found, step };
    await db.writeMessage(fixture.daemon.sql, { ...messageOf(fixture), reminder });
  },
);
const settleReviewReminders = always(async ({ daemon }) => await db.settleReviewReminders(daemon.sql));
const applyReviewDefaults = always(async ({ daemon }) => await db.applyReviewDefaults(daemon.sql));

const notices: Noun = {
  prepare: openReviews,
  writers: {
    writeMessage: writing(someKeys, async (fixture, some) => {
      await db.writeMessage(fixture.daemon.sql, { ...messageOf(fixture), notices: noticesOf(fixture, some) });
    }),
    endAnnouncements: writing(someKeys, async (fixture, some) => {
      await db.endAnnouncements(fixture.daemon.sql, noticesOf(fixture, some));
    }),
    cancelUnsendable: writing(fc.boolean(), async ({ daemon }, isGone) => {
      await db.cancelUnsendable(daemon.sql, isGone ? [] : ['slack']);
    }),
    recordAttempt: writing(fc.tuple(key, fc.boolean()), async ({ daemon }, [place, isAccepted]) => {
      const message = (await db.listPending(daemon.db, 'slack'))[place]?.number ?? '0';
      await db.recordAttempt(daemon.db, message, isAccepted ? { acceptedAt: hourOf(1) } : { error: 'x' });
    }),
    remind,
    settleReviewReminders,
    applyReviewDefaults,
  },
};

const decision = fc.constantFrom('keep' as const, 'revoke' as const, 'rotate' as const);

const reviews: Noun = {
  prepare: openReviews,
  writers: {
    decideReview: writing(
      fc.tuple(review, someKeys, decision, person),
      async (fixture, [index, some, decided, who]) => {
        const decisions = { keys: keysOf(fixture, some), decision: decided };
        await report.decideReview(fixture.report.sql, {
          review: reviewOf(fixture, index),
          ...decisions,
          ...byPerson(fixture, who),
        });
      },
    ),
    signReview: writing(fc.tuple(review, person), async (fixture, [index, who]) => {
      const [wanted, by] = [reviewOf(fixture, index), byPerson(fixture, who)];
      const items = await fixture.report
        .sql`select key_number from keywarden.review_item where review_number = ${wanted}`;
      const keys = items.map((row) => String(row.key_number));
      await report.decideReview(fixture.report.sql, { review: wanted, keys, decision: 'keep', ...by });
      await report.decideReview(fixture.report.sql, { review: wanted, keys: keys.slice(2), decision: 'revoke', ...by });
      await report.signReview(fixture.report.sql, { review: wanted, ...by });
    }),
    cancelCampaign: writing(person, async (fixture, who) => {
      await report.cancelCampaign(fixture.report.sql, {
        campaign: at(fixture.fresh.campaigns, 0),
        ...byPerson(fixture, who),
      });
    }),
    grantExemption: writing(fc.tuple(someKeys, person), async (fixture, [some, who]) => {
      const granted = {
        keys: keysOf(fixture, some),
        rules: ['unused'],
        reason: 'a test',
        until: '2099-01-01T00:00:00Z',
      };
      await report.grantExemptionAs(fixture.report.sql, at(fixture.people, who), granted);
    }),
    endExemption: writing(fc.tuple(fc.nat(20), person), async (fixture, [before, who]) => {
      const [last] = await fixture.report.sql`select max(number) - ${before} as number from keywarden.exemption`;
      await report.endExemptionAs(fixture.report.sql, at(fixture.people, who), String(last?.number ?? 0));
    }),
    reportBrokenReviews: always(async ({ daemon }) => await db.reportBrokenReviews(daemon.sql)),
    remind,
    settleReviewReminders,
    applyReviewDefaults,
  },
};

const plans: Noun = {
  writers: {
    savePlan: writing(plan, async (fixture, index) => {
      await db.savePlan(fixture.daemon.sql, at(fixture.plans, index), fixture.policy);
    }),
    derivePlan: writing(fc.tuple(plan, someKeys, person), async (fixture, [index, some, who]) => {
      const part = { plan: at(fixture.plans, index).id, keys: keysOf(fixture, some) };
      if (who === 0) await db.derivePlan(fixture.daemon.sql, part);
      else await report.derivePlanAs(fixture.report.sql, { ...part, ...byPerson(fixture, who) });
    }),
    approvePlan: writing(fc.tuple(plan, person), async (fixture, [index, who]) => {
      await report.approvePlan(fixture.report.sql, { plan: at(fixture.plans, index).id, ...byPerson(fixture, who) });
    }),
    rejectPlan: writing(fc.tuple(plan, person), async (fixture, [index, who]) => {
      await report.rejectPlan(fixture.report.sql, { plan: at(fixture.plans, index).id, ...byPerson(fixture, who) });
    }),
    revoke: writing(fc.tuple(plan, someKeys), async (fixture, [index, some]) => {
      const { sql, db: builder } = fixture.daemon;
      const planId = at(fixture.plans, index).id;
      const approval = await db.recordApproval(builder, { planId, approvedBy: 'ada', via: 'command line' });
      const cause = { planId, approval: approval.number };
      const judged = { listing: fixture.listing, judgedAt: hourOf(1), policySha256: 'x', lease: undefined };
      for (const each of keysOf(fixture, some)) {
        const intent = await db.beginRevocation(sql, { cause, key: each, connection: 'main', ...judged });
        const outcome = { outcome: 'failed', usedInFlight: index === 0, at: null } as const;
        if (intent !== undefined) await db.recordOutcome(sql, intent, outcome);
      }
      await db.reconcileIntents(sql, { controlPlane: fixture.controlPlane, scope: 'organization:acme' });
      await db.endApproval(builder, approval.number, 'done');
      await db.endEarlyApprovals(builder);
    }),
    pause: always(async ({ daemon }) => {
      await db.openPause(daemon, { by: 'ada', reason: null }, { signal: new AbortController().signal });
      await db.endPause(daemon.db, 'ada');
    }),
    assignOwners: writing(someKeys, async (fixture, some) => {
      const assignments = keysOf(fixture, some).map((each) => ({ key: each, owner: 'ada' }));
      await db.assignOwners(fixture.daemon.sql, { assignments, source: 'import', by: 'ada' });
    }),
  },
};

const rotations: Noun = {
  writers: {
    requestRotation: writing(fc.tuple(key, person), async (fixture, [index, who]) => {
      await report.requestRotation(fixture.report.sql, { key: at(fixture.keys, index), ...byPerson(fixture, who) });
    }),
    rotate: writing(fc.tuple(key, fc.stringMatching(/^[a-z0-9]{8}$/)), async ({ daemon, keys }, [index, id]) => {
      const wanted = at(keys, index);
      const request = (await db.listRotationRequests(daemon.db)).find((each) => each.key === wanted);
      const { number } = await db.openRotation(daemon.sql, {
        id,
        key: wanted,
        rule: null,
        sink: 's',
        quietForMs: 1,
        adoptWithinMs: 1,
        via: 'report',
        requestedBy: 'ada',
        policySha256: 'x',
        at: hourOf(1),
        request: request?.number,
      });
      const rotation = number === null ? undefined : await db.readRotation(daemon.db, number);
      if (rotation !== undefined)
        await db.advanceRotation(daemon.sql, rotation, { at: hourOf(2), event: 'given_up', by: 'ada' });
    }),
    refuseRotationRequest: always(async ({ daemon }) => {
      for (const { number } of await db.listRotationRequests(daemon.db))
        await db.refuseRotationRequest(daemon.sql, number, 'a test');
    }),
    slot: writing(fc.integer({ min: 1, max: 30 }), async ({ daemon, controlPlane }, hour) => {
      const due = { controlPlane, rule: 'r', slot: hourOf(hour) };
      if (await db.isSlotDue(daemon.db, due)) await db.endSlot(daemon.db, due);
    }),
    openIncidents: writing(someKeys, async (fixture, some) => {
      for (const each of keysOf(fixture, some)) {
        const detail = { rotation: 'x', why: some.join(' ') };
        await db.openIncidentOfKey(fixture.daemon.db, { kind: 'orphan', key: each, scope: 's', detail });
      }
    }),
    closeIncidents: always(async ({ daemon }) => await db.closeIncidents(daemon.db, { kind: 'orphan' })),
  },
};

export const decisions = { notices, reviews, plans, rotations };
