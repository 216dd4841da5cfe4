import { policySchema } from '@keywarden/core/policy';
import { listIncidents } from '@keywarden/db/daemon';
import { type Fixture, hurried, makeFixture, neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { type FailoverPair, startFailoverPair } from '@keywarden/testkit/store/failover';
import {
  createTestStore,
  startTestPostgres,
  type TestPostgres,
  type TestStore,
} from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';
import { applyPlan } from './apply.ts';
import { enforce } from './enforce.ts';
import { armMachine, betweenMarks } from './high-water-mark.ts';
import { planKeys } from './plan.ts';

// A real primary fails over to a real standby in the middle of a revocation. The control plane has revoked the key by then.

let pair: FailoverPair;
let postgres: TestPostgres;
let store: TestStore;
let fixture: Fixture;
/** Runs once, after the next answer to a revocation. */
let meanwhile: (() => Promise<void>) | undefined;

beforeEach(async () => {
  pair = await startFailoverPair();
  postgres = await startTestPostgres({ other: pair.url });
  store = await createTestStore(pair.url);
  const client = {
    time: hurried,
    fetch: (async (input, init) => {
      const response = await fetch(input, init);
      const work = init?.method === 'DELETE' ? meanwhile : undefined;
      if (work !== undefined) meanwhile = undefined;
      await work?.();
      return response;
    }) as typeof fetch,
  };
  const policy = policySchema.parse({
    enforcement: { organizations: { '*': { mode: 'enforce' } }, canary_wait: '1s' },
    rules: [{ ...neverUsedRule, mode: 'enforce' }],
  });
  fixture = await makeFixture(store, { policy, client });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  for (const name of ['one', 'two', 'three'])
    await fixture.ask('POST', `/organizations/${organizations[0]?.id}/api_keys`, { key_name: name });
  await armMachine(fixture.context, 'ada');
  await list(40 * 86_400);
});
afterEach(async () => {
  await fixture.close();
  await store.close();
  await postgres.close();
  await pair.close();
});

/** Lists the keys, this many seconds later. */
async function list(seconds = 3700): Promise<void> {
  await fixture.controls.advance(seconds);
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
}

async function apply() {
  const { context, connections } = fixture;
  const { id: planId, document } = await planKeys(context, connections);
  const approver = { via: 'command line', approvedBy: 'ada' } as const;
  return async () =>
    await betweenMarks(context, () => applyPlan(context, { planId, items: document.items, approver, connections }));
}

const revoked = async () => (await fixture.controls.keys()).filter((key) => key.revoked_at !== null).length;
const openIncidents = async () => (await listIncidents(store.db, { isOpen: true, limit: 10 })).map(({ kind }) => kind);
const outcomes = async () =>
  (
    await store.sql`
      select outcome from keywarden.revocation_intent i left join keywarden.revocation_outcome o on o.intent_number = i.number`
  ).map(({ outcome }) => outcome as unknown);

test('R10: an apply whose approval and intent a failover loses stops, and says that the store is older', async () => {
  const run = await apply();
  await pair.cutReplication();
  meanwhile = async () => await pair.failOver();
  expect((await run()).stopped).toMatch(/an older copy; check what it lacks, then run keywarden arm$/);
  expect(await outcomes()).toEqual([]);
  expect(await openIncidents()).toEqual(['high_water_mark']);
  await list();
  expect((await enforce(fixture.context, fixture.connections)).why).toMatch(/an older copy/);
  expect(await revoked()).toBe(1);
});

test('R4: an intent that the standby has gets its outcome there, and nothing else stops', async () => {
  await pair.requireStandby();
  const run = await apply();
  meanwhile = async () => await pair.failOver();
  expect((await run()).items.map(({ outcome }) => outcome)).toEqual(['unknown', 'revoked']);
  // Listings decide an intent only if they begin five minutes after it. The test does not wait for that.
  await store.sql`alter table keywarden.revocation_intent disable trigger user`;
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '10 minutes'`;
  await store.sql`alter table keywarden.revocation_intent enable trigger user`;
  for (let pass = 0; pass < 3; pass += 1) {
    await list();
    expect((await enforce(fixture.context, fixture.connections)).why).toBeNull();
  }
  expect((await outcomes()).map(String).toSorted()).toEqual(['gone', 'revoked']);
  expect(await openIncidents()).toEqual([]);
  expect(await revoked()).toBe(2);
});
