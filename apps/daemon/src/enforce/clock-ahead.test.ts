import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addMark } from '@keywarden/db/daemon';
import { rejectPlan } from '@keywarden/db/report';
import {
  apply,
  approveByReport,
  day,
  enforced,
  fixture,
  makeStoredPlan,
  pass,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { neverUsedPolicy } from '@keywarden/testkit/daemon/fixture';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { armMachine } from './high-water-mark.ts';
import { whyNotApproved } from './standing.ts';

// Plans, approvals, rejections and marks while the database's clock is wrong, or from such a time.

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

test("an approval is not carried out while the database's clock is behind: it may have expired", async () => {
  await prepare(['one', 'two', 'busy'], { policy: { ...neverUsedPolicy, second_person_above: 1 } });
  await pass(0);
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  await approveByReport(plan.id, 'piet');
  const { context } = fixture;
  context.now = () => Date.now() + day * 1000;
  expect((await pass(0)).approved).toEqual([]);
  expect(await whyNotApproved(context, plan.id, 'report')).toMatch(/clock is 86\d{3} s behind/);
  // A second person may have approved it long ago, too.
  expect((await apply(plan)).stopped).toMatch(/clock is 86\d{3} s behind/);
  expect(await revokedNames()).toEqual([]);
  context.now = Date.now;
  await pass(0);
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test("a machine that first saw the store while the database's clock was ahead carries out what is approved once it is right", async () => {
  await prepare(['one', 'busy']);
  await pass(0);
  const file = join(fixture.context.environment.KEYWARDEN_DATA, 'high-water-mark');
  const [mark] = readFileSync(file, 'utf8').split(' ');
  writeFileSync(file, `${mark} watch 2090-01-01T00:00:00Z 2090-01-01T00:00:00Z`);
  const plan = await makeStoredPlan();
  // Whether this was before the machine saw the store is unknown.
  await approveByReport(plan.id);
  await pass(0);
  expect(await revokedNames()).toEqual([]);
  expect(readFileSync(file, 'utf8')).not.toContain('2090');
  await approveByReport(plan.id);
  await pass(0);
  expect(await revokedNames()).toEqual(['one']);
});

test("a mark of another machine from a time when the database's clock was ahead does not count as a recent one", async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const other = await addMark(store.db, 'daemon');
  await store.sql`update keywarden.high_water_mark set made_at = now() + interval '1 day' where mark = ${other}`;
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/made the last mark hours ago/) });
});
