import { collect } from '@keywarden/core/client';
import { closeIncidents, endPause, listIncidents, openPause } from '@keywarden/db/daemon';
import { until } from '@keywarden/testkit';
import {
  apply,
  fixture,
  makeStoredPlan,
  organization,
  outcomes,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { plain, prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { connectionOf } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { renderApplied } from '../commands/applied.ts';
import { syncKeys } from '../sync/keys.ts';
import { applyPlan } from './apply.ts';

useApplyFixture();

const revocation = '/organizations/{org_id}/api_keys/{key_id}';

test('R4: a lost response leaves the intent open; two listings show that the key is gone, and it is not called again', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const fault = { method: 'DELETE', path: revocation, times: 1 };
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  const applied = await apply(plan);
  expect(outcomes(applied).idle).toMatch(/^unknown: /);
  expect(outcomes(applied).forgotten).toBe('revoked');
  await syncKeys(fixture.context, connectionOf(fixture));
  await fixture.controls.advance(3600);
  await fixture.reconnect();
  await syncKeys(fixture.context, connectionOf(fixture));
  const rows = await store.sql`
    select k.name, o.outcome from keywarden.revocation_intent i join keywarden.key k on k.number = i.key_number
    left join keywarden.revocation_outcome o on o.intent_number = i.number order by i.number`;
  expect(rows.map((row) => [row.name, row.outcome])).toEqual([
    ['idle', 'gone'],
    ['forgotten', 'revoked'],
  ]);
  expect(await apply(plan)).toMatchObject({ doneBefore: 2, items: [] });
});

test('R5: a use that the revocation response reveals stops the run', async () => {
  const { idle } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  // The call waits a moment at the control plane, and the key is used in that moment.
  await fixture.controls.setFaults([
    { method: 'DELETE', path: revocation, kind: 'latency', latency_ms: 1500, times: 1 },
  ]);
  const applying = apply(plan);
  await until(async () => (await store.sql`select 1 from keywarden.revocation_intent`).length > 0);
  await use(idle?.key ?? '');
  const applied = await applying;
  expect(applied.items.map(({ item, outcome, usedInFlight }) => [item.key.name, outcome, usedInFlight])).toEqual([
    ['idle', 'revoked', true],
  ]);
  const [incident] = await listIncidents(fixture.context.store.db, { isOpen: true, limit: 10 });
  expect(incident).toMatchObject({ kind: 'used_in_flight', key: { name: 'idle' }, plan_id: plan.id });
  const { db } = fixture.context.store;
  const close = async () =>
    await closeIncidents(db, { number: incident?.id ?? '' }, { by: 'ada', note: 'a forgotten cron job' });
  expect(await close()).toBe(true);
  expect(await listIncidents(db, { isOpen: true, limit: 10 })).toEqual([]);
  expect(await close()).toBe(false);
  expect(applied.stopped).toMatch(/was used between its last listing and its revocation/);
  expect(await revokedNames()).toEqual(['idle']);
});

test("R7: one key's failure does not stop the others, and it may be tried again", async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([{ method: 'DELETE', path: revocation, kind: 'status', status: 403, times: 1 }]);
  const applied = await apply(plan);
  expect(outcomes(applied)).toMatchObject({ forgotten: 'revoked' });
  expect(outcomes(applied).idle).toMatch(/^failed: .*403/);
  expect(outcomes(await apply(plan))).toEqual({ idle: 'revoked' });
});

test('two concurrent applies of the same plan revoke each key once', async () => {
  await prepare(['one', 'two', 'three', 'busy']);
  const plan = await makeStoredPlan();
  const both = await Promise.all([apply(plan), apply(plan)]);
  const revoked = both.flatMap(({ items }) => items).filter((each) => each.outcome === 'revoked');
  expect(revoked.map(({ item }) => item.key.name).toSorted()).toEqual(['one', 'three', 'two']);
  const [intents] = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(intents?.n).toBe(3);
});

test('R4: a key with an unsettled attempt is not tried until five minutes later, and the message says so', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([{ method: 'DELETE', path: revocation, kind: 'drop', times: 1 }]);
  expect(outcomes(await apply(plan)).idle).toMatch(/decide its outcome/);
  const listLater = async (time: string) => {
    await store.sql`
      update keywarden.revocation_intent set created_at = now() - ${time}::interval, judged_at = judged_at - ${time}::interval`;
    await syncKeys(fixture.context, connectionOf(fixture));
  };
  await listLater('4 minutes');
  expect(outcomes(await apply(plan)).idle).toMatch(/unsettled; wait five minutes, run keywarden sync keys/);
  expect(await revokedNames()).toEqual([]);
  await listLater('6 minutes');
  expect(outcomes(await apply(plan)).idle).toBe('revoked');
});

