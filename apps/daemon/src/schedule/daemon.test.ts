import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endStuckSessions, listIncidents } from '@keywarden/db/daemon';
import { openStore, type Store } from '@keywarden/db/store';
import type { Logger } from '@keywarden/runtime';
import { until } from '@keywarden/testkit';
import { type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { armMachine } from '../enforce/high-water-mark.ts';
import { type Daemon, startDaemon } from './daemon.ts';

let store: TestStore;
let fixture: Fixture;
let daemons: Daemon[];
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store);
  await fixture.controls.generate({
    organizations: 1,
    projects: 2,
    keys: 5,
    operations: 300,
    months: 1,
    seed: 7,
  });
  daemons = [];
});
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop();
  await fixture.close();
  await store.close();
});

const noFit: (error: unknown) => void = () => undefined;

/** Starts a replica with its own store, as a process has. */
async function start({
  shutdownMs = 30_000,
  onFatal = noFit,
  own,
  log = fixture.context.log,
}: {
  shutdownMs?: number;
  onFatal?: typeof noFit;
  own?: Store;
  log?: Logger;
} = {}) {
  const replica = randomUUID();
  const { config } = fixture.context;
  const context = {
    ...fixture.context,
    log,
    store: own ?? (await store.as('keywarden_daemon')),
    config: { ...config, shutdown_timeout: { text: 'test', ms: shutdownMs } },
    replica,
  };
  const daemon = await startDaemon(context, { replica, onFatal, pollSeconds: 2 });
  daemons.push(daemon);
  return { daemon, replica };
}

const runs = async () =>
  await store.sql`
  select kind, attempt, replica, outcome, error from keywarden.job_run order by number`;
/** Returns the outcomes of each job of a kind, in starting order. Another slot may come while a test waits. */
const outcomesByJob = async (kind: string) =>
  (
    await store.sql`
      select array_agg(outcome order by number) as outcomes from keywarden.job_run where kind = ${kind} group by job_id order by min(number)`
  ).map(({ outcomes }) => outcomes as string[]);
const outcomesOf = async (kind: string) => (await outcomesByJob(kind)).flat();

test('the first jobs start at once and fill a new store, each job on one of the replicas', async () => {
  const replicas = await Promise.all([start(), start(), start()]);
  await replicas[0]?.daemon.settled(['keys', 'operations', 'credentials']);
  const done = await runs();
  expect(done.map(({ kind, outcome }) => `${kind} ${outcome}`).toSorted()).toEqual([
    'credentials done',
    'keys done',
    'operations done',
  ]);
  const [stored] = await store.sql`select count(*)::int as operations from keywarden.operation`;
  expect(stored?.operations).toBe(300);
});

test('a job that fails on every try opens an incident, which a later success ends; no message of the error is kept', async () => {
  await store.sql`update keywarden_jobs.queue set retry_limit = 1, retry_delay = 1, retry_backoff = false`;
  const fault = { method: 'GET', path: '/projects', kind: 'status', status: 400 };
  await fixture.controls.setFaults([fault]);
  await start();
  const incident = await until(async () => {
    const [found] =
      await store.sql`select scope, detail from keywarden.incident where kind = 'job_failed' and scope like 'job operations %'`;
    return found;
  });
  expect(incident.scope).toMatch(/^job operations /);
  expect(incident.detail).toMatchObject({
    kind: 'operations',
    error: { type: 'ControlPlaneError', code: 'rejected' },
  });
  expect((await outcomesByJob('operations'))[0]).toEqual(['failed', 'failed']);
  const [kept] = await store.sql`
    select output::text as output from keywarden_jobs.job where name = 'operations' and state = 'failed'`;
  expect(kept?.output).not.toMatch(/ at |napi_/);
  await fixture.controls.setFaults([]);
  const [failed] =
    await store.sql`select data::text as data, singleton_key from keywarden_jobs.job where name = 'operations'`;
  await store.sql`
    insert into keywarden_jobs.job (name, data, singleton_key, policy) values ('operations', ${failed?.data}::jsonb, ${failed?.singleton_key}, 'exclusive')`;
  await until(async () => {
    const [found] =
      await store.sql`select 1 from keywarden.incident where kind = 'job_failed' and scope like 'job operations %' and closed_by = 'keywarden'`;
    return found;
  });
  expect(await outcomesByJob('operations')).toContainEqual(['done']);
});

