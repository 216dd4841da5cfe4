import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Policy, policySchema } from '@keywarden/core/policy';
import { listOpenRotations } from '@keywarden/db/daemon';
import { whyNotReady } from '@keywarden/db/store';
import { until } from '@keywarden/testkit';
import { type Fixture, makeFixture, neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { parseSinks } from '@keywarden/testkit/daemon/rotate-fixture';
import { createTestStore, startTestPostgres, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { armMachine } from '../enforce/high-water-mark.ts';
import { type Daemon, startDaemon } from './daemon.ts';

// These tests stop the server under a running daemon, and start it again.

let postgres: Awaited<ReturnType<typeof startTestPostgres>>;
let store: TestStore;
let fixture: Fixture;
let daemon: Daemon;
const folder = mkdtempSync(join(tmpdir(), 'keywarden-outage-'));
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterEach(async () => {
  await daemon.stop();
  await fixture.close();
  await store.close();
});
afterAll(async () => {
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
});

let offsetMs = 0;

async function begin(policy?: Policy): Promise<void> {
  store = await createTestStore(postgres.url);
  await store.sql`update keywarden_jobs.queue set heartbeat_seconds = 10, retry_delay = 1, retry_backoff = false`;
  const sinks = parseSinks([{ name: 'files', kind: 'file', path: join(folder, 'key-{line}') }]);
  fixture = await makeFixture(store, policy === undefined ? {} : { policy, sinks });
  offsetMs = 0;
}

async function startIt(): Promise<void> {
  const { context } = fixture;
  const replica = context.replica ?? '';
  const options = {
    replica,
    superviseSeconds: 1,
    pollSeconds: 2,
    onFatal: () => undefined,
    now: () => Date.now() + offsetMs,
  };
  daemon = await startDaemon(context, options);
}

/** Returns the result of a test's query while the store stops and starts. */
async function ask<T>(work: () => Promise<T>): Promise<T> {
  return (await until(async () => ({ answer: await work() }), { toleratesErrors: true })).answer;
}

/** Waits until no job runs, waits, or is to be retried. */
async function settled(): Promise<void> {
  await until(async () => {
    const [row] = await ask(
      async () => await store.sql`select count(*)::int as jobs from keywarden_jobs.job where state <= 'active'`,
    );
    return row?.jobs === 0;
  });
}

async function advance(hours: number): Promise<void> {
  await fixture.controls.advance(hours * 3600);
  offsetMs += hours * 3_600_000;
}

/** Lets some hours pass, and waits until everything that is due is done. */
async function pass(hours: number): Promise<void> {
  await advance(hours);
  await ask(() => daemon.tick());
  await settled();
}

/** Stops the server as soon as the control plane receives the first request of a route. */
async function interruptAt(route: string): Promise<void> {
  await fixture.controls.resetStats();
  await until(async () => (await fixture.controls.stats()).by_route[route], {
    everyMs: 5,
  });
  await postgres.interrupt();
}

async function makeKeys(names: string[]): Promise<void> {
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  for (const name of names)
    await fixture.ask('POST', `/organizations/${organizations[0]?.id}/api_keys`, { key_name: name });
}

const slow = (method: string, path: string) => [{ method, path, kind: 'latency', latency_ms: 200 }];
const keyRoute = '/organizations/{org_id}/api_keys';

test('during a sync: it continues where it stopped, and every operation is stored once', async () => {
  await begin();
  await fixture.controls.generate({ organizations: 1, projects: 3, keys: 0, operations: 900, months: 2 });
  const path = '/projects/{project_id}/operations';
  await fixture.controls.setFaults(slow('GET', path));
  fixture.context.config = {
    ...fixture.context.config,
    operations: { ...fixture.context.config.operations, page_limit: 50 },
  };
  const interrupted = interruptAt(`GET ${path}`);
  await startIt();
  await interrupted;
  await fixture.controls.setFaults([]);
  await settled();
  const [stored] =
    await store.sql`select count(*)::int as rows, count(distinct id)::int as operations from keywarden.operation`;
  expect(stored).toEqual({ rows: 900, operations: 900 });
  const runs = await store.sql`select outcome from keywarden.job_run where kind = 'operations' order by number`;
  expect(runs.length).toBeGreaterThan(1);
  expect(runs.at(-1)?.outcome).toBe('done');
});

test('during an apply: exactly the flagged keys are revoked, each once, and each intent has one outcome', async () => {
  await begin(
    policySchema.parse({
      enforcement: { organizations: { '*': { mode: 'enforce' } }, canary_wait: '1s' },
      rules: [{ ...neverUsedRule, mode: 'enforce' }],
    }),
  );
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 3 });
  const names = ['a', 'b', 'c', 'd'];
  await makeKeys(names);
  await advance(40 * 24);
  await makeKeys(['young']);
  await armMachine(fixture.context, 'ada');
  await startIt();
  await settled();
  await fixture.controls.setFaults(slow('DELETE', `${keyRoute}/{key_id}`));
  const interrupted = interruptAt(`DELETE ${keyRoute}/{key_id}`);
  await pass(2);
  const revoked = async () => {
    const keys = await fixture.controls.keys();
    return keys.filter((key) => key.revoked_at !== null).map(({ name }) => name);
  };
  for (let hour = 0; hour < 8; hour += 1) await pass(1);
  await interrupted;
  // Listings decide an intent only if they begin five minutes after it. The test does not wait for that.
  await store.sql`alter table keywarden.revocation_intent disable trigger user`;
  await store.sql`update keywarden.revocation_intent set created_at = created_at - interval '10 minutes'`;
  for (let hour = 0; hour < 4; hour += 1) await pass(1);
  expect((await revoked()).toSorted()).toEqual(names);
  const open = await store.sql`
    select 1 from keywarden.revocation_intent i left join keywarden.revocation_outcome o on o.intent_number = i.number
    where o.intent_number is null`;
  expect(open).toEqual([]);
  const gone = await store.sql`
    select k.name, count(*)::int as times from keywarden.revocation_outcome o join keywarden.revocation_intent i on i.number = o.intent_number
      join keywarden.key k on k.number = i.key_number where o.outcome in ('revoked', 'gone') group by k.name order by k.name`;
  expect(gone.map(({ name, times }) => `${name} ${times}`)).toEqual(names.map((name) => `${name} 1`));
});