test('R4: a response that does not confirm the revocation of this very key is unknown', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  const connection = connectionOf(fixture);
  const { client } = connection;
  for (const answer of [{ revoked: false }, { id: '4711' }]) {
    // A control plane with an odd response that the sandbox never gives: the true response with one field changed.
    const odd: typeof client = {
      ...client,
      revokeOrganizationKey: async (_organization, id) => ({ ...(await listed(id)), revoked: true, ...answer }),
    };
    const applied = await applyPlan(fixture.context, {
      planId: plan.id,
      items: plan.document.items,
      approver: { via: 'command line', approvedBy: 'ada' },
      connections: [{ ...connection, client: odd }],
    });
    expect(applied.items.map(({ outcome }) => outcome)).toEqual(['unknown']);
    expect(await revokedNames()).toEqual([]);
    store.isTampered();
    await store.sql`delete from keywarden.revocation_intent`;
  }

  async function listed(id: string) {
    const { items } = await collect(client.organizationKeys(organization));
    const found = items.find((key) => key.id === id);
    if (found === undefined) throw new Error('the key is not listed');
    return found;
  }
});

test('R7: a refused credential stops its connection; the rest of the plan is not tried with it', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const fault = { path: '/organizations/{org_id}/api_keys', kind: 'status', times: 1 } as const;
  await fixture.controls.setFaults([{ ...fault, status: 401 }]);
  const applied = outcomes(await apply(plan));
  expect(applied.idle).toMatch(/could not be listed again/);
  expect(applied.forgotten).toMatch(/no configured connection has listed its scope with a credential that works/);
  await fixture.controls.setFaults([{ ...fault, status: 403 }]);
  expect(outcomes(await apply(plan))).toEqual({
    idle: expect.stringContaining('could not be listed again'),
    forgotten: 'revoked',
  });
});

test('R4: if a revocation is answered and not done, later listings open an incident, and a later plan revokes the key', async () => {
  const { one } = await prepareBetween(['one', 'busy']);
  const nothing = { id: Number(one?.id), name: 'one', revoked: true, last_used_at: null, last_used_from_addr: '' };
  setBetween(async ({ method }, forward) =>
    method === 'DELETE'
      ? Response.json(nothing, { headers: { date: (await fetch(fixture.sandbox.url)).headers.get('date') ?? '' } })
      : await forward(),
  );
  expect(outcomes(await apply(await makeStoredPlan())).one).toBe('revoked');
  setBetween(plain);
  await store.sql`update keywarden.revocation_outcome set at = at - interval '1 hour'`;
  for (let listings = 0; listings < 2; listings += 1) {
    await fixture.controls.advance(3600);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
  }
  const [incident] = await listIncidents(fixture.context.store.db, { isOpen: true, limit: 9 });
  expect(incident).toMatchObject({ kind: 'revocation_undone', key: { name: 'one' } });
  expect(await revokedNames()).toEqual([]);
  expect(outcomes(await apply(await makeStoredPlan())).one).toBe('revoked');
  expect(await revokedNames()).toEqual(['one']);
});

test('R7: a run that has lost its lock stops, and says that the store failed, not that a signal stopped it', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const lost = Object.assign(new Error('the session has ended'), { code: 'lock_lost' });
  expect(await apply(plan, { signal: AbortSignal.abort(lost) })).toMatchObject({
    untried: 2,
    stopped: 'the store failed (lock_lost); fix it, then apply the plan again',
    hasStoreFailed: true,
  });
  expect(await apply(plan, { signal: AbortSignal.abort() })).toMatchObject({ stopped: 'stopped by a signal' });
  expect(await revokedNames()).toEqual([]);
});

const lock = { signal: new AbortController().signal };

test('R7: a pause stops every revocation, and resume allows it again', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const { db } = fixture.context.store;
  expect(await openPause(fixture.context.store, { by: 'ada', reason: 'an outage' }, lock)).toBe(true);
  expect(await openPause(fixture.context.store, { by: 'bo', reason: null }, lock)).toBe(false);
  expect(await apply(plan)).toMatchObject({ items: [], stopped: expect.stringMatching(/paused by ada .*an outage/) });
  expect(await revokedNames()).toEqual([]);
  expect(await endPause(db, 'ada')).toBe(true);
  expect(await endPause(db, 'ada')).toBe(false);
  expect(outcomes(await apply(plan))).toEqual({ idle: 'revoked', forgotten: 'revoked' });
});

