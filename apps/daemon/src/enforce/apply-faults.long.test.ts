import { fork } from 'node:child_process';
import { once } from 'node:events';
import { crashStdio, until } from '@keywarden/testkit';
import type { Order } from '@keywarden/testkit/daemon/apply-crash-process';
import {
  apply,
  applyCrashProcess,
  fixture,
  makeStoredPlan,
  prepare,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { connectionOf, neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import type { Fault } from '@keywarden/testkit/sandbox/controls';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';

useApplyFixture();

const path = '/organizations/{org_id}/api_keys/{key_id}';
const planned = ['one', 'three', 'two'];

/** Does what a daemon does after any failure: lists, lists again an hour later, and applies the plan once more. */
async function recover(plan: Parameters<typeof apply>[0]): Promise<void> {
  await fixture.controls.setFaults([]);
  // Listings decide an intent only if they begin five minutes after it. The test does not wait for them.
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '10 minutes'`;
  for (const seconds of [3600, 3600]) {
    await fixture.controls.advance(seconds);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
  }
  await apply(plan);
}

/** Expects that exactly the plan's keys are gone, once each, and that every intent has one outcome. */
async function expectWhole(): Promise<void> {
  expect((await revokedNames()).toSorted()).toEqual(planned);
  const rows = await store.sql`
    select k.name, i.attempt, o.outcome from keywarden.revocation_intent i join keywarden.key k on k.number = i.key_number
    left join keywarden.revocation_outcome o on o.intent_number = i.number order by k.name, i.attempt`;
  expect(rows.filter((row) => row.outcome === null)).toEqual([]);
  const ends = rows.filter((row) => ['revoked', 'gone'].includes(String(row.outcome))).map((row) => String(row.name));
  expect(ends).toEqual(planned);
  const { by_route: routes } = await fixture.controls.stats();
  expect(routes[`DELETE ${path}`]?.requests).toBeLessThanOrEqual(planned.length + 6);
}

const fault = { method: 'DELETE', path, times: 1 };
const statuses = [200, 400, 401, 403, 404, 409, 423, 429, 500, 503].map((status): [string, Fault] => [
  `status ${status}`,
  status === 200 ? { ...fault, kind: 'latency', latency_ms: 1 } : { ...fault, kind: 'status', status },
]);

test.each([
  ...statuses,
  ['a lost response', { ...fault, kind: 'lose_response' }],
  ['a connection that is cut before the work', { ...fault, kind: 'drop' }],
  ['an answer that is cut', { ...fault, kind: 'truncate' }],
  ['every response lost', { ...fault, times: 10, kind: 'lose_response' }],
  [
    'the listing before it failing',
    { method: 'GET', path: '/organizations/{org_id}/api_keys', times: 1, kind: 'status', status: 503 },
  ],
  [
    'the listing before it cut',
    { method: 'GET', path: '/organizations/{org_id}/api_keys', times: 1, kind: 'truncate' },
  ],
])("R4, R7: %s: in the end only the plan's keys are gone, once each", async (_name, kind) => {
  await prepare(['one', 'two', 'three', 'busy']);
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([kind]);
  await apply(plan);
  await recover(plan);
  await expectWhole();
});

test('R4: a response that arrives after the timeout is unknown, and listings settle it', async () => {
  await prepare(['one', 'two', 'three', 'busy'], { client: { fetch: impatientOnce() } });
  const plan = await makeStoredPlan();
  await fixture.controls.setFaults([{ ...fault, kind: 'latency', latency_ms: 1000 }]);
  const applied = await apply(plan);
  const late = applied.items.find(({ outcome }) => outcome === 'unknown')?.item.key.name ?? '';
  expect(planned).toContain(late);
  // The control plane finishes its work after the client has given up.
  await until(async () => (await revokedNames()).includes(late));
  await recover(plan);
  await expectWhole();
});

/** Returns a fetch that gives up on the first revocation early, as the client does after a minute. */
function impatientOnce(): typeof fetch {
  let isImpatient = true;
  return async (input, init) => {
    const givesUp = isImpatient && init?.method === 'DELETE';
    if (givesUp) isImpatient = false;
    return await fetch(input, { ...init, signal: givesUp ? AbortSignal.timeout(300) : (init?.signal ?? null) });
  };
}

/** Starts a process that applies the plan and then ends. */
function startCrashProcess(order: Order) {
  const child = fork(applyCrashProcess, { stdio: crashStdio() });
  const ended = once(child, 'exit').then(([, signal]: unknown[]) => signal);
  child.once('message', () => child.send(order));
  return { child, ended };
}

async function order(planId: string, killAt: Order['killAt']): Promise<Order> {
  const [connection] = fixture.context.config.connections;
  if (connection === undefined) throw new Error('the fixture has no connection');
  return { databaseUrl: store.url, connection, policy: { rules: [neverUsedRule] }, planId, killAt };
}

test.each<[string, NonNullable<Order['killAt']>]>([
  ['before the first listing', { method: 'GET', nth: 2, when: 'before' }],
  ['after the first listing, which is not stored', { method: 'GET', nth: 2, when: 'after' }],
  ['after the intent, before the call', { method: 'DELETE', nth: 1, when: 'before' }],
  ['after the call, before its outcome', { method: 'DELETE', nth: 1, when: 'after' }],
  ['after the first outcome, before the second listing', { method: 'GET', nth: 3, when: 'before' }],
  ['after the second intent', { method: 'DELETE', nth: 2, when: 'before' }],
  ['after the last call', { method: 'DELETE', nth: 3, when: 'after' }],
])('R4: kill -9 %s: each intent ends in one outcome', async (_name, killAt) => {
  await prepare(['one', 'two', 'three', 'busy']);
  const plan = await makeStoredPlan();
  const { ended } = startCrashProcess(await order(plan.id, killAt));
  expect(await ended).toBe('SIGKILL');
  await recover(plan);
  await expectWhole();
});

const gate = 4242;

test.each(['plan_approval', 'revocation_intent', 'revocation_outcome'])(
  'R4: kill -9 while a row of %s is being written: each intent ends in one outcome',
  async (table) => {
    await prepare(['one', 'two', 'three', 'busy']);
    const plan = await makeStoredPlan();
    await store.sql.unsafe(`
      create function keywarden.wait_at_gate() returns trigger language plpgsql as
        'begin perform pg_advisory_xact_lock(${gate}); return new; end';
      create trigger gate before insert on keywarden.${table} for each row execute function keywarden.wait_at_gate()`);
    const keeper = await store.sql.reserve();
    await keeper`select pg_advisory_lock(${gate})`;
    const { child, ended } = startCrashProcess(await order(plan.id, null));
    for (let waiting = 0; waiting === 0; ) {
      const [row] = await store.sql`
        select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = ${gate} and not granted`;
      waiting = Number(row?.n);
    }
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    await keeper`select pg_advisory_unlock(${gate})`;
    keeper.release();
    await store.sql.unsafe(`drop trigger gate on keywarden.${table}; drop function keywarden.wait_at_gate()`);
    await recover(plan);
    await expectWhole();
  },
);
