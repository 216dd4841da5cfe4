import {
  apply,
  fixture,
  makeStoredPlan,
  outcomes,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { prepareBetween } from '@keywarden/testkit/daemon/between-fixture';
import { lateConnection } from '@keywarden/testkit/daemon/fixture';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { expect, test } from 'vitest';

// Revocations whose permit from the rate limiter comes late.

useApplyFixture();

const attempts = async () =>
  (
    await store.sql`select outcome, detail ->> 'why' as why from keywarden.revocation_outcome order by intent_number`
  ).map((row) => ({ ...row }));

test('R1: a revocation whose permit comes over a minute after the judgement is not sent', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const { late, permits } = lateConnection(fixture, () => Promise.resolve(), { lateMs: 61_000 });
  fixture.connections = [late];
  await apply(plan);
  expect(permits()).toBe(1);
  expect(await attempts()).toEqual([
    { outcome: 'not_revoked', why: expect.stringMatching(/^its permit came \d+ s after it was judged$/) },
  ]);
  expect(await revokedNames()).toEqual([]);
});

test("R1: a revocation is not sent if this machine's clock was set back after the judgement: its age is unknown", async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const { late } = lateConnection(fixture, () => Promise.resolve(), { lateMs: -3_600_000 });
  fixture.connections = [late];
  await apply(plan);
  expect(await attempts()).toEqual([
    { outcome: 'not_revoked', why: expect.stringMatching(/^its permit came 3[56]\d\d s after it was judged$/) },
  ]);
  expect(await revokedNames()).toEqual([]);
});

test('R1: a revocation whose last judgement waits for over a minute is not sent', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const locked = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  let blocking: Promise<unknown> | undefined;
  // From the permit on, the facts of the last judgement cannot be read. What comes before it reads another table.
  const { late } = lateConnection(fixture, async () => {
    blocking ??= store.sql.begin(async (tx) => {
      await tx`lock table keywarden.exemption_key in access exclusive mode`;
      locked.resolve();
      await isOver.promise;
    });
    await locked.promise;
  });
  let waitedMs = 0;
  fixture.connections = [{ ...late, time: { ...late.time, now: () => late.time.now() + waitedMs } }];
  const applied = apply(plan);
  await store.untilBlocked(applied).finally(() => {
    waitedMs = 61_000;
    isOver.resolve();
  });
  await Promise.all([applied, blocking]);
  expect((await attempts())[0]).toEqual({ outcome: 'not_revoked', why: expect.stringMatching(/after it was judged$/) });
});

test('a run whose database another version migrates meanwhile revokes nothing more', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  store.isTampered();
  const { late } = lateConnection(fixture, async () => {
    await store.sql`insert into keywarden.migration (hash, created_at) values ('of a newer version', 9e12)`;
  });
  fixture.connections = [late];
  expect((await apply(plan)).stopped).toMatch(/migrations, which do not match/);
  expect(await revokedNames()).toEqual([]);
});

test('a revocation that was never sent does not count as one that the control plane refused', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const exemptOne = async () =>
    await store.sql`
      with granted as (
        insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
      insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = 'one'`;
  const { late } = lateConnection(fixture, exemptOne);
  fixture.connections = [late];
  expect(outcomes(await apply(plan)).one).toMatch(/^skipped: exempt until/);
  expect(await attempts()).toEqual([{ outcome: 'not_revoked', why: expect.stringMatching(/^exempt until/) }]);
  const { keys } = await readFactsAt(fixture.context.store, new Date().toISOString());
  expect(keys.find(({ name }) => name === 'one')?.hasFailedLately).toBe(false);
});

test('a rejection that arrives while a revocation waits for its permit holds it back', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const reject = async () =>
    await store.sql`insert into keywarden.plan_rejection (plan_id, rejected_by, reason) values (${plan.id}, 'grace', 'stop')`;
  const { late } = lateConnection(fixture, reject);
  fixture.connections = [late];
  await apply(plan);
  expect(await attempts()).toEqual([{ outcome: 'not_revoked', why: expect.stringMatching(/was rejected by grace/) }]);
  expect(await revokedNames()).toEqual([]);
});
