import { rejectPlan } from '@keywarden/db/report';
import {
  approveByReport,
  fixture,
  makeStoredPlan,
  pass,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { armMachine } from './high-water-mark.ts';

// Plans, approvals and rejections from a time when the database's clock was ahead.

useApplyFixture();

test("a plan that was made while the database's clock was ahead is not the newest once the clock is right again", async () => {
  const { two } = await prepare(['one', 'two', 'busy']);
  const early = await makeStoredPlan();
  await store.sql`update keywarden.plan set last_made_at = now() + interval '1 year'`;
  await use(two?.key ?? '');
  const plan = await makeStoredPlan();
  expect(plan.id).not.toBe(early.id);
  expect(await store.sql`select id from keywarden.newest_plan`).toEqual([{ id: plan.id }]);
});

test("an approval that was given while the database's clock was ahead ends once the clock is right, and overrules no rejection", async () => {
  await prepare(['one', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  await store.sql`update keywarden.plan_approval set approved_at = now() + interval '10 days'`;
  const report = await store.as('keywarden_report');
  await rejectPlan(report.sql, { plan: plan.id, principal: await makePrincipal(store, 'grace'), reason: 'stop' });
  expect((await pass(0)).approved).toEqual([]);
  // Ten days later.
  await store.sql`update keywarden.plan_approval set approved_at = now()`;
  await store.sql`update keywarden.plan_rejection set rejected_at = now() - interval '10 days'`;
  await store.sql`update keywarden.approval_end set at = now() - interval '10 days'`;
  expect((await pass(0)).approved).toEqual([]);
  expect(await revokedNames()).toEqual([]);
  await approveByReport(plan.id);
  await pass(0);
  expect(await revokedNames()).toEqual(['one']);
});

test("an approval that was given while the database's clock was ahead ends no other one", async () => {
  await prepare(['one', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  await store.sql`update keywarden.plan_approval set approved_at = now() + interval '10 days'`;
  await approveByReport(plan.id, 'piet');
  await pass(0);
  expect(await revokedNames()).toEqual(['one']);
});

test.each(['0', '4 minutes', '10 minutes'])(
  "a rejection overrules an approval that was given while the database's clock was ahead by %s",
  async (ahead) => {
    await prepare(['one', 'busy']);
    await armMachine(fixture.context, 'ada');
    const plan = await makeStoredPlan();
    await approveByReport(plan.id);
    await store.sql`update keywarden.plan_approval set approved_at = now() + ${ahead}::interval`;
    const report = await store.as('keywarden_report');
    const principal = await makePrincipal(store, 'piet');
    await rejectPlan(report.sql, { plan: plan.id, principal, reason: 'still in use' });
    expect((await pass(0)).approved).toEqual([]);
    expect(await revokedNames()).toEqual([]);
  },
);
