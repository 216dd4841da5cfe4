import { randomUUID } from 'node:crypto';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type { Sql } from '../sql.ts';
import { finishJobRun, forgetOldJobs, openJobIncident, startJobRun } from './runs.ts';

let store: TestStore;
let daemon: Sql;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  store.isTampered();
  daemon = (await store.as('keywarden_daemon')).sql;
});
beforeEach(async () => {
  await store.sql`delete from keywarden.job_run`;
  await store.sql`truncate keywarden.incident cascade`;
});
afterAll(async () => await store.close());

const begin = async (jobId: string, account: string) =>
  await startJobRun((await store.as('keywarden_daemon')).db, {
    jobId,
    kind: 'keys',
    account,
    slotAt: null,
    attempt: 1,
    replica: randomUUID(),
  });
const done = async (account: string, connections: string[]) =>
  await finishJobRun(daemon, { number: await begin(randomUUID(), account), outcome: 'done', connections });
const openIncidents = async () => await store.sql`select scope, detail from keywarden.incident where closed_at is null`;

test('a job whose processes died is an incident without an error, even if other jobs of its account succeeded before', async () => {
  await done('1/a', ['main']);
  const jobId = randomUUID();
  for (let attempt = 0; attempt < 4; attempt += 1) await begin(jobId, '1/a');
  const died = { kind: 'keys', account: '1/a', connections: ['main'], jobId };
  await openJobIncident(daemon, { ...died, diedAt: new Date(Date.now() + 1000) });
  const [incident] = await openIncidents();
  expect(incident).toMatchObject({ scope: 'job keys 1/a', detail: { kind: 'keys', error: null } });
  await done('1/a', ['main']);
  expect(await openIncidents()).toEqual([]);
});

test('a late report of a failed job opens no incident if a later job has succeeded', async () => {
  const diedAt = new Date(Date.now() - 60_000);
  await done('1/a', ['main']);
  await openJobIncident(daemon, { kind: 'keys', account: '1/a', connections: ['main'], jobId: null, diedAt });
  expect(await openIncidents()).toEqual([]);
});

test('a job that succeeded while the clock was a day ahead hides no failure after the clock was set right', async () => {
  await done('1/a', ['main']);
  await store.sql`update keywarden.job_run set finished_at = finished_at + interval '1 day'`;
  await openJobIncident(daemon, {
    kind: 'keys',
    account: '1/a',
    connections: ['main'],
    jobId: null,
    diedAt: new Date(),
  });
  expect((await openIncidents()).map(({ scope }) => scope)).toEqual(['job keys 1/a']);
});

test('a connection that authenticates again, as another account, settles its earlier incidents', async () => {
  const told = { kind: 'keys', jobId: null, diedAt: new Date() };
  await openJobIncident(daemon, { ...told, account: 'main', connections: ['main'] });
  await openJobIncident(daemon, { ...told, account: 'other', connections: ['other'] });
  await done('1/a', ['main', 'second']);
  expect((await openIncidents()).map(({ scope }) => scope)).toEqual(['job keys other']);
});

test('a success settles only open incidents of its kind, of its account or of its connections', async () => {
  const died = { jobId: null, diedAt: new Date() };
  const failed = (kind: string, account: string, connections: string[]) =>
    openJobIncident(daemon, { ...died, kind, account, connections });
  await failed('keys', '1/a', ['main']);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  await failed('operations', '1/a', ['main']);
  await failed('keys', '1/b', []);
  await store.sql`insert into keywarden.incident (kind, scope, detail) values
    ('breaker', 'job keys 1/a', '{"kind": "keys", "connections": ["main"]}')`;
  const attempt = await begin(randomUUID(), '1/b');
  await finishJobRun(daemon, { number: attempt, outcome: 'failed', error: {}, connections: ['main'] });
  await done('1/a', ['main']);
  expect((await openIncidents()).map(({ scope }) => String(scope)).toSorted()).toEqual([
    'job keys 1/a',
    'job keys 1/b',
    'job operations 1/a',
  ]);
  expect(await store.sql`select closed_by from keywarden.incident where closed_at is not null`).toEqual([
    { closed_by: 'ada' },
  ]);
});

test('the incident of a job has the error of its last failed attempt, and the success of another job does not keep it away', async () => {
  const jobId = randomUUID();
  const died = { kind: 'keys', account: '1/a', connections: ['main'], jobId, diedAt: new Date(Date.now() - 60_000) };
  for (const code of ['first', 'second'])
    await finishJobRun(daemon, { number: await begin(jobId, '1/a'), outcome: 'failed', error: { code } });
  await finishJobRun(daemon, { number: await begin(jobId, '1/a'), outcome: 'handed_back', error: { code: 'stopped' } });
  await done('1/b', ['other']);
  await store.sql`update keywarden.job_run set kind = 'operations', account = '1/a' where account = '1/b'`;
  await done('1/b', ['other']);
  for (let times = 0; times < 2; times += 1) await openJobIncident(daemon, died);
  expect((await openIncidents()).map(({ detail }) => detail)).toMatchObject([{ error: { code: 'second' } }]);
  await openJobIncident(daemon, { ...died, connections: ['main', 'second'] });
  expect((await openIncidents()).map(({ detail }) => detail)).toMatchObject([{ connections: ['main', 'second'] }]);
});

test('attempts of the last 30 days, and the last time of each schedule, are kept, even if the daemon asks to forget more', async () => {
  const { sql } = store;
  for (const days of [29, 31]) {
    await begin(randomUUID(), `${days} days ago`);
    await sql`update keywarden.job_run set started_at = now() - ${days} * interval '1 day' where account = ${`${days} days ago`}`;
  }
  await sql`
    insert into keywarden.schedule_slot (schedule, slot_at, jobs)
    values ('often', now() - interval '50 days', 1), ('often', now() - interval '40 days', 1), ('seldom', now() - interval '60 days', 1)`;
  const count = async () =>
    await sql`select (select count(*)::int from keywarden.job_run) as runs, (select count(*)::int from keywarden.schedule_slot) as slots`;
  await forgetOldJobs(daemon, 55 * 86_400_000);
  expect(await count()).toEqual([{ runs: 2, slots: 3 }]);
  await forgetOldJobs(daemon, 0);
  expect((await sql`select account from keywarden.job_run`).map(({ account }) => account)).toEqual(['29 days ago']);
  const slots = await sql`
    select schedule, extract(day from now() - slot_at)::int as days from keywarden.schedule_slot order by schedule`;
  // A schedule without a last time would begin anew, and catch nothing up.
  expect(slots.map(({ schedule, days }) => [schedule, days])).toEqual([
    ['often', 40],
    ['seldom', 60],
  ]);
});
