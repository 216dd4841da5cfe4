import { findingsOf } from '@keywarden/core/policy';
import { removeOtherConnections, saveConnection } from '@keywarden/db/daemon';
import { until } from '@keywarden/testkit';
import {
  apply,
  day,
  enforced,
  fixture,
  makeStoredPlan,
  openIncidents,
  organization,
  pass,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { lateConnection } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';
import { enforce } from './enforce.ts';
import { armMachine, disarmMachine } from './high-water-mark.ts';

useApplyFixture();

test('R6: without mode: enforce the policy revokes nothing automatically', async () => {
  await prepare(['one', 'two', 'busy']);
  await armMachine(fixture.context, 'ada');
  await pass();
  expect((await pass()).automatic).toMatchObject({ items: [] });
  expect(await revokedNames()).toEqual([]);
});

test("R6: in mode: enforce one key goes first, and the others a day later; each run is recorded as the policy's", async () => {
  await prepare(['one', 'two', 'three', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  expect((await pass()).automatic?.items).toEqual([]); // only one listing, and none an hour before it
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  await pass(day);
  expect(await revokedNames()).toEqual(['one', 'two', 'three']);
  const approvals = await store.sql`select distinct via, approved_by from keywarden.plan_approval`;
  expect([...approvals]).toEqual([{ via: 'enforcement', approved_by: expect.stringMatching(/^policy [0-9a-f]{12}$/) }]);
});

test('R6: another policy needs another canary', async () => {
  await prepare(['one', 'two', 'three', 'four', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  fixture.context.config.policy = enforced({ active_within: '31d' });
  await pass(day);
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R1: the policy does not revoke a key that is used between two listings', async () => {
  const { one } = await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await use(one?.key ?? '');
  await pass();
  expect(await revokedNames()).toEqual([]);
});

test('R5: after a use in flight nothing more is revoked in that scope until a person has closed the incident', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  await store.sql`
    insert into keywarden.incident (kind, key_number, intent_number, detail, scope)
    select 'used_in_flight', i.key_number, i.number, '{}', k.control_plane_number || '/' || k.scope
    from keywarden.revocation_intent i join keywarden.key k on k.number = i.key_number`;
  await pass(day);
  expect(await revokedNames()).toEqual(['one']);
  await store.sql`update keywarden.incident set closed_at = now()`;
  await pass();
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R3: over the breaker an incident is opened; after a person has applied that plan, the rest goes daily within the quotas', async () => {
  const stale = Array.from({ length: 12 }, (_, index) => `stale-${index}`);
  await prepare([...stale, 'busy'], { policy: enforced({ quotas: { per_day: 3 } }) });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  expect(await revokedNames()).toEqual([]);
  expect(await openIncidents()).toEqual(['breaker']);
  const plan = await makeStoredPlan();
  expect(plan.document.breakers).toMatchObject([{ flagged: 12, active: 13 }]);
  await apply(plan);
  expect(await revokedNames()).toHaveLength(3);
  const gone = [];
  for (let index = 0; index < 4; index += 1) {
    await pass(day);
    gone.push((await revokedNames()).length);
  }
  expect(gone).toEqual([4, 7, 10, 12]); // a canary, then three a day
});

test("R3: a person's approval closes a breaker for that policy only", async () => {
  const stale = Array.from({ length: 12 }, (_, index) => `stale-${index}`);
  await prepare([...stale, 'busy'], { policy: enforced({ quotas: { per_day: 3 } }) });
  await armMachine(fixture.context, 'ada');
  await apply(await makeStoredPlan());
  fixture.context.config.policy = enforced({ active_within: '31d' });
  await pass();
  const { plan } = await pass(day);
  expect(plan.document.breakers).toHaveLength(1);
  expect(await revokedNames()).toHaveLength(3);
});

test('R3: a rejection of the plan that closed a breaker opens it again', async () => {
  await prepare([...Array.from({ length: 12 }, (_, index) => `stale-${index}`), 'busy'], {
    policy: enforced({ quotas: { per_day: 3 } }),
  });
  const plan = await makeStoredPlan();
  const breakers = async () => (await pass()).plan.document.breakers.length;
  expect(await breakers()).toBe(1);
  await apply(plan);
  expect(await breakers()).toBe(0);
  await store.sql`insert into keywarden.plan_rejection (plan_id, rejected_by, reason) values (${plan.id}, 'bob', 'not now')`;
  expect(await breakers()).toBe(1);
});

test('R3, R6: lost responses count for the daily quota and for the canary', async () => {
  await prepare(['one', 'two', 'three', 'four', 'busy'], { policy: enforced({ quotas: { per_day: 2 } }) });
  await armMachine(fixture.context, 'ada');
  await pass();
  const path = '/organizations/{org_id}/api_keys/{key_id}';
  await fixture.controls.setFaults([{ method: 'DELETE', path, kind: 'lose_response' }]);
  for (let hour = 0; hour < 5; hour += 1) {
    await pass();
    await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '10 minutes'`;
  }
  expect(await revokedNames()).toHaveLength(1);
  await pass(day);
  await pass();
  expect(await revokedNames()).toHaveLength(3);
});

test('R2: a configured connection that never authenticated protects its own key; with its id unknown, all of its control plane', async () => {
  const { idle } = await prepare(['idle', 'older', 'busy']);
  const [first] = fixture.context.config.connections;
  if (first === undefined) throw new Error('the fixture has no connection');
  const stranger = { ...first, name: 'second', apiKey: 'not yet', keyId: String(idle?.id) };
  fixture.context.config.connections = [first, stranger];
  const known = await makeStoredPlan();
  expect(known.document.items.map(({ key }) => key.name)).toEqual(['older']);
  // This connection authenticated before, with another key: the configured id counts.
  await store.sql`insert into keywarden.connection (name, control_plane_number, account_id, auth_method, own_key_id, is_sandbox, checked_at)
    select 'second', control_plane_number, account_id, auth_method, 1, is_sandbox, checked_at from keywarden.connection`;
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['older']);
  await store.sql`delete from keywarden.connection where name = 'second'`;
  fixture.context.config.connections = [first, { ...stranger, keyId: null }];
  expect((await makeStoredPlan()).document.items).toEqual([]);
});

test('R2: a connection missing from this configuration still holds its scopes for a week if its own key is unknown', async () => {
  await prepare(['idle', 'busy']);
  const planned = async () => (await makeStoredPlan()).document.items.map(({ key }) => key.name);
  expect(await planned()).toEqual(['idle']);
  const [main] = fixture.connections;
  if (main === undefined) throw new Error('the fixture has no connection');
  const { accountId, authMethod, isSandbox, identity: baseUrl } = main;
  const other = { name: 'other', baseUrl, accountId, authMethod, isSandbox, ownKeyId: null, replica: null };
  const { db, sql } = fixture.context.store;
  await saveConnection(sql, { ...other, checkedAt: new Date().toISOString() });
  await removeOtherConnections(db, ['main']);
  expect(await planned()).toEqual([]);
  await store.sql`update keywarden.connection set removed_at = now() - interval '8 days' where name = 'other'`;
  expect(await planned()).toEqual(['idle']);
});

test('two connections that see one organization count its keys once, and revoke the key of neither', async () => {
  const old = { name: 'old', older_than: '1d', action: 'revoke', even_in_use: true, mode: 'enforce' };
  const many = { name: 'many', more_than: { number: 1, per: 'organization' }, action: 'report' };
  const match = { kinds: ['organization'] };
  const policy = enforced({ rules: [old, many].map((rule) => ({ ...rule, match })) });
  const { second } = await prepare(['second', 'idle', 'busy'], { policy });
  const [first] = fixture.context.config.connections;
  if (first === undefined || second === undefined) throw new Error('the fixture lacks a connection');
  fixture.context.config.connections.push({ ...first, name: 'second', apiKey: second.key, keyId: String(second.id) });
  await armMachine(fixture.context, 'ada');
  const { plan } = await pass();
  expect(plan.document.items.map(({ key }) => key.name)).toEqual(['idle', 'busy']);
  expect(plan.document.held.map(({ key, why }) => [key.name, why.text])).toEqual([
    ['second', 'connection second itself uses this key'],
  ]);
  const counts = findingsOf(plan)
    .filter(({ rule }) => rule.name === 'many')
    .map(({ evidence }) => evidence);
  expect(counts).toEqual([expect.objectContaining({ count: 3 }), expect.objectContaining({ count: 3 })]);
  await pass(day);
  expect(await revokedNames()).toEqual(['idle', 'busy']);
  const keys = await store.sql`select id from keywarden.key where scope = ${`organization:${organization}`}`;
  expect(keys).toHaveLength(3);
});

test('R3, R5: a plan that a use in flight has stopped closes no breaker', async () => {
  const stale = Array.from({ length: 12 }, (_, index) => `stale-${index}`);
  const minted = await prepare([...stale, 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  const plan = await makeStoredPlan();
  const path = '/organizations/{org_id}/api_keys/{key_id}';
  await fixture.controls.setFaults([{ method: 'DELETE', path, kind: 'latency', latency_ms: 1500, times: 1 }]);
  const applying = apply(plan);
  await until(async () => (await store.sql`select 1 from keywarden.revocation_intent`).length > 0);
  await use(minted[plan.document.items[0]?.key.name ?? '']?.key ?? '');
  expect((await applying).stopped).toMatch(/was used between/);
  await store.sql`update keywarden.incident set closed_at = now()`;
  await pass();
  expect((await pass(day)).plan.document.breakers).toHaveLength(1);
  expect(await revokedNames()).toHaveLength(1);
});

test('R3: closing a breaker ends its incident, so that the next breaker opens a new one', async () => {
  const stale = Array.from({ length: 12 }, (_, index) => `stale-${index}`);
  await prepare([...stale, 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  expect([...(await store.sql`select kind from keywarden.incident`)]).toEqual([{ kind: 'breaker' }]);
  // While the clocks differ nothing is judged, and a breaker that was not evaluated is not closed.
  await enforce(
    fixture.context,
    fixture.connections.map((connection) => ({ ...connection, isSandbox: false })),
  );
  expect(await openIncidents()).toEqual(['breaker']);
  await apply(await makeStoredPlan());
  await pass();
  expect(await openIncidents()).toEqual([]);
});

test('R7: a key whose revocation always fails does not block the others of its scope', async () => {
  const { one } = await prepare(['one', 'two', 'busy'], { policy: enforced({ quotas: { per_run: 1 } }) });
  await armMachine(fixture.context, 'ada');
  await pass();
  const path = `/organizations/{org_id}/api_keys/{key_id}`;
  await fixture.controls.setFaults([{ method: 'DELETE', path, kind: 'status', status: 404, times: 1 }]);
  await pass();
  expect(await revokedNames()).toEqual([]);
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '10 minutes'`;
  for (let passes = 0; passes < 2; passes += 1) await pass();
  expect(await revokedNames()).toEqual(['two']);
  expect(one).toBeDefined();
});

test('two concurrent enforcement runs revoke each key once', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await fixture.controls.advance(3700);
  const connections = await fixture.reconnect();
  for (const connection of connections) await syncKeys(fixture.context, connection);
  await Promise.all([enforce(fixture.context, connections), enforce(fixture.context, connections)]);
  expect(await revokedNames()).toEqual(['one']);
  const intents = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(intents[0]?.n).toBe(1);
});

test('R6: the canary is revoked although its permit came late: its own intent is not the canary of its scope', async () => {
  await prepare(['one', 'two', 'three', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await fixture.controls.advance(3700);
  await fixture.reconnect();
  const { late, permits } = lateConnection(fixture, () => Promise.resolve());
  fixture.connections = [late];
  await syncKeys(fixture.context, late);
  await enforce(fixture.context, fixture.connections);
  expect(permits()).toBe(1);
  expect(await revokedNames()).toHaveLength(1);
});

test('R10: disarm stops a pass that is going on before its next call, also one whose intent is stored', async () => {
  await prepare(['one', 'two', 'three', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  await fixture.controls.advance(day);
  await fixture.reconnect();
  const { late } = lateConnection(fixture, () => Promise.resolve(disarmMachine(fixture.context)), { lateMs: 0 });
  fixture.connections = [late];
  await syncKeys(fixture.context, late);
  const { automatic } = await enforce(fixture.context, fixture.connections);
  expect(automatic).toMatchObject({ stopped: expect.stringMatching(/not permitted on this machine/), untried: 1 });
  expect(await revokedNames()).toHaveLength(1);
});
