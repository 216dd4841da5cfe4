import { makePlan, policySchema } from '@keywarden/core/policy';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { savePlan } from './plans.ts';

test('of processes that save plans of a new policy at once, one records that it is in force', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const [one, other] = [await store.as('keywarden_daemon'), await store.as('keywarden_daemon')];
  const policyOf = (name: string) => policySchema.parse({ rules: [{ name, never_used_for: '30d', action: 'revoke' }] });
  const [former, next] = [policyOf('a'), policyOf('b')];
  const facts = await readFactsAt(one, '2026-06-01T00:00:00Z');
  const save = async ({ sql }: typeof one, policy: typeof next) => await savePlan(sql, makePlan(policy, facts), policy);
  await save(one, next);
  await save(one, former);
  const work: Promise<boolean>[] = [];
  await store.sql.begin(async (tx) => {
    // A plan waits for its row.
    await tx`select from keywarden.plan order by id for update`;
    work.push(save(one, next), save(other, next));
    await store.untilBlocked(...work);
  });
  await Promise.all(work);
  const inForce = await store.sql`select policy_sha256 from keywarden.policy_in_force order by number`;
  const [first, second] = [next, former].map((policy) => makePlan(policy, facts).document.policy_sha256);
  expect(inForce.map((row) => row.policy_sha256)).toEqual([first, second, first]);
  await store.close();
});