test('a store that is read-only, then full, then locked: the job is retried until the store recovers, without manual steps', async () => {
  await store.sql`update keywarden_jobs.queue set retry_delay = 1, retry_backoff = false`;
  await store.sql.unsafe(`
    create sequence public.troubles;
    create function public.trouble() returns trigger language plpgsql as $$
    begin
      case nextval('public.troubles')
        when 1 then raise exception 'cannot execute INSERT in a read-only transaction' using errcode = '25006';
        when 2 then raise exception 'could not extend file: No space left on device' using errcode = '53100';
        when 3 then raise exception 'canceling statement due to lock timeout' using errcode = '55P03';
        else return new;
      end case;
    end $$;
    create trigger trouble before insert on keywarden.sync_run for each row when (new.kind = 'operations') execute function public.trouble();
    grant usage on sequence public.troubles to keywarden_daemon;
    grant execute on function public.trouble() to keywarden_daemon`);
  await start();
  await until(async () => {
    const outcomes = await outcomesOf('operations');
    return outcomes.includes('done') ? outcomes : undefined;
  });
  expect(await outcomesOf('operations')).toEqual(['failed', 'failed', 'failed', 'done']);
  const [stored] = await store.sql`select count(*)::int as operations from keywarden.operation`;
  expect(stored?.operations).toBe(300);
  const errors = (await runs()).flatMap(({ error }) => (error === null ? [] : [(error as { code: string }).code]));
  expect(errors).toEqual(['25006', '53100', '55P03']);
});

const slow = { method: 'GET', path: '/projects/{project_id}/operations', kind: 'latency', latency_ms: 2000 };

test('a long job is handed back at once when its daemon stops, and another daemon continues it', async () => {
  await fixture.controls.setFaults([slow]);
  const { daemon, replica: first } = await start();
  await until(
    async () =>
      ((await fixture.controls.stats()).by_route as Record<string, unknown>)['GET /projects/{project_id}/operations'],
  );
  const { daemon: other, replica: second } = await start();
  await daemon.stop();
  expect(daemon.running()).toBe(0);
  await fixture.controls.setFaults([]);
  await other.settled(['operations']);
  const done = (await runs()).filter(({ kind }) => kind === 'operations');
  expect(done.map(({ outcome, replica }) => [outcome, replica])).toEqual([
    ['handed_back', first],
    ['done', second],
  ]);
});

test('a short job is finished before the daemon ends, and a job that does not end in time is handed back', async () => {
  const slowKeys = { method: 'GET', path: '/organizations/{org_id}/api_keys', kind: 'latency', latency_ms: 1500 };
  await fixture.controls.setFaults([slowKeys]);
  const busy = async () =>
    ((await fixture.controls.stats()).by_route as Record<string, unknown>)['GET /organizations/{org_id}/api_keys'];
  const { daemon } = await start();
  await until(busy);
  await daemon.stop();
  expect(await outcomesOf('keys')).toEqual(['done']);
  await store.sql`delete from keywarden.schedule_slot`;
  await fixture.controls.resetStats();
  await fixture.controls.setFaults([{ ...slowKeys, latency_ms: 20_000 }]);
  const { daemon: hasty } = await start({ shutdownMs: 1000 });
  await until(busy);
  await hasty.stop();
  expect(await outcomesOf('keys')).toEqual(['done', 'handed_back']);
  const [waiting] = await store.sql`select state from keywarden_jobs.job where name = 'keys' and state <= 'active'`;
  expect(waiting?.state).toBe('created');
});

test('a daemon that meets another schema than its own reports that', async () => {
  const fatal = Promise.withResolvers<unknown>();
  store.isTampered();
  await store.sql`insert into keywarden.migration (hash, created_at) values ('of a newer version', 9e12)`;
  await start({ onFatal: fatal.resolve }).catch(fatal.resolve);
  expect(String(await fatal.promise)).toMatch(/which do not match the \d+ of this version/);
});

