import { collect } from '@keywarden/core/client';
import type { ConnectionConfig } from '@keywarden/core/config';
import { policySchema } from '@keywarden/core/policy';
import { createTestStore, type TestStore } from '@keywarden/db/testing';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';
import { type Bed, type BedOptions, connectionOf, makeBed, neverUsedPolicy, neverUsedRule } from '../testing.ts';
import { applyPlan } from './apply.ts';
import { planKeys } from './plan.ts';

let store: TestStore;
let bed: Bed;
let organization: string;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterEach(async () => {
  await bed.close();
  await store.close();
});

interface Minted {
  id: number;
  key: string;
}

const mint = (name: string) => bed.ask<Minted>('POST', `/organizations/${organization}/api_keys`, { key_name: name });

/** An organization with these keys, minted 40 days ago and never used but for the one named `busy`, which was just used. */
async function prepare(names: string[], options: BedOptions = {}): Promise<Record<string, Minted>> {
  bed = await makeBed(store, { policy: neverUsedPolicy, ...options });
  await bed.control('POST', 'generate', { organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await bed.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  organization = organizations[0]?.id ?? '';
  const minted: Record<string, Minted> = {};
  for (const name of names) minted[name] = await mint(name);
  await bed.control('POST', 'clock', { advance_seconds: 40 * 86_400 });
  if (minted.busy) await use(minted.busy.key);
  await bed.reconnect();
  return minted;
}

async function use(key: string): Promise<void> {
  await fetch(`${bed.sandbox.url}/auth`, { headers: { authorization: `Bearer ${key}` } });
}

async function makeStoredPlan() {
  await syncKeys(bed.context, connectionOf(bed));
  return await planKeys(bed.context, bed.connections);
}

async function apply({ id, document }: { id: string; document: Parameters<typeof applyPlan>[1]['document'] }) {
  return await applyPlan(bed.context, { planId: id, document, approvedBy: 'ada', connections: bed.connections });
}

async function revokedNames(): Promise<string[]> {
  const keys = await bed.control<{ name: string; revoked_at: string | null }[]>('GET', 'keys');
  return keys.filter((key) => key.revoked_at !== null).map((key) => key.name);
}

/** By name, what an apply did. */
const outcomes = (applied: Awaited<ReturnType<typeof apply>>) =>
  Object.fromEntries(
    applied.items.map(({ item, outcome, why }) => [item.key.name, why === null ? outcome : `${outcome}: ${why}`]),
  );

test('apply revokes exactly the keys of the plan; a second apply of the same plan changes nothing', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  expect(plan.document.items.map((item) => item.key.name)).toEqual(['idle', 'forgotten']);
  expect(outcomes(await apply(plan))).toEqual({ idle: 'revoked', forgotten: 'revoked' });
  expect(await revokedNames()).toEqual(['idle', 'forgotten']);
  expect(await apply(plan)).toEqual({ doneBefore: 2, items: [], stopped: null });
  const [approvals] = await store.sql`select count(*)::int as n, min(approved_by) as who from keywarden.plan_approval`;
  expect(approvals).toEqual({ n: 1, who: 'ada' });
});

test('R1: a key that is used between plan and apply survives', async () => {
  const { idle } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  await use(idle?.key ?? '');
  expect(outcomes(await apply(plan))).toEqual({
    idle: 'skipped: no rule of the policy in force condemns it any more',
    forgotten: 'revoked',
  });
  expect(await revokedNames()).toEqual(['forgotten']);
});

test('R1: what the policy in force does not condemn any more stays, whatever an old plan says', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  bed.context.config.policy = policySchema.parse({
    rules: [{ name: 'never-used', never_used_for: '90d', action: 'revoke' }],
  });
  expect(outcomes(await apply(plan))).toEqual({ idle: 'skipped: no rule of the policy in force condemns it any more' });
  expect(await revokedNames()).toEqual([]);
});

test('R2: with its own key unknown nothing is planned and nothing of an older plan is revoked; known, it is', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  for (const connection of bed.context.config.connections) connection.keyId = null;
  await bed.reconnect();
  const blind = await makeStoredPlan();
  expect(blind.document.items).toEqual([]);
  expect(outcomes(await apply(plan)).idle).toMatch(
    /^skipped: connection main sees this scope and its own key is not known/,
  );
  expect(await revokedNames()).toEqual([]);
});

