import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findingsOf, policySchema } from '@keywarden/core/policy';
import { listIncidents } from '@keywarden/db/daemon';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';
import { neverUsedRule } from '../testing.ts';
import {
  apply,
  bed,
  makeStoredPlan,
  mint,
  organization,
  prepare,
  revokedNames,
  store,
  use,
  useApplyBed,
} from './apply-bed.ts';
import { enforce } from './enforce.ts';
import { resumeEnforcement } from './high-water-mark.ts';

useApplyBed();

const enforced = (change: object = {}) =>
  policySchema.parse({
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
    rules: [{ ...neverUsedRule, mode: 'enforce' }],
    ...change,
  });

/** One run of the schedule, an hour or so after the one before. */
async function pass(seconds = 3700) {
  await bed.control('POST', 'clock', { advance_seconds: seconds });
  await bed.reconnect();
  for (const connection of bed.connections) await syncKeys(bed.context, connection);
  return await enforce(bed.context, bed.connections);
}
const day = 86_460;
const openIncidents = async () =>
  (await listIncidents(bed.context.store.sql, { isOpen: true, limit: 10 })).map(({ kind }) => kind);
const markFile = () => join(bed.context.environment.KEYWARDEN_DATA, 'high-water-mark');

test('R6: without mode: enforce the policy revokes nothing by itself', async () => {
  await prepare(['one', 'two', 'busy']);
  await resumeEnforcement(bed.context);
  await pass();
  expect((await pass()).byItself).toMatchObject({ items: [] });
  expect(await revokedNames()).toEqual([]);
});

test('R6: in mode: enforce one key goes first, and the others a day later; each run is recorded as the policy’s', async () => {
  await prepare(['one', 'two', 'three', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
  expect((await pass()).byItself?.items).toEqual([]); // one listing, and no other an hour before
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  await pass(day);
  expect(await revokedNames()).toEqual(['one', 'two', 'three']);
  const approvals = await store.sql`select distinct via, approved_by from keywarden.plan_approval`;
  expect([...approvals]).toEqual([{ via: 'enforcement', approved_by: expect.stringMatching(/^policy [0-9a-f]{12}$/) }]);
});

test('R6: another policy wants another canary', async () => {
  await prepare(['one', 'two', 'three', 'four', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
  await pass();
  await pass();
  bed.context.config.policy = enforced({ active_within: '31d' });
  await pass(day);
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R1: a key that is used between two listings is not revoked by the policy either', async () => {
  const { one } = await prepare(['one', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
  await pass();
  await use(one?.key ?? '');
  await pass();
  expect(await revokedNames()).toEqual([]);
});

test('R5: after a use in flight nothing more goes in that scope until somebody has closed the incident', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
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

test('R10: a new store enforces nothing before somebody says resume; a plan that a person applies is carried out', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await pass();
  expect(await pass()).toMatchObject({ byItself: null, why: expect.stringMatching(/nobody has said yet/) });
  expect(await revokedNames()).toEqual([]);
  expect(await openIncidents()).toEqual(['high_water_mark']);
  await apply(await makeStoredPlan());
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R10: a store restored from before the last run enforces nothing, until somebody says resume', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
  await pass();
  const dump = await store.sql`select * from keywarden.high_water_mark`;
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  const [row] = dump;
  await store.sql`update keywarden.high_water_mark set mark = ${String(row?.mark)}, previous = null`;
  expect(await pass(day)).toMatchObject({ byItself: null, why: expect.stringMatching(/older than it was/) });
  expect(await revokedNames()).toEqual(['one']);
  await resumeEnforcement(bed.context);
  await pass();
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R10: killed between the store’s mark and the file’s, the next run goes on; without the file it does not', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
  await pass();
  const before = readFileSync(markFile(), 'utf8');
  await pass(0);
  writeFileSync(markFile(), before);
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  rmSync(markFile());
  expect(await pass(day)).toMatchObject({ byItself: null });
  expect(await revokedNames()).toEqual(['one']);
});

test('R3: over the breaker a person is called; once they applied that plan, the rest goes day by day within the quotas', async () => {
  const stale = Array.from({ length: 12 }, (_, index) => `stale-${index}`);
  await prepare([...stale, 'busy'], { policy: enforced({ quotas: { per_day: 3 } }) });
  await resumeEnforcement(bed.context);
  await pass();
  await pass();
  expect(await revokedNames()).toEqual([]);
  expect(await openIncidents()).toEqual(['breaker']);
  const plan = await makeStoredPlan();
  expect(plan.document.breakers).toMatchObject([{ condemned: 12, active: 13 }]);
  await apply(plan);
  expect(await revokedNames()).toHaveLength(3);
  const gone = [];
  for (let index = 0; index < 4; index += 1) {
    await pass(day);
    gone.push((await revokedNames()).length);
  }
  expect(gone).toEqual([4, 7, 10, 12]); // a canary, then three a day
});

test('an approval through the report is carried out once, and not after 24 hours', async () => {
  await prepare(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  const report = await store.as('keywarden_report');
  const approveByReport = async () => await report.sql`select keywarden.approve_plan(${plan.id}, 'olga')`;
  await approveByReport();
  await store.sql`update keywarden.plan_approval set approved_at = now() - interval '25 hours'`;
  expect((await pass(0)).approved).toEqual([]);
  await approveByReport();
  const [applied] = (await pass(0)).approved;
  expect(applied?.items.map(({ item, outcome }) => [item.key.name, outcome])).toEqual([
    ['one', 'revoked'],
    ['two', 'revoked'],
  ]);
  await mint('three');
  expect((await pass(0)).approved).toEqual([]);
});

test('two connections that see one organization count its keys once, and revoke neither one’s key', async () => {
  const old = { name: 'old', older_than: '1d', action: 'revoke', even_in_use: true, mode: 'enforce' };
  const many = { name: 'many', more_than: { number: 1, per: 'organization' }, action: 'report' };
  const match = { kinds: ['organization'] };
  const policy = enforced({ rules: [old, many].map((rule) => ({ ...rule, match })) });
  const { second } = await prepare(['second', 'idle', 'busy'], { policy });
  const [first] = bed.context.config.connections;
  if (first === undefined || second === undefined) throw new Error('the bed lacks a connection');
  bed.context.config.connections.push({ ...first, name: 'second', apiKey: second.key, keyId: String(second.id) });
  await resumeEnforcement(bed.context);
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

test('two that enforce at once revoke each key once', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context);
  await pass();
  await bed.control('POST', 'clock', { advance_seconds: 3700 });
  const connections = await bed.reconnect();
  for (const connection of connections) await syncKeys(bed.context, connection);
  await Promise.all([enforce(bed.context, connections), enforce(bed.context, connections)]);
  expect(await revokedNames()).toEqual(['one']);
  const intents = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(intents[0]?.n).toBe(1);
});
