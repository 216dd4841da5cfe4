import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../daemon.ts';

let store: TestStore;

/** The keys of plans under a policy with `second_person_above: 2`. A key is found by two rules. */
const plans = { asked: '1', same: '1', other: '2', both: '1,2', rest: '2,3', all: '1,2,3' };

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  const at = '2026-05-31T00:00:00Z';
  await saveKeyListing(store.sql, {
    controlPlane: await makeControlPlane(store.sql),
    scope: 'user',
    organizationId: null,
    connection: 'main',
    run: null,
    listedAt: at,
    begunAt: at,
    keys: ['1', '2', '3'].map((id) => makeWireKey(id)),
  });
  await store.sql`insert into keywarden.policy_version (sha256, document) values ('v', '{"second_person_above": 2}')`;
  await store.sql`insert into keywarden.report_token (name, token_hash, role) values ('grace', 'g', 'operator')`;
  for (const [id, keys] of Object.entries(plans))
    await store.sql`
      with plan as (
        insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count, policy_sha256)
        values (${id}, '', '{}', ${keys.split(',').length}, 0, 0, 'v') returning *
      )
      insert into keywarden.finding (plan_id, key_number, rule, action, disposition, rule_limit, evidence, reason)
      select plan.id, k.number, rule, 'revoke', 'planned', '', '{}', ''
      from plan, keywarden.key k, unnest('{one,two}'::text[]) rule where k.id = any(string_to_array(${keys}, ','))`;
});
afterAll(async () => await store.close());

type Approval = [plan: keyof typeof plans, hoursAgo: number, by?: string];

/** Returns how many persons the plan `asked` needs after these approvals, or another plan; nothing of it stays. */
async function neededAfter(approvals: Approval[], of: keyof typeof plans = 'asked'): Promise<unknown> {
  let needed: unknown;
  const undo = new Error('undo');
  const asked = store.sql.begin(async (tx) => {
    for (const [plan, hoursAgo, by = 'ada'] of approvals)
      await tx`insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at)
        values (${plan}, ${by}, ${by === 'policy' ? 'enforcement' : 'report'}, now() - ${hoursAgo} * interval '1 hour')`;
    await tx`update keywarden.report_token set revoked_at = now() where ${approvals.some(([, , by]) => by === revoked)}`;
    const [row] = await tx`select approvers_needed from keywarden.plan_standing where plan_id = ${of}`;
    needed = row?.approvers_needed;
    throw undo;
  });
  await expect(asked).rejects.toBe(undo);
  return needed;
}

const revoked = 'grace (report token 1)';

test.each<[when: string, needed: number, ...approvals: Approval[]]>([
  ['alone', 1, ['asked', 1]],
  ['with one of as many keys as one person may approve', 1, ['other', 2], ['asked', 1]],
  ['with two others', 2, ['rest', 24], ['asked', 1]],
  ['with others that were approved more than a day before it', 1, ['rest', 26], ['asked', 1]],
  ['before its own approval, with others of the last day', 2, ['rest', 23]],
  ['before its own approval, with others of the day before', 1, ['rest', 25]],
  ['approved again after others, which count with it', 1, ['asked', 3], ['rest', 2], ['asked', 1]],
  ['with a plan of the same key, which counts once', 1, ['same', 3], ['both', 2], ['asked', 1]],
  ['with a plan that waits for its second person', 2, ['all', 2], ['asked', 1]],
  ['with others that two persons approved', 1, ['rest', 3], ['rest', 2, 'bob'], ['asked', 1]],
  ['with others that one person approved twice', 2, ['rest', 3], ['rest', 2, 'ada (report token 7)'], ['asked', 1]],
  [
    'with others that one person and a token which is revoked approved',
    2,
    ['rest', 3],
    ['rest', 2, revoked],
    ['asked', 1],
  ],
  ['after its own keys were revoked automatically, with others since', 2, ['asked', 3, 'policy'], ['rest', 2]],
  ['with others that were revoked automatically', 1, ['rest', 2, 'policy'], ['asked', 1]],
])('a plan of one key %s needs %i', async (_when, needed, ...approvals) => {
  expect(await neededAfter(approvals)).toBe(needed);
});

test('a plan of more keys needs two, also if two persons approved all of these keys in other plans', async () => {
  expect(await neededAfter([], 'all')).toBe(2);
  expect(
    await neededAfter(
      [
        ['all', 2],
        ['all', 2, 'bob'],
      ],
      'both',
    ),
  ).toBe(1);
  expect(
    await neededAfter(
      [
        ['both', 2],
        ['both', 2, 'bob'],
        ['rest', 2],
        ['rest', 2, 'bob'],
      ],
      'all',
    ),
  ).toBe(2);
});