test('a daemon does no job after another version has migrated the database, and hands it back', async () => {
  const fatal = Promise.withResolvers<unknown>();
  const { daemon } = await start({
    onFatal: (error) => {
      fatal.resolve(error);
      void daemon.stop();
    },
  });
  await daemon.settled(['keys', 'operations', 'credentials']);
  store.isTampered();
  await store.sql`insert into keywarden.migration (hash, created_at) values ('of a newer version', 9e12)`;
  const [taken] = await store.sql`
    insert into keywarden_jobs.job (name, data, singleton_key, policy)
    select name, data, singleton_key, policy from keywarden_jobs.job where name = 'keys' limit 1 returning id`;
  expect(String(await fatal.promise)).toMatch(/which do not match the \d+ of this version/);
  await daemon.stop();
  expect(await store.sql`select from keywarden.job_run where job_id = ${String(taken?.id)}`).toEqual([]);
  const waiting = await store.sql`select from keywarden_jobs.job where name = 'keys' and state = 'created'`;
  expect(waiting).toHaveLength(1);
});

test('a daemon that is stopped while it looks at the schema begins no job', async () => {
  const { daemon } = await start();
  await daemon.settled(['keys', 'operations', 'credentials']);
  const blocked = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  const blocking = store.sql.begin(async (tx) => {
    await tx`lock table keywarden.migration in access exclusive mode`;
    blocked.resolve();
    await isOver.promise;
  });
  await blocked.promise;
  const [taken] = await store.sql`
    insert into keywarden_jobs.job (name, data, singleton_key, policy)
    select name, data, singleton_key, policy from keywarden_jobs.job where name = 'keys' limit 1 returning id`;
  await until(() => daemon.running() > 0);
  const stopped = daemon.stop();
  isOver.resolve();
  await Promise.all([stopped, blocking]);
  expect(await store.sql`select from keywarden.job_run where job_id = ${String(taken?.id)}`).toEqual([]);
  const waiting = await store.sql`select from keywarden_jobs.job where name = 'keys' and state = 'created'`;
  expect(waiting).toHaveLength(1);
});

test('a replica without work records with each tick which policy it applies, so that others notice a difference', async () => {
  const { daemon, replica } = await start();
  await daemon.settled(['keys', 'operations', 'credentials']);
  await store.sql`delete from keywarden.replica_policy`;
  await daemon.tick();
  expect([...(await store.sql`select replica from keywarden.replica_policy`)]).toEqual([{ replica }]);
});

test('R10: a daemon notices that the store lacks its mark while another machine does the work', async () => {
  await armMachine(fixture.context, 'ada');
  const { daemon } = await start();
  await daemon.settled(['keys', 'operations', 'credentials']);
  const openIncidents = async () => await listIncidents(fixture.context.store.db, { isOpen: true, limit: 10 });
  expect(await openIncidents()).toEqual([]);
  // As a standby that lacks what this machine did last.
  await store.sql`delete from keywarden.high_water_mark`;
  await until(async () => {
    await daemon.tick();
    return (await openIncidents()).length > 0;
  });
  expect((await openIncidents()).map(({ kind }) => kind)).toEqual(['high_water_mark']);
});

test('a mark that cannot be read does not keep the ledger from growing', async () => {
  await armMachine(fixture.context, 'ada');
  writeFileSync(join(fixture.context.environment.KEYWARDEN_DATA, 'high-water-mark'), '');
  const { daemon } = await start();
  const size = await until(async () => {
    await daemon.tick();
    const [row] = await store.sql`select max(size)::int as size from keywarden.ledger_checkpoint`;
    return row?.size > 0 && row?.size;
  });
  expect(size).toBeGreaterThan(0);
});

test('a login that may not end sessions does not stop the schedules', async () => {
  const login = `login_${randomUUID().slice(0, 8)}`;
  await store.sql.unsafe(`create role ${login} login password 'x' in role keywarden_daemon`);
  await store.sql`revoke execute on function pg_terminate_backend from public`;
  const databaseUrl = Object.assign(new URL(store.url), { username: login, password: 'x' }).href;
  const role = 'keywarden_daemon';
  const own = await openStore({ databaseUrl, dataFolder: '', applicationName: 'keywarden', role });
  await expect(endStuckSessions(own.sql)).rejects.toMatchObject({ code: '42501' });
  const logged: string[] = [];
  const error = (_fields: unknown, message: string) => void logged.push(message);
  const { daemon } = await start({ own, log: Object.assign(Object.create(fixture.context.log) as Logger, { error }) });
  await daemon.settled(['keys', 'operations', 'credentials']);
  await daemon.tick();
  expect(logged).toEqual(['sessions of suspended processes cannot be ended; the daemon retries']);
  expect((await runs()).map(({ outcome }) => String(outcome))).toEqual(['done', 'done', 'done']);
  await daemon.stop();
  await own.close();
  await store.sql.unsafe(`drop role ${login}`);
});
