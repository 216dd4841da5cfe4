import {
  apply,
  approveByReport,
  enforced,
  fixture,
  makeStoredPlan,
  pass,
  prepare,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { expect, test } from 'vitest';
import { armMachine } from './high-water-mark.ts';

// When and how an approval ends. Only one that is done shows that a person has accepted what the plan flags, and closes breakers.

useApplyFixture();

const exempt = async (name: string) =>
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = ${name}`;

const ends = async () =>
  (await store.sql`select how from keywarden.approval_end order by approval_number`).map(({ how }) => String(how));

test.each<[string, string[], () => Promise<unknown>, string[]]>([
  ['revoked all of its keys is done', ['one', 'two'], () => Promise.resolve(), ['done']],
  ['revoked some of its keys, and found that the others stay, is done', ['one', 'two'], () => exempt('one'), ['done']],
  ['found that all of its keys stay has stopped', ['one'], () => exempt('one'), ['stopped']],
  ['had no key is done: a person has read its breakers', [], () => Promise.resolve(), ['done']],
])('R3: an approval whose run %s', async (_what, names, meanwhile, expected) => {
  await prepare([...names, 'busy']);
  const plan = await makeStoredPlan();
  await meanwhile();
  await apply(plan);
  expect(await ends()).toEqual(expected);
});

test('R3: an approval whose run could not try a key because the control plane was busy has not ended', async () => {
  await prepareBetween(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  const path = '/organizations/{org_id}/api_keys/{key_id}';
  await fixture.controls.setFaults([{ method: 'DELETE', path, times: 4, kind: 'status', status: 423 }]);
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['failed', 'revoked']);
  expect(await ends()).toEqual([]);
});

test('R3: an approval whose run was paused after its first key has not ended, and continues after that', async () => {
  await prepareBetween(['one', 'two', 'busy']);
  await pass(0);
  await approveByReport((await makeStoredPlan()).id);
  setBetween(async ({ method }, forward) => {
    if (method === 'DELETE') await store.sql`insert into keywarden.pause (paused_by) values ('ada')`;
    return await forward();
  });
  await pass(0);
  expect([await revokedNames(), await ends()]).toEqual([['one'], []]);
  setBetween(async (_request, forward) => await forward());
  await store.sql`update keywarden.pause set resumed_at = now(), resumed_by = 'ada'`;
  await pass(0);
  expect([await revokedNames(), await ends()]).toEqual([['one', 'two'], ['done']]);
});

test('an approval of the report whose keys are gone before its pass ends with that pass', async () => {
  await prepare(['one', 'busy']);
  await pass(0);
  const plan = await makeStoredPlan();
  await apply(plan);
  await approveByReport(plan.id);
  await pass(0);
  expect(await ends()).toEqual(['done', 'done']);
});

test('a pass of the policy with no key to revoke records no approval', async () => {
  await prepare(['busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  expect(await store.sql`select 1 from keywarden.plan_approval`).toHaveLength(0);
});

test('R5: while an incident of a use in flight is open, a person at the command line still revokes a key of its scope', async () => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  await store.sql`
    insert into keywarden.incident (kind, key_number, detail, scope)
    select 'used_in_flight', number, '{}', control_plane_number || '/' || scope from keywarden.key where name = 'busy'`;
  await apply(plan);
  expect(await revokedNames()).toEqual(['one']);
});
