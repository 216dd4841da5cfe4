import { applyPlan } from '@keywarden/daemon';
import {
  apply,
  fixture,
  makeStoredPlan,
  outcomes,
  prepare,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';

// Runs that end before their last key.

useApplyFixture();

/** Applies a plan of two keys. From the call for the first one on, another process holds the lock of the quota; `onWait` runs once the second key waits for it. */
async function applyWhileLocked(onWait: () => void, signal: AbortSignal) {
  await prepareBetween(['one', 'two', 'busy'], { quotas: { per_day: 5 }, rules: [neverUsedRule] });
  const { id, document } = await makeStoredPlan();
  const other = await store.as('keywarden_daemon');
  const isOver = Promise.withResolvers<void>();
  let holding: Promise<void> | undefined;
  setBetween(async ({ method }, forward) => {
    const response = await forward();
    if (method !== 'DELETE') return response;
    const isHeld = Promise.withResolvers<void>();
    holding = other.locks.hold('daily quota', fixture.context, async () => {
      isHeld.resolve();
      await isOver.promise;
    });
    await isHeld.promise;
    return response;
  });
  const { context, connections } = fixture;
  const applied = await applyPlan(
    { ...context, signal, progress: { ...context.progress, note: onWait } },
    { planId: id, items: document.items, approver: { via: 'command line', approvedBy: 'ada' }, connections },
  ).finally(() => isOver.resolve());
  await holding;
  return applied;
}

test('R7: a signal that ends the wait for another process stops the run, which reports what it has revoked', async () => {
  const asked = new AbortController();
  const applied = await applyWhileLocked(() => asked.abort(new Error('stopped')), asked.signal);
  expect(applied).toMatchObject({
    items: [{ outcome: 'revoked' }],
    untried: 1,
    stopped: 'stopped by a signal',
  });
});

test('R7: a run that loses its locks while it waits for another one stops, and reports what it has revoked', async () => {
  const loseLocks = async () =>
    await store.sql`
      select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`;
  let losing: Promise<unknown> | undefined;
  const applied = await applyWhileLocked(() => void (losing ??= loseLocks()), new AbortController().signal);
  await losing;
  expect(applied).toMatchObject({
    items: [{ outcome: 'revoked' }, { outcome: 'unknown' }],
    stopped: 'the store failed (lock_lost); fix it, then apply the plan again',
    hasStoreFailed: true,
  });
});

const path = '/organizations/{org_id}/api_keys/{key_id}';

test('R7: a run that a signal stops says so, also while the outcome of an earlier call is open', async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([{ method: 'DELETE', path, times: 1, kind: 'lose_response' }]);
  expect(outcomes(await apply(plan)).one).toMatch(/^unknown: /);
  expect(await apply(plan, { signal: AbortSignal.abort() })).toMatchObject({
    items: [],
    stopped: 'stopped by a signal',
  });
});

test('R7: a credential that is refused by a revocation itself stops its connection, too', async () => {
  await prepare(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([{ method: 'DELETE', path, times: 1, kind: 'status', status: 401 }]);
  expect(outcomes(await apply(plan))).toEqual({
    one: expect.stringMatching(/^failed: /),
    two: expect.stringMatching(/no configured connection has listed its scope with a credential that works/),
  });
  expect(await revokedNames()).toEqual([]);
});

test('a run whose end the store does not record reports what it has revoked', async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  await store.sql.unsafe(`
    create function public.fill() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
    create trigger fill before insert on keywarden.approval_end for each row execute function public.fill();
    grant execute on function public.fill() to keywarden_daemon`);
  expect(await apply(plan)).toMatchObject({
    items: [{ outcome: 'revoked' }],
    stopped: "the store failed (53100) while it recorded the plan's end",
    hasStoreFailed: true,
  });
});
