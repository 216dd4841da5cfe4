import { policySchema } from '@keywarden/core/policy';
import { endApproval } from '@keywarden/db/daemon';
import { planList, readItems, rejectPlan } from '@keywarden/db/report';
import { until } from '@keywarden/testkit';
import {
  approveByReport,
  enforced,
  fixture,
  makeStoredPlan,
  mint,
  pass,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { jobs } from '../schedule/jobs.ts';
import { syncKeys } from '../sync/keys.ts';
import { applyPlan } from './apply.ts';
import { enforce } from './enforce.ts';
import { armMachine } from './high-water-mark.ts';
import { whyNotApproved } from './standing.ts';

useApplyFixture();

test('R10: an approval that came with an older store is not the second person of a plan', async () => {
  await prepare(['one', 'two', 'busy'], {
    policy: policySchema.parse({ second_person_above: 1, rules: [neverUsedRule] }),
  });
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  expect((await pass(0)).approved).toEqual([]);
  await approveByReport(plan.id, 'piet');
  await pass(0);
  expect(await revokedNames()).toEqual([]);
  await approveByReport(plan.id, 'grace');
  await pass(0);
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('an approval in the report is carried out once, and expires after 24 hours', async () => {
  await prepare(['one', 'two', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  await store.sql`update keywarden.plan_approval set approved_at = now() - interval '25 hours'`;
  expect((await pass(0)).approved).toEqual([]);
  await approveByReport(plan.id);
  const [applied] = (await pass(0)).approved;
  expect(applied?.items.map(({ item, outcome }) => [item.key.name, outcome])).toEqual([
    ['one', 'revoked'],
    ['two', 'revoked'],
  ]);
  await mint('three');
  expect((await pass(0)).approved).toEqual([]);
});

test('R10: on a machine that has seen the store, an approval given since then is carried out without automatic enforcement', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await pass(0);
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  const passed = await pass(0);
  expect(passed.why).toMatch(/not permitted on this machine; to permit it, run keywarden arm/);
  expect(passed.automatic).toBeNull();
  expect(passed.approved.map(({ items }) => items.map(({ outcome }) => outcome))).toEqual([['revoked']]);
  expect(await revokedNames()).toEqual(['one']);
});

test('R10: an approval between the first plan and the first pass of enforcement is carried out', async () => {
  await prepare(['one', 'busy']);
  // The daemon lists keys and makes a plan long before its first pass.
  await jobs.keys.run(fixture.context, ['main']);
  const [plan] = await store.sql`select id from keywarden.newest_plan`;
  const [state] = await store.sql`select next_at is not null as has_next from keywarden.enforcement_state`;
  expect(state).toBeDefined();
  await approveByReport(String(plan?.id));
  await jobs.keys.run(fixture.context, ['main']);
  const [listed] = await readItems(store.db, planList({ id: String(plan?.id) }), 1);
  expect(listed?.blocked).toBeNull();
  await pass(0);
  expect(await revokedNames()).toEqual(['one']);
});

test('R10: a machine that has not seen the store carries out no approval that was given before, until a person permits it', async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  expect(await pass(0)).toMatchObject({ approved: [], why: expect.stringMatching(/not permitted on this machine/) });
  expect(await pass(0)).toMatchObject({ approved: [] });
  expect(await revokedNames()).toEqual([]);
  await armMachine(fixture.context, 'ada');
  await pass(0);
  expect(await revokedNames()).toEqual(['one']);
});

test('R5: an approval that a use in flight has stopped does not continue automatically, and nothing else runs in that pass', async () => {
  const { one } = await prepare(['one', 'two', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  await approveByReport(plan.id);
  const path = '/organizations/{org_id}/api_keys/{key_id}';
  await fixture.controls.setFaults([{ method: 'DELETE', path, kind: 'latency', latency_ms: 1500, times: 1 }]);
  const passing = pass(0);
  await until(async () => (await store.sql`select 1 from keywarden.revocation_intent`).length > 0);
  await use(one?.key ?? '');
  expect(await passing).toMatchObject({ automatic: null, why: expect.stringMatching(/used during its revocation/) });
  expect(await revokedNames()).toEqual(['one']);
  expect((await pass(0)).approved).toEqual([]);
  // The newest plan no longer has key one.
  expect(await approveByReport(plan.id)).toBeNull();
  await store.sql`insert into keywarden.plan_approval (plan_id, approved_by, via) values (${plan.id}, 'olga', 'report')`;
  const [next] = (await pass(0)).approved;
  expect(next?.items.map(({ outcome, why }) => [outcome, why])).toEqual([
    ['skipped', 'an incident of its scope is open; see keywarden incidents'],
  ]);
  expect(await revokedNames()).toEqual(['one']);
});

test('an approval that cannot be carried out is ended, and stops nothing else; an approval of an old plan is refused', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  store.isTampered();
  await store.sql`update keywarden.plan set document = '{}' where id = ${plan.id}`;
  await fixture.controls.advance(3700);
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  fixture.context.config.policy = enforced({ max_evidence_age: '2h' });
  expect((await enforce(fixture.context, fixture.connections)).automatic?.items).toHaveLength(1);
  expect(await store.sql`select 1 from keywarden.approval_end`).toHaveLength(2);
  await store.sql`update keywarden.plan set last_made_at = now() - interval '2 days'`;
  expect(await approveByReport(plan.id)).toBeNull();
});

test('an approval of keys that could not be listed is tried again; it acknowledges nothing until it is done', async () => {
  await prepare(['one', 'two', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  const listing = { method: 'GET', path: '/organizations/{org_id}/api_keys', kind: 'status', status: 403 };
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  await fixture.controls.setFaults([listing]);
  const [failed] = (await enforce(fixture.context, fixture.connections)).approved;
  expect(failed?.items.map(({ outcome, isFinal }) => [outcome, isFinal])).toEqual([
    ['skipped', false],
    ['skipped', false],
  ]);
  expect(await store.sql`select how from keywarden.approval_end`).toEqual([]);
  await fixture.controls.setFaults([]);
  await pass(0);
  expect(await revokedNames()).toEqual(['one', 'two']);
  expect([...(await store.sql`select how from keywarden.approval_end`)]).toEqual([{ how: 'done' }]);
});

test('a rejection stops an approved plan, also at the command line, until a person approves it after that', async () => {
  await prepare(['one', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  const report = await store.as('keywarden_report');
  await rejectPlan(report.sql, {
    plan: plan.id,
    principal: await makePrincipal(store, 'grace'),
    reason: 'not before Friday',
  });
  expect((await pass(0)).approved).toEqual([]);
  expect(await whyNotApproved(fixture.context, plan.id, 'report')).toContain('(not before Friday)');
  expect(await revokedNames()).toEqual([]);
  await approveByReport(plan.id);
  expect(await whyNotApproved(fixture.context, plan.id, 'report')).toBeNull();
  await pass(0);
  expect(await revokedNames()).toEqual(['one']);
});

test("R5: an earlier approval of the same plan does not continue what stopped another approval of it, also if the database's clock was ahead", async () => {
  await prepare(['one', 'two', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  const second = await approveByReport(plan.id);
  await store.sql`update keywarden.plan_approval set approved_at = now() + interval '4 minutes'`;
  await endApproval(fixture.context.store.db, second ?? '', 'stopped');
  expect((await pass(0)).approved).toEqual([]);
  expect(await revokedNames()).toEqual([]);
  await approveByReport(plan.id);
  expect((await pass(0)).approved).toHaveLength(1);
});

test("a rejection that arrives during the command line prompt is not overruled by that person's answer", async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  const report = await store.as('keywarden_report');
  await rejectPlan(report.sql, { plan: plan.id, principal: await makePrincipal(store, 'grace'), reason: 'stop' });
  const approver = { via: 'command line', approvedBy: 'ada' } as const;
  const { connections } = fixture;
  const applied = await applyPlan(fixture.context, {
    planId: plan.id,
    items: plan.document.items,
    approver,
    connections,
  });
  expect(applied.stopped).toContain('rejected by grace');
  expect(await revokedNames()).toEqual([]);
});

/** Runs a statement right after the first outcome, as another process may. */
async function afterFirstOutcome(statement: string): Promise<void> {
  await store.sql.unsafe(`
    create function keywarden.after_one() returns trigger language plpgsql security definer as $$ begin ${statement}; return new; end $$;
    create trigger after_one after insert on keywarden.revocation_outcome for each row execute function keywarden.after_one()`);
}

test('a rejection takes effect between two keys of a plan that is being carried out', async () => {
  await prepare(['one', 'two', 'busy']);
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  await approveByReport(plan.id);
  const report = await store.as('keywarden_report');
  await afterFirstOutcome(
    `insert into keywarden.plan_rejection (plan_id, rejected_by, reason) values ('${plan.id}', 'grace', 'stop')`,
  );
  const [applied] = (await pass(0)).approved;
  await store.sql.unsafe('drop function keywarden.after_one() cascade');
  expect(applied?.stopped).toContain('rejected by grace (stop)');
  expect(await revokedNames()).toHaveLength(1);
  expect(await report.sql`select 1 from keywarden.standing_approval`).toHaveLength(0);
});

const opened = (kind: string) => `insert into keywarden.incident (kind, scope, detail) values ('${kind}', '', '{}')`;

test.each([
  ['R10: an older store', opened('high_water_mark'), 'an incident high_water_mark is open'],
  ['R10: another ledger', opened('ledger_inconsistent'), 'an incident ledger_inconsistent is open'],
  [
    'R6: another policy',
    `insert into keywarden.replica_policy (replica, policy_sha256) values (gen_random_uuid(), 'another')`,
    'replicas on this database use different policies',
  ],
])(
  '%s that another machine reports takes effect between two keys, too, and in the next pass',
  async (_what, report, why) => {
    await prepare(['one', 'two', 'busy']);
    await armMachine(fixture.context, 'ada');
    const plan = await makeStoredPlan();
    await approveByReport(plan.id);
    await afterFirstOutcome(report);
    const [applied] = (await pass(0)).approved;
    await store.sql.unsafe('drop function keywarden.after_one() cascade');
    expect(applied?.stopped).toContain(why);
    expect((await pass(0)).approved).toEqual([]);
    expect(await revokedNames()).toHaveLength(1);
  },
);