test("R2: the connection's own key stays even when a rule condemns it", async () => {
  await prepare(['idle', 'busy'], {
    policy: policySchema.parse({
      rules: [
        {
          name: 'one',
          match: { kinds: ['personal'] },
          more_than: { number: 1, per: 'creator' },
          action: 'revoke',
          even_in_use: true,
        },
      ],
    }),
  });
  // The credential's own key is the longest unused of its user's: the other one is used with each request.
  const other = await bed.ask<Minted>('POST', '/api_keys', { key_name: 'other' });
  for (const connection of bed.context.config.connections) connection.apiKey = other.key;
  await bed.reconnect();
  const plan = await makeStoredPlan();
  expect(plan.document.held.map((item) => [item.key.name, item.why])).toEqual([
    ['keywarden', 'connection main itself uses this key'],
  ]);
});

test('R2: an organization is not left without a key', async () => {
  await prepare(['older', 'newer']);
  const plan = await makeStoredPlan();
  expect(plan.document.items.map((item) => item.key.name)).toEqual(['older']);
  await apply(plan);
  expect(await revokedNames()).toEqual(['older']);
});

test('R4: a lost answer leaves the intent open; two listings say that the key is gone, and it is not called again', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const fault = { method: 'DELETE', path: '/organizations/{org_id}/api_keys/{key_id}', times: 1 };
  await bed.control('PUT', 'faults', [{ ...fault, kind: 'lose_response' }]);
  const applied = await apply(plan);
  expect(outcomes(applied).idle).toMatch(/^unknown: /);
  expect(outcomes(applied).forgotten).toBe('revoked');
  await syncKeys(bed.context, connectionOf(bed));
  await bed.control('POST', 'clock', { advance_seconds: 3600 });
  await bed.reconnect();
  await syncKeys(bed.context, connectionOf(bed));
  const rows = await store.sql`
    select k.name, o.outcome from keywarden.revocation_intent i join keywarden.key k on k.number = i.key_number
    left join keywarden.revocation_outcome o on o.intent_number = i.number order by i.number`;
  expect(rows.map((row) => [row.name, row.outcome])).toEqual([
    ['idle', 'gone'],
    ['forgotten', 'revoked'],
  ]);
  expect(await apply(plan)).toMatchObject({ doneBefore: 2, items: [] });
});

test('R5: a key that turns out used in the answer to its revocation stops the run', async () => {
  const { idle } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  // The call waits a moment at the control plane, and the key is used in that moment.
  await bed.control('PUT', 'faults', [
    {
      method: 'DELETE',
      path: '/organizations/{org_id}/api_keys/{key_id}',
      kind: 'latency',
      latency_ms: 1500,
      times: 1,
    },
  ]);
  const applying = apply(plan);
  for (;;) {
    const [intent] = await store.sql`select 1 from keywarden.revocation_intent`;
    if (intent) break;
  }
  await use(idle?.key ?? '');
  const applied = await applying;
  expect(applied.items.map(({ item, outcome, usedInFlight }) => [item.key.name, outcome, usedInFlight])).toEqual([
    ['idle', 'revoked', true],
  ]);
  expect(applied.stopped).toMatch(/was used between its last listing and its revocation/);
  expect(await revokedNames()).toEqual(['idle']);
});

test("R7: one key's failure does not stop the others, and it may be tried again", async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  await bed.control('PUT', 'faults', [
    { method: 'DELETE', path: '/organizations/{org_id}/api_keys/{key_id}', kind: 'status', status: 403, times: 1 },
  ]);
  const applied = await apply(plan);
  expect(outcomes(applied)).toMatchObject({ forgotten: 'revoked' });
  expect(outcomes(applied).idle).toMatch(/^failed: .*403/);
  expect(outcomes(await apply(plan))).toEqual({ idle: 'revoked' });
});

test('two that apply the same plan at once revoke each key once', async () => {
  await prepare(['one', 'two', 'three', 'busy']);
  const plan = await makeStoredPlan();
  const both = await Promise.all([apply(plan), apply(plan)]);
  const revoked = both.flatMap(({ items }) => items).filter((each) => each.outcome === 'revoked');
  expect(revoked.map(({ item }) => item.key.name).toSorted()).toEqual(['one', 'three', 'two']);
  const [intents] = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(intents?.n).toBe(3);
});

test('R1: with our clock off the control plane’s nothing is judged; a sandbox may be off, for its time is moved', async () => {
  await prepare(['idle', 'busy']);
  const elsewhere = bed.connections.map((connection) => ({ ...connection, isSandbox: false }));
  await syncKeys(bed.context, connectionOf(bed));
  expect((await planKeys(bed.context, elsewhere)).findings).toEqual([]);
  expect((await planKeys(bed.context, bed.connections)).findings).toHaveLength(1);
});