test('during a rotation: it continues, one successor is delivered, and no key is unknown', async () => {
  await begin(
    policySchema.parse({
      enforcement: { organizations: { '*': { mode: 'enforce' }, personal: { mode: 'enforce' } }, canary_wait: '1s' },
      rules: [{ name: 'old', older_than: '90d', action: 'rotate', mode: 'enforce', rotation: { sink: 'files' } }],
    }),
  );
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 6 });
  await makeKeys(['service']);
  await advance(100 * 24);
  await armMachine(fixture.context, 'ada');
  await startIt();
  await settled();
  await fixture.controls.setFaults(slow('POST', keyRoute));
  const interrupted = interruptAt(`POST ${keyRoute}`);
  for (let hour = 0; hour < 12; hour += 1) await pass(1);
  await interrupted;
  const keys = await fixture.controls.keys();
  const live = keys.filter(({ name, revoked_at }) => name.startsWith('service') && revoked_at === null);
  const known = await store.sql`select id::text as id from keywarden.key where gone_at is null`;
  expect(live.filter(({ id }) => !known.some((key) => key.id === String(id)))).toEqual([]);
  // The old key, and the delivered one. What the outage left behind was found and revoked.
  expect(live).toHaveLength(2);
  const [rotation] = await listOpenRotations(fixture.context.store.db);
  expect(rotation?.state).toBe('overlapping');
});

test('a store whose writes wait for a standby that is away is not ready; the writes go on once it need not be waited for', async () => {
  await begin();
  await startIt();
  const requireStandby = async (names: string) => {
    await store.sql.unsafe(`alter system set synchronous_standby_names = '${names}'`);
    await store.sql`select pg_reload_conf()`;
  };
  await requireStandby('away');
  // The server may read the setting only after the first writes.
  let written: ReturnType<typeof whyNotReady> | undefined;
  await until(async () => {
    written ??= whyNotReady(store.sql).finally(() => (written = undefined));
    const waiting = await store.sql`
      select from pg_stat_activity where wait_event = 'SyncRep' and query like '%pg_logical_emit_message%'`;
    return waiting.length > 0;
  });
  const waiting = written;
  expect(waiting).toBeDefined();
  await requireStandby('');
  expect(await waiting).toBeNull();
});
