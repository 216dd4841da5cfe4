import { findingsOf, policySchema } from '@keywarden/core/policy';
import type { ConnectionConfig } from '@keywarden/runtime/config';
import {
  apply,
  fixture,
  type Minted,
  makeStoredPlan,
  mint,
  outcomes,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { connectionOf, neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';
import { planKeys, readDocument } from './plan.ts';

useApplyFixture();

test('apply revokes exactly the keys of the plan; a second apply of the same plan changes nothing', async () => {
  await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  expect(plan.document.items.map((item) => item.key.name)).toEqual(['idle', 'forgotten']);
  expect(outcomes(await apply(plan))).toEqual({ idle: 'revoked', forgotten: 'revoked' });
  expect(await revokedNames()).toEqual(['idle', 'forgotten']);
  expect(await apply(plan)).toEqual({ doneBefore: 2, items: [], untried: 0, stopped: null });
  const [approvals] = await store.sql`select count(*)::int as n, min(approved_by) as who from keywarden.plan_approval`;
  expect(approvals).toEqual({ n: 1, who: 'ada' });
});

test('R1: a key that is used between plan and apply survives', async () => {
  const { idle } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  await use(idle?.key ?? '');
  expect(outcomes(await apply(plan))).toEqual({
    idle: 'skipped: no rule of the policy in force flags it any more',
    forgotten: 'revoked',
  });
  expect(await revokedNames()).toEqual(['forgotten']);
});

test('R1: a key that the policy in force no longer flags stays, even if an old plan lists it', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  fixture.context.config.policy = policySchema.parse({
    rules: [{ name: 'never-used', never_used_for: '90d', action: 'revoke' }],
  });
  expect(outcomes(await apply(plan))).toEqual({ idle: 'skipped: no rule of the policy in force flags it any more' });
  expect(await revokedNames()).toEqual([]);
});

test('R2: while the own key is unknown, nothing is planned and no older plan revokes anything; once known, both work', async () => {
  await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  for (const connection of fixture.context.config.connections) connection.keyId = null;
  await fixture.reconnect();
  const blind = await makeStoredPlan();
  expect(blind.document.items).toEqual([]);
  expect(outcomes(await apply(plan)).idle).toMatch(
    /^skipped: connection main lists this scope, and its own key is unknown/,
  );
  expect(await revokedNames()).toEqual([]);
});

test("R2: the connection's own key stays even when a rule flags it", async () => {
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
  // The credential's own key is the longest unused one of its user: each request uses the other key.
  const other = await fixture.ask<Minted>('POST', '/api_keys', { key_name: 'other' });
  for (const connection of fixture.context.config.connections) connection.apiKey = other.key;
  await fixture.reconnect();
  const plan = await makeStoredPlan();
  expect(plan.document.held.map((item) => [item.key.name, item.why.text])).toEqual([
    ['keywarden', 'connection main itself uses this key'],
  ]);
});

test('R2: an organization keeps at least one key', async () => {
  await prepare(['older', 'newer']);
  const plan = await makeStoredPlan();
  expect(plan.document.items.map((item) => item.key.name)).toEqual(['older']);
  await apply(plan);
  expect(await revokedNames()).toEqual(['older']);
});

test("R1: if the local clock differs from the control plane's, nothing is judged; a sandbox may differ, because its time is moved", async () => {
  await prepare(['idle', 'busy']);
  const elsewhere = fixture.connections.map((connection) => ({ ...connection, isSandbox: false }));
  await syncKeys(fixture.context, connectionOf(fixture));
  expect(findingsOf(await planKeys(fixture.context, elsewhere))).toEqual([]);
  expect(findingsOf(await planKeys(fixture.context, fixture.connections))).toHaveLength(1);
});

test('R6: a key that only another rule flags now is not what the person approved', async () => {
  const { idle } = await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  await use(idle?.key ?? '');
  const number = {
    name: 'one-only',
    more_than: { number: 1, per: 'organization' },
    action: 'revoke',
    even_in_use: true,
  };
  fixture.context.config.policy = policySchema.parse({ rules: [neverUsedRule, number] });
  await use((await mint('newer')).key);
  expect(outcomes(await apply(plan)).idle).toMatch(
    /^skipped: it is now flagged for another reason \(one-only\), which this plan does not list/,
  );
  expect(await revokedNames()).toEqual([]);
});

test('an item whose number belongs to another key than its id is refused', async () => {
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

test("R2: the own key of a connection that cannot list its scope stays; while it is unknown, so do its organization's keys", async () => {
  const { idle } = await prepare(['idle', 'forgotten', 'busy']);
  const plan = await makeStoredPlan();
  const [main] = fixture.context.config.connections;
  if (main === undefined) throw new Error('the fixture has no connection');
  // A second connection with the idle key itself: it authenticates, and has listed nothing yet.
  const second: ConnectionConfig = { ...main, name: 'second', apiKey: idle?.key ?? '', keyId: String(idle?.id) };
  fixture.context.config.connections.push(second);
  await fixture.reconnect();
  const known = await makeStoredPlan();
  expect(known.document.items.map((item) => item.key.name)).toEqual(['forgotten']);
  second.keyId = null;
  await fixture.reconnect();
  expect(outcomes(await apply(plan)).forgotten).toMatch(
    /^skipped: connection second lists this scope, and its own key is unknown/,
  );
  expect(await revokedNames()).toEqual([]);
});

test('a plan keeps its id while keys are used and while only reported keys change; its findings are the newest', async () => {
  const policy = policySchema.parse({
    rules: [neverUsedRule, { name: 'many', more_than: { number: 1, per: 'organization' }, action: 'report' }],
  });
  const { busy, active } = await prepare(['idle', 'busy', 'active'], { policy });
  const useBoth = async () => {
    for (const minted of [active, busy]) {
      await fixture.controls.advance(60);
      await use(minted?.key ?? '');
    }
    await fixture.reconnect();
  };
  await useBoth();
  const first = await makeStoredPlan();
  await useBoth();
  const second = await makeStoredPlan();
  expect(second.id).toBe(first.id);
  expect(second.isNew).toBe(false);
  expect(first.document.reported.map((item) => item.key.name)).toEqual(['active']);
  await mint('younger');
  const third = await makeStoredPlan();
  expect(third.id).toBe(first.id);
  expect(third.sha256).not.toBe(first.sha256);
  const names = async () =>
    (
      await store.sql`select distinct k.name from keywarden.finding_now f join keywarden.credential k on k.number = f.key_number
        where f.plan_id = ${third.id} order by 1`
    ).map((row) => String(row.name));
  expect(await names()).toEqual(
    third.document.reported
      .map(({ key }) => key.name)
      .concat('idle')
      .toSorted(),
  );
  expect((await readDocument(fixture.context, third.id)).items.map(({ key }) => key.name)).toEqual(['idle']);
  expect(outcomes(await apply(third))).toEqual({ idle: 'revoked' });
  expect(await apply(first)).toMatchObject({ doneBefore: 1, items: [] });
});

test('R2: an own key id that no listing shows counts as unknown', async () => {
  await prepare(['idle', 'busy'], { keyId: '999999' });
  const plan = await makeStoredPlan();
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map((item) => item.why.text)).toEqual([
    'connection main lists this scope, and its own key is unknown: set its key_id to an id that listings show',
  ]);
});

test("R3: what exceeds a day's quota waits in the plan, and each revocation counts for a day", async () => {
  const policy = policySchema.parse({ quotas: { per_day: 1 }, rules: [neverUsedRule] });
  await prepare(['idle', 'forgotten', 'busy'], { policy });
  const plan = await makeStoredPlan();
  expect(plan.document.items.map((item) => item.key.name)).toEqual(['idle']);
  expect(plan.document.held.map(({ key, why }) => [key.name, why.text])).toEqual([
    ['forgotten', 'it waits for a later plan: the policy revokes at most 1 key in 24 hours'],
  ]);
  expect(outcomes(await apply(plan))).toEqual({ idle: 'revoked' });
  expect((await makeStoredPlan()).document.items).toEqual([]);
  await fixture.controls.advance(86_401);
  await fixture.reconnect();
  const nextDay = await makeStoredPlan();
  expect(outcomes(await apply(nextDay))).toEqual({ forgotten: 'revoked' });
  expect(await revokedNames()).toEqual(['idle', 'forgotten']);
});

test('R6: a rule that keeps its name but changes its definition is not what the person approved', async () => {
  const { idle } = await prepare(['idle', 'busy']);
  const plan = await makeStoredPlan();
  await use(idle?.key ?? '');
  const redefined = {
    ...neverUsedRule,
    match: { name: 'idle' },
    never_used_for: undefined,
    older_than: '1d',
    even_in_use: true,
  };
  fixture.context.config.policy = policySchema.parse({ rules: [redefined] });
  expect(outcomes(await apply(plan)).idle).toMatch(/^skipped: it is now flagged for another reason \(never-used\)/);
  expect(await revokedNames()).toEqual([]);
});
