import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { readStanding } from '../daemon.ts';

let store: TestStore;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count)
    select id, '', '{}', 1, 0, 0 from unnest('{p-1,p-2}'::text[]) id`;
});
afterEach(async () => await store.close());

/** What a person or the daemon does, hours ago: approves a plan, enforces or rejects it, or ends the approval of this place among the approvals. */
type Step =
  | ['approve' | 'enforce' | 'reject', plan: string, hoursAgo: number]
  | ['end', approval: number, hoursAgo: number];

async function take(steps: Step[]): Promise<void> {
  // One time for all of them, so that some are of the same instant.
  const nowMs = Date.now();
  for (const [does, what, hoursAgo] of steps) {
    const at = new Date(nowMs - hoursAgo * 3_600_000).toISOString();
    if (does === 'approve' || does === 'enforce')
      await store.sql`
        insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at)
        values (${what}, 'ada', ${does === 'approve' ? 'report' : 'enforcement'}, ${at})`;
    else if (does === 'reject')
      await store.sql`
        insert into keywarden.plan_rejection (plan_id, rejected_by, reason, rejected_at) values (${what}, 'bob', 'not now', ${at})`;
    else await store.sql`insert into keywarden.approval_end values (${what}, 'done', ${at})`;
  }
}

test.each<[string, Step[], string[]]>([
  ['of the last day stands', [['approve', 'p-1', 23]], ['1']],
  ['is over after a day', [['approve', 'p-1', 25]], []],
  ['of the policy is none of a person', [['enforce', 'p-1', 2]], []],
  ['that a clock dated ahead does not count', [['approve', 'p-1', -0.2]], []],
  [
    'stands after an earlier rejection',
    [
      ['reject', 'p-1', 3],
      ['approve', 'p-1', 2],
    ],
    ['1'],
  ],
  [
    'is over with a rejection of the same instant',
    [
      ['approve', 'p-1', 2],
      ['reject', 'p-1', 2],
    ],
    [],
  ],
  [
    'stands if another plan is rejected',
    [
      ['approve', 'p-1', 2],
      ['reject', 'p-2', 1],
    ],
    ['1'],
  ],
  [
    'is over with its own end',
    [
      ['approve', 'p-1', 2],
      ['end', 1, 1],
    ],
    [],
  ],
  [
    'is over with its own end, also by a clock that was set back',
    [
      ['approve', 'p-1', 2],
      ['end', 1, 3],
    ],
    [],
  ],
  [
    'stands if one of another plan has ended',
    [
      ['approve', 'p-2', 3],
      ['approve', 'p-1', 2],
      ['end', 1, 1],
    ],
    ['2'],
  ],
  [
    'is over if an earlier one ends after it',
    [
      ['approve', 'p-1', 3],
      ['approve', 'p-1', 2],
      ['end', 1, 1],
    ],
    [],
  ],
  [
    'is over if an earlier one ends at its instant',
    [
      ['approve', 'p-1', 3],
      ['approve', 'p-1', 2],
      ['end', 1, 2],
    ],
    [],
  ],
  [
    'stands if an earlier one ended before it',
    [
      ['approve', 'p-1', 3],
      ['end', 1, 2],
      ['approve', 'p-1', 1],
    ],
    ['2'],
  ],
  [
    'stands if an automatic one of its plan ends',
    [
      ['enforce', 'p-1', 3],
      ['approve', 'p-1', 2],
      ['end', 1, 1],
    ],
    ['2'],
  ],
  [
    'stands if an earlier one is stopped that a clock dated ahead',
    [
      ['approve', 'p-1', -1],
      ['approve', 'p-1', 2],
      ['end', 1, 1],
    ],
    ['2'],
  ],
  [
    'is over if a later one ends',
    [
      ['approve', 'p-1', 3],
      ['approve', 'p-1', 2],
      ['end', 2, 1],
    ],
    [],
  ],
  [
    'is over if a later one ends, also by a clock that was set back',
    [
      ['approve', 'p-1', 3],
      ['approve', 'p-1', 2],
      ['end', 2, 4],
    ],
    [],
  ],
])('an approval %s', async (_name, steps, standing) => {
  await take(steps);
  const rows = await store.sql`select number from keywarden.standing_approval order by number`;
  expect(rows.map(({ number }) => String(number))).toEqual(standing);
});

test('a person is one with two tokens and the command line; a name that only contains the words of a token is another', async () => {
  const names = ['ada', 'ada (report token 7)', 'ada (report token 8)', 'ada (report token 7) deputy'];
  for (const name of names)
    await store.sql`insert into keywarden.plan_approval (plan_id, approved_by, via) values ('p-1', ${name}, 'report')`;
  const rows = await store.sql`select person from keywarden.standing_approval order by number`;
  expect(rows.map(({ person }) => String(person))).toEqual(['ada', 'ada', 'ada', names[3]]);
  expect(await store.sql`select approvers from keywarden.plan_standing where plan_id = 'p-1'`).toEqual([
    { approvers: 2 },
  ]);
});

const isRejected = async () => (await readStanding(store.sql, 'p-1')).rejection !== null;

test.each<[string, Step[], boolean]>([
  [
    'is overruled by a later approval in the report, also once that was carried out',
    [
      ['reject', 'p-1', 3],
      ['approve', 'p-1', 2],
      ['end', 1, 1],
    ],
    false,
  ],
  [
    'is not overruled by an approval of its instant, an automatic one, and one of another plan',
    [
      ['reject', 'p-1', 2],
      ['approve', 'p-1', 2],
      ['enforce', 'p-1', 1],
      ['approve', 'p-2', 1],
    ],
    true,
  ],
  [
    'is not overruled by an approval that a clock dates ahead',
    [
      ['reject', 'p-1', 2],
      ['approve', 'p-1', -0.2],
    ],
    true,
  ],
  [
    'is not overruled by an approval that a clock dated ahead and that has ended before its time',
    [
      ['reject', 'p-1', 3],
      ['approve', 'p-1', 1],
      ['end', 1, 2],
    ],
    true,
  ],
])('a rejection %s', async (_name, steps, stands) => {
  await take(steps);
  expect(await isRejected()).toBe(stands);
});

test('a rejection stands again once the token of each approval that overruled it is revoked', async () => {
  const tokens = [await makePrincipal(store, 'mallory'), await makePrincipal(store, 'ada')].map(({ token }) => token);
  await take([['reject', 'p-1', 2]]);
  await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via)
    select 'p-1', name || ' (report token ' || number || ')', 'report' from keywarden.report_token`;
  for (const [index, token] of tokens.entries()) {
    expect([index, await isRejected()]).toEqual([index, false]);
    await store.sql`update keywarden.report_token set revoked_at = now() where number = ${token}`;
  }
  expect(await isRejected()).toBe(true);
});

test('a rejection has the current time, also if approvals of other plans, or of a clock that was far ahead, are later', async () => {
  await take([
    ['approve', 'p-1', -0.05],
    ['approve', 'p-2', -10],
  ]);
  const { credential } = await makePrincipal(store, 'olga');
  const { sql } = await store.as('keywarden_report');
  await sql`select keywarden.reject_plan(${credential}, 'p-2', 'not now')`;
  const rows = await store.sql`select rejected_at <= clock_timestamp() as is_over from keywarden.plan_rejection`;
  expect(rows).toEqual([{ is_over: true }]);
});