test('R7: a pause waits for the call in progress, and no call follows it', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([{ method: 'DELETE', path: revocation, kind: 'latency', latency_ms: 1000 }]);
  const applying = apply(plan);
  await until(async () => (await store.sql`select 1 from keywarden.revocation_intent`).length > 0);
  await openPause(fixture.context.store, { by: 'ada', reason: null }, lock);
  const atPause = await revokedNames();
  expect(atPause).toHaveLength(1);
  const open = await store.sql`
    select 1 from keywarden.revocation_intent i left join keywarden.revocation_outcome o on o.intent_number = i.number
    where o.intent_number is null`;
  expect(open).toHaveLength(0);
  await applying;
  expect(await revokedNames()).toEqual(atPause);
});

test('if the store fails between two keys, the outcome of the first is reported, and the next apply continues', async () => {
  await prepare(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  await store.sql.unsafe(`
    create function public.reads() returns boolean language plpgsql security definer as $$
    begin
      if exists (select from keywarden.revocation_outcome) then raise exception 'the disk fails' using errcode = '58030'; end if;
      return true;
    end $$;
    alter view keywarden.plan_standing rename to kept_standing;
    create view keywarden.plan_standing as select * from keywarden.kept_standing where public.reads();
    grant select on keywarden.plan_standing to keywarden_daemon`);
  const applied = await apply(plan);
  expect(applied.stopped).toMatch(/^the store failed \(58030\)/);
  expect(applied.items.map(({ outcome }) => outcome)).toEqual(['revoked']);
  expect(renderApplied(applied)).toContain('1 key revoked, 0 not, 1 not tried.');
  await store.sql.unsafe(
    'drop view keywarden.plan_standing; alter view keywarden.kept_standing rename to plan_standing',
  );
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['revoked']);
});

test('two applies of one plan: the second one reports that the first has ended', async () => {
  await prepare(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  const both = await Promise.all([apply(plan), apply(plan)]);
  expect((await revokedNames()).toSorted()).toEqual(['one', 'two']);
  for (const { stopped } of both) expect(stopped ?? 'the approval of plan').toMatch(/^the approval of plan/);
});

test('if the store is full during an apply, the outcome of each key is reported, and the next apply continues', async () => {
  await prepare(['one', 'two', 'three', 'busy']);
  const plan = await makeStoredPlan();
  await store.sql.unsafe(`
    create sequence public.outcomes;
    create function public.fill() returns trigger language plpgsql as $$
    begin
      if nextval('public.outcomes') = 2 then raise exception 'could not extend file' using errcode = '53100'; end if;
      return new;
    end $$;
    create trigger fill before insert on keywarden.revocation_outcome for each row execute function public.fill();
    grant usage on sequence public.outcomes to keywarden_daemon;
    grant execute on function public.fill() to keywarden_daemon`);
  const applied = await apply(plan);
  expect(applied.stopped).toMatch(/^the store failed \(53100\)/);
  expect(applied.items.map(({ outcome }) => outcome)).toEqual(['revoked', 'unknown']);
  expect(await revokedNames()).toHaveLength(2);
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '10 minutes'`;
  for (let listings = 0; listings < 2; listings += 1) {
    await fixture.controls.advance(3600);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
  }
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['revoked']);
});

test('R5, R7: answers to revocations whose texts no store has a place for are recorded, and the run goes on', async () => {
  await prepareBetween(['one', 'two', 'three', 'busy']);
  const plan = await makeStoredPlan();
  let calls = 0;
  setBetween(async ({ method }, forward) => {
    if (method !== 'DELETE') return await forward();
    calls += 1;
    const odd = `\0${'x'.repeat(calls === 1 ? 440 : 1)}${'\u{1F511}'.repeat(50)}`;
    if (calls < 3) return Response.json({ message: odd }, { status: 400 });
    const answer = await forward();
    const row = (await answer.json()) as object;
    return Response.json({ ...row, last_used_from_addr: odd }, { headers: answer.headers });
  });
  const applied = await apply(plan);
  expect(applied.items.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'revoked']);
  const recorded = await store.sql`select outcome from keywarden.revocation_outcome order by 1`;
  expect(recorded.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'revoked']);
});
