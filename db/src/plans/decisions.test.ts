import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Principal } from '../report.ts';
import type { Store } from '../store.ts';

let store: TestStore;
let report: Store;
let operator: Principal;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
  operator = await makePrincipal(store, 'olga');
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count, last_made_at)
    select id, '', '{}', 1, 0, 0, now() - interval '1 hour' from unnest('{p-old,p-new}'::text[]) id`;
});
afterAll(async () => await store.close());

const make = async (plan: string, change: string) =>
  await store.sql`update keywarden.plan set last_made_at = clock_timestamp() + ${change}::interval where id = ${plan}`;

test('also in a transaction that began long before, only the newest plan is approved, within a day', async () => {
  await report.sql.begin(async (tx) => {
    const approve = async (plan: string) =>
      (await tx`select keywarden.approve_plan(${operator.credential}, ${plan}) as number`)[0]?.number;
    // The latest time that is not ahead of the clock. It is ahead of the transaction's now().
    await make('p-new', '5 minutes');
    expect(await approve('p-old')).toBeNull();
    expect(await approve('p-new')).not.toBeNull();
    await make('p-old', '-25 hours');
    await make('p-new', '-24 hours');
    expect(await approve('p-new')).toBeNull();
  });
});

test("no plan is approved or divided while each was made when the database's clock was ahead", async () => {
  for (const plan of ['p-old', 'p-new']) await make(plan, '1 day');
  await store.sql`
    insert into keywarden.plan (id, sha256, approves, policy_sha256, document, item_count, held_count, reported_count, last_made_at)
    values ('p-ahead', '', '', 'v', '{"items": [{"key": {"number": "1"}, "sha256": ""}]}', 1, 0, 0, now() + interval '1 day')`;
  const { credential } = operator;
  for (const call of ["approve_plan($1, 'p-ahead')", "derive_plan($1, 'p-ahead', '{1}')"])
    expect(await report.sql.unsafe(`select keywarden.${call} as made`, [credential])).toEqual([{ made: null }]);
});

test("a rejection is not dated by an approval of a time when the database's clock was ahead: a later approval stands", async () => {
  await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values ('p-old', 'ada', 'report', now() + interval '1 day')`;
  await report.sql`select keywarden.reject_plan(${operator.credential}, 'p-old', 'not now')`;
  await make('p-new', '-2 days');
  await make('p-old', '0');
  const [approval] = await report.sql`select keywarden.approve_plan(${operator.credential}, 'p-old') as number`;
  const standing = await store.sql`select number from keywarden.standing_approval where plan_id = 'p-old'`;
  expect(standing).toEqual([approval]);
});

test('a rejection overrules each approval that counts, also those of a clock that was minutes ahead', async () => {
  await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at)
    select 'p-new', 'ada', 'report', now() + minutes * interval '1 minute' from unnest('{1,4}'::int[]) minutes`;
  await report.sql`select keywarden.reject_plan(${operator.credential}, 'p-new', 'not now')`;
  expect(await store.sql`select number from keywarden.standing_approval where plan_id = 'p-new'`).toEqual([]);
  const rejections = await store.sql`select rejected_by from keywarden.plan_rejection where plan_id = 'p-new'`;
  expect(rejections).toEqual([{ rejected_by: `olga (report token ${operator.token})` }]);
});

test('an approval follows all others, also those of a clock that was minutes ahead', async () => {
  await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values ('p-old', 'bob', 'report', now() + interval '4 minutes')`;
  await make('p-new', '0');
  const [approval] = await report.sql`select keywarden.approve_plan(${operator.credential}, 'p-new') as number`;
  const [follows] = await store.sql`
    select approved_at > (select approved_at from keywarden.plan_approval where approved_by = 'bob') as follows
    from keywarden.plan_approval where number = ${String(approval?.number)}`;
  expect(follows).toEqual({ follows: true });
});
