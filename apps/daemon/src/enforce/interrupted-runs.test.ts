import { applyPlan, silentProgress } from '@keywarden/daemon';
import {
  apply,
  approveByReport,
  enforced,
  fixture,
  makeStoredPlan,
  outcomes,
  pass,
  prepare,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { changed, isKeyList, prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { applyCommand } from '../commands/apply.ts';
import { jobs } from '../schedule/jobs.ts';
import { armMachine, betweenMarks } from './high-water-mark.ts';

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

test('R7: a pass of enforcement that a signal stops is not done, and its job is handed back', async () => {
  await prepare(['one', 'two', 'busy']);
  await pass(0);
  await approveByReport((await makeStoredPlan()).id);
  const stopping = new AbortController();
  const stop = new Error('the process ends');
  const part = (label: string) => ({
    update: (index: number) => void (label.startsWith('plan ') && index === 1 && stopping.abort(stop)),
    end: () => undefined,
  });
  const context = { ...fixture.context, signal: stopping.signal, progress: { ...silentProgress, part } };
  await expect(jobs.enforce.run(context, ['main'])).rejects.toBe(stop);
  expect(await revokedNames()).toEqual(['one']);
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

/** Fills the disk of the store for one table. */
const fill = async (table: string) =>
  await store.sql.unsafe(`
    create function public.fill() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
    create trigger fill before insert on keywarden.${table} for each row execute function public.fill();
    grant execute on function public.fill() to keywarden_daemon`);

test('R5: after an approved plan whose response the store did not take, nothing is revoked automatically in that pass', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await approveByReport((await makeStoredPlan()).id);
  await fill('revocation_outcome');
  expect(await pass()).toMatchObject({
    approved: [{ items: [{ outcome: 'unknown' }], hasStoreFailed: true }],
    automatic: null,
    why: 'the store failed (53100); fix it, then apply the plan again',
  });
});

test('a run whose end the store does not record reports what it has revoked', async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  await fill('approval_end');
  expect(await apply(plan)).toMatchObject({
    items: [{ outcome: 'revoked' }],
    stopped: "the store failed (53100) while it recorded the plan's end",
    hasStoreFailed: true,
  });
});

test('apply prints what it has revoked although its machine can write no mark after that', async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  const { environment, progress } = fixture.context;
  const part: typeof progress.part = (...names) => ({
    ...progress.part(...names),
    // The plan has come to its end.
    end: () => Object.assign(environment, { KEYWARDEN_DATA: '/proc/self' }),
  });
  const context = { ...fixture.context, progress: { ...progress, part } };
  expect(await applyCommand.run?.(context as never, plan.id as never, { yes: true } as never)).toMatchObject({
    json: { changed: 1, stopped: null, failures: [expect.stringMatching(/high-water mark could not be updated/)] },
    text: expect.stringMatching(/1 key revoked, 0 not\.[^]*high-water mark could not be updated/),
    needsPerson: true,
  });
});

test('R4: a pass whose machine can write no mark after a revocation reports what it has revoked', async () => {
  await prepareBetween(['one', 'busy'], {
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
    rules: [{ ...neverUsedRule, mode: 'enforce' }],
  });
  await armMachine(fixture.context, 'ada');
  await pass();
  const { environment } = fixture.context;
  setBetween(async ({ method }, forward) => {
    const response = await forward();
    if (method === 'DELETE') environment.KEYWARDEN_DATA = '/proc/self';
    return response;
  });
  expect(await pass()).toMatchObject({
    automatic: { items: [{ outcome: 'revoked' }] },
    whyUnmarked: expect.stringMatching(/high-water mark could not be updated/),
  });
});

test('R4: the job of enforcement fails, and is retried, if the store took no outcome, or the machine can write no mark', async () => {
  await prepare(['one', 'two', 'busy']);
  await pass(0);
  const { environment } = fixture.context;
  const approve = async () => await approveByReport((await makeStoredPlan()).id);
  await approve();
  await fill('revocation_outcome');
  await expect(jobs.enforce.run(fixture.context, ['main'])).rejects.toThrow(
    /^Enforcement was cut short: the store failed \(53100\)/,
  );
  await store.sql`drop function public.fill cascade`;
  const fetchAndFill: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === 'DELETE') environment.KEYWARDEN_DATA = '/proc/self';
    return response;
  };
  const context = { ...fixture.context, fetch: fetchAndFill };
  await expect(jobs.enforce.run(context, ['main'])).rejects.toThrow(/high-water mark could not be updated/);
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('a change of a person whose machine can write no mark after it says that the change is done', async () => {
  await prepare(['one']);
  const { environment } = fixture.context;
  const change = betweenMarks(fixture.context, async () => {
    await Promise.resolve();
    environment.KEYWARDEN_DATA = '/proc/self';
  });
  await expect(change).rejects.toThrow(
    /^This was done, and need not be repeated\. The store's high-water mark could not be updated: The data folder \/proc\/self cannot be written/,
  );
});

test.each<[string, number | null, boolean]>([
  ['a later use than the list has', 61, true],
  ['no use at all', null, false],
])('R5: a revocation of a key that was used, answered with %s', async (_what, seconds, usedInFlight) => {
  await prepareBetween(['one', 'busy'], { rules: [{ name: 'unused', unused_for: '20d', action: 'revoke' }] });
  let createdMs = Number.NaN;
  /** Returns the time this long after the key was created. */
  const after = (secondsLater: number) => new Date(createdMs + secondsLater * 1000).toISOString();
  setBetween(async (request, forward) => {
    if (isKeyList(request))
      return await changed(forward, (rows) =>
        rows.map((row) => {
          if (row.name !== 'one') return row;
          createdMs = Date.parse(String(row.created_at));
          return { ...row, last_used_at: after(60) };
        }),
      );
    if (request.method !== 'DELETE') return await forward();
    const answer = await forward();
    const row = (await answer.json()) as object;
    const used = { ...row, last_used_at: seconds === null ? null : after(seconds) };
    return Response.json(used, { headers: answer.headers });
  });
  await pass();
  expect((await apply(await makeStoredPlan())).items).toMatchObject([{ outcome: 'revoked', usedInFlight }]);
});
