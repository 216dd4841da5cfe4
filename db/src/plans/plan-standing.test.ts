import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  await store.sql`insert into keywarden.policy_version (sha256, document) values ('v', '{"second_person_above": 2}')`;
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count, policy_sha256, derived_from)
    select id, '', '{}', 2, 0, 0, 'v', 'p-whole' from unnest('{p-1,p-2}'::text[]) id`;
});
afterAll(async () => await store.close());

/** Returns how many persons the first part needs after these approvals; nothing of it stays. */
async function neededAfter(approvals: [plan: string, hoursAgo: number][]): Promise<unknown> {
  let needed: unknown;
  const undo = new Error('undo');
  const asked = store.sql.begin(async (tx) => {
    for (const [plan, hoursAgo] of approvals)
      await tx`insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at)
        values (${plan}, 'ada', 'report', now() - ${hoursAgo} * interval '1 hour')`;
    const [row] = await tx`select approvers_needed from keywarden.plan_standing where plan_id = 'p-1'`;
    needed = row?.approvers_needed;
    throw undo;
  });
  await expect(asked).rejects.toBe(undo);
  return needed;
}

test.each<[when: string, needed: number, ...approvals: [string, number][]]>([
  ['alone', 1, ['p-1', 1]],
  ['with another part that was approved within the day before it', 2, ['p-2', 24], ['p-1', 1]],
  ['with another part that was approved more than a day before it', 1, ['p-2', 26], ['p-1', 1]],
  ['before its own approval, with another part of the last day', 2, ['p-2', 23]],
  ['before its own approval, with another part of the day before', 1, ['p-2', 25]],
  ['approved again after another part, which counts with it', 1, ['p-1', 3], ['p-2', 2], ['p-1', 1]],
])('a part %s needs %i', async (_when, needed, ...approvals) => {
  expect(await neededAfter(approvals)).toBe(needed);
});