test('R6: a key that another rule condemns by now is not what the person approved', async () => {
  const { idle } = await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  await use(idle?.key ?? '');
  const number = {
    name: 'one-only',
    more_than: { number: 1, per: 'organization' },
    action: 'revoke',
    even_in_use: true,
  };
  bed.context.config.policy = policySchema.parse({ rules: [neverUsedRule, number] });
  await use((await mint('newer')).key);
  expect(outcomes(await apply(plan)).idle).toMatch(
    /^skipped: it is condemned by one-only now, which this plan does not say/,
  );
  expect(await revokedNames()).toEqual([]);
});

test('an item whose number is another key’s than its id is refused', async () => {
  const { busy } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const [item] = plan.document.items;
  if (item === undefined) throw new Error('the plan has no item');
  const forged = { ...item, key: { ...item.key, id: String(busy?.id) } };
  const applied = await apply({ id: plan.id, document: { ...plan.document, items: [forged] } });
  expect(applied.items.map(({ outcome, why }) => [outcome, why])).toEqual([
    ['skipped', 'the plan names another key than the store'],
  ]);
  expect(await revokedNames()).toEqual([]);
});

test('R2: the own key of a connection that cannot list its scope stays; and while it is unknown so do its organization’s', async () => {
  const { idle } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const [main] = bed.context.config.connections;
  if (main === undefined) throw new Error('the bed has no connection');
  // A second connection by the idle key itself: it authenticates, and has listed nothing yet.
  const second: ConnectionConfig = { ...main, name: 'second', apiKey: idle?.key ?? '', keyId: String(idle?.id) };
  bed.context.config.connections.push(second);
  await bed.reconnect();
  const known = await makeStoredPlan();
  expect(known.document.items.map((item) => item.key.name)).toEqual(['forgotten']);
  second.keyId = null;
  await bed.reconnect();
  expect(outcomes(await apply(plan)).forgotten).toMatch(
    /^skipped: connection second sees this scope and its own key is not known/,
  );
  expect(await revokedNames()).toEqual([]);
});

test('R4: an answer that does not say that this very key is revoked is unknown', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  const connection = connectionOf(bed);
  const { client } = connection;
  for (const answer of [{ revoked: false }, { id: '4711' }]) {
    // A control plane that answers oddly, which the sandbox never does: the true answer with one field changed.
    const odd: typeof client = {
      ...client,
      revokeOrganizationKey: async (_organization, id) => ({ ...(await listed(id)), revoked: true, ...answer }),
    };
    const applied = await applyPlan(bed.context, {
      planId: plan.id,
      document: plan.document,
      approvedBy: 'ada',
      connections: [{ ...connection, client: odd }],
    });
    expect(applied.items.map(({ outcome }) => outcome)).toEqual(['unknown']);
    expect(await revokedNames()).toEqual([]);
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
  await bed.control('PUT', 'faults', [{ path: '/organizations/{org_id}/api_keys', kind: 'status', status: 401 }]);
  const applied = outcomes(await apply(plan));
  expect(applied.idle).toMatch(/could not be listed again/);
  expect(applied.forgotten).toMatch(/no configured connection has listed its scope with a credential that works/);
});

test('a plan stays the same while keys are used; an older plan knows what was done under a newer one', async () => {
  const policy = policySchema.parse({
    rules: [neverUsedRule, { name: 'many', more_than: { number: 1, per: 'organization' }, action: 'report' }],
  });
  const { busy, active } = await prepare(['idle', 'busy', 'active'], { policy });
  const useBoth = async () => {
    for (const minted of [active, busy]) {
      await bed.control('POST', 'clock', { advance_seconds: 60 });
      await use(minted?.key ?? '');
    }
    await bed.reconnect();
  };
  await useBoth();
  const first = await makeStoredPlan();
  await useBoth();
  const second = await makeStoredPlan();
  expect(second.canonical).toBe(first.canonical);
  expect(second.isNew).toBe(false);
  expect(first.document.reported.map((item) => item.key.name)).toEqual(['active']);
  await mint('younger');
  const third = await makeStoredPlan();
  expect(third.id).not.toBe(first.id);
  expect(outcomes(await apply(third))).toEqual({ idle: 'revoked' });
  expect(await apply(first)).toMatchObject({ doneBefore: 1, items: [] });
});

test('R2: an own key’s id that no listing shows is as good as none', async () => {
  await prepare(['idle', 'busy'], { keyId: '999999' });
  const plan = await makeStoredPlan();
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map((item) => item.why)).toEqual([
    'connection main sees this scope and its own key is not known; set its key_id',
  ]);
});
