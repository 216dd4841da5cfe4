import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../listings/save.ts';
import { readAcknowledged } from './of-keys.ts';

let store: TestStore;
let plans = 0;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  const place = { scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  const controlPlane = await makeControlPlane(store.sql);
  const at = '2026-06-01T00:00:00Z';
  await saveKeyListing(store.sql, { ...place, controlPlane, listedAt: at, begunAt: at, keys: [makeWireKey('1')] });
});
afterAll(async () => await store.close());

const seen = { via: 'command line', how: 'done', daysAgo: 1, isFormer: false };
const planned = { action: 'revoke', disposition: 'planned', inBreaker: false };

test.each<[string, { approval?: Partial<typeof seen>; finding?: Partial<typeof planned> }, boolean]>([
  ['a plan that a person had carried out', {}, true],
  ['one that was approved in the report', { approval: { via: 'report' } }, true],
  ['one that the policy carried out', { approval: { via: 'enforcement' } }, false],
  ['one whose run was stopped', { approval: { how: 'stopped' } }, false],
  ['one under a former policy', { approval: { isFormer: true } }, false],
  ['one of 89 days ago', { approval: { daysAgo: 89 } }, true],
  ['one of 91 days ago', { approval: { daysAgo: 91 } }, false],
  ['one whose open breaker counted the key', { finding: { disposition: 'held', inBreaker: true } }, true],
  ['one that held the key for another reason', { finding: { disposition: 'held' } }, false],
  ['one that only reported the key', { finding: { action: 'report', disposition: 'reported' } }, false],
])('R3: whether a breaker still counts a key after %s', async (_name, { approval, finding }, isAcknowledged) => {
  const { via, how, daysAgo, isFormer } = { ...seen, ...approval };
  const { action, disposition, inBreaker } = { ...planned, ...finding };
  plans += 1;
  const [id, policy] = [`p-${plans}`, `v-${plans}`];
  await store.sql`insert into keywarden.policy_version (sha256, document) values (${policy}, '{}')`;
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count, policy_sha256)
    values (${id}, '', '{}', 1, 0, 0, ${policy})`;
  await store.sql`
    insert into keywarden.finding (plan_id, key_number, rule, action, disposition, in_breaker, rule_limit, evidence, reason, made_at)
    select p.id, k.number, 'unused', ${action}, ${disposition}, ${inBreaker}, '', '{}', 'x', p.findings_at from keywarden.plan p, keywarden.key k
    where p.id = ${id}`;
  const at = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  await store.sql`
    with approved as (
      insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values (${id}, 'ada', ${via}, ${at}) returning number)
    insert into keywarden.approval_end (approval_number, how) select number, ${how} from approved`;
  const acknowledged = await readAcknowledged(store.db, isFormer ? 'another' : policy);
  expect(acknowledged.size).toBe(isAcknowledged ? 1 : 0);
});
