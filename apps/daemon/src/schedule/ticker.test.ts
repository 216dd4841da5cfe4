import { createBoss, overPostgres } from '@keywarden/db/jobs';
import { type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { type TickOptions, tick } from './ticker.ts';

let store: TestStore;
let fixture: Fixture;
let replicas: { options: TickOptions; stop: () => Promise<void> }[];
let nowMs: number;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store);
  nowMs = Date.parse('2026-06-15T11:59:57Z');
  replicas = await Promise.all([makeReplica(), makeReplica()]);
});
afterEach(async () => {
  for (const { stop } of replicas) await stop();
  await fixture.close();
  await store.close();
});

/** Creates a replica that ticks on this test's clock. */
async function makeReplica() {
  const sql = fixture.context.store.connect({ max: 1, parsesJson: true });
  const queues = createBoss(overPostgres(sql), { superviseSeconds: null, listens: false });
  queues.on('error', () => undefined);
  await queues.start();
  const { config, replica } = fixture.context;
  return {
    options: { sql, queues, config, replica, now: () => nowMs },
    stop: () => queues.stop({ graceful: false, close: false }),
  };
}

/** Returns what all replicas enqueue when they tick at the same moment. */
async function tickAll(at: string): Promise<string[]> {
  nowMs = Date.parse(at);
  const ticks = await Promise.all(replicas.map(({ options }) => tick(options)));
  return ticks
    .flatMap(({ enqueued }) => enqueued)
    .map(({ schedule, slot, jobs }) => `${schedule} ${slot.slice(0, 16)} ${jobs}`)
    .toSorted();
}

/** Ends all jobs as done. */
async function finishAll(): Promise<void> {
  await store.sql`update keywarden_jobs.job set state = 'completed', completed_on = now() where state <= 'active'`;
}

test('on a new store keys, operations and credentials begin at once, and the other jobs at their next time', async () => {
  expect(await tickAll('2026-06-15T11:59:57Z')).toEqual([
    'credentials 2026-06-15T03:40 1',
    'enforce 2026-06-15T11:10 0',
    'keys 2026-06-15T11:45 1',
    'operations 2026-06-15T11:45 1',
    'retention 2026-06-15T04:50 0',
    'rotate 2026-06-15T11:25 0',
    'sweep 2026-06-15T04:20 0',
  ]);
});

test('a time is enqueued once, whichever replica ticks and however often; a running job is not enqueued again beside itself', async () => {
  await tickAll('2026-06-15T11:59:57Z');
  await finishAll();
  expect(await tickAll('2026-06-15T12:00:00Z')).toEqual(['keys 2026-06-15T12:00 1', 'operations 2026-06-15T12:00 1']);
  expect(await tickAll('2026-06-15T12:00:01Z')).toEqual([]);
  // The jobs of 12:00 have not ended.
  expect(await tickAll('2026-06-15T12:15:00Z')).toEqual([
    'enforce 2026-06-15T12:10 1',
    'keys 2026-06-15T12:15 0',
    'operations 2026-06-15T12:15 0',
  ]);
});

test('after a time without ticks, only the last missed time of each schedule is caught up', async () => {
  await tickAll('2026-06-15T11:59:57Z');
  await finishAll();
  expect(await tickAll('2026-06-18T09:07:00Z')).toEqual([
    'credentials 2026-06-18T03:40 1',
    'enforce 2026-06-18T08:10 1',
    'keys 2026-06-18T09:00 1',
    'operations 2026-06-18T09:00 1',
    'retention 2026-06-18T04:50 1',
    'rotate 2026-06-18T08:25 1',
    'sweep 2026-06-18T04:20 1',
  ]);
  expect(await tickAll('2026-06-18T09:07:05Z')).toEqual([]);
});

test('a clock that is set back repeats nothing; one that was too far ahead stops nothing once it is right again', async () => {
  await tickAll('2026-06-15T12:16:00Z');
  await finishAll();
  expect(await tickAll('2026-06-15T12:01:00Z')).toEqual([
    'enforce 2026-06-15T11:10 0',
    'keys 2026-06-15T12:00 1',
    'operations 2026-06-15T12:00 1',
  ]);
  await finishAll();
  expect(await tickAll('2026-06-15T12:16:30Z')).toEqual([]);
  await tickAll('2031-01-01T00:00:30Z');
  await finishAll();
  expect(await tickAll('2026-06-15T12:30:00Z')).toEqual([
    'keys 2026-06-15T12:30 1',
    'operations 2026-06-15T12:30 1',
    'rotate 2026-06-15T12:25 1',
  ]);
});

test("a job that failed while the database's clock was a year ahead is retried; a process that died then is found dead", async () => {
  await tickAll('2026-06-15T11:59:57Z');
  const inAYear = store.sql`now() + interval '1 year'`;
  await store.sql`update keywarden_jobs.job set state = 'retry', start_after = ${inAYear} where name = 'keys'`;
  await store.sql`
    update keywarden_jobs.job set state = 'active', started_on = ${inAYear}, heartbeat_on = ${inAYear} where name = 'operations'`;
  await store.sql`update keywarden_jobs.queue set monitor_claim_on = ${inAYear}, monitor_on = ${inAYear}, maintain_on = ${inAYear}`;
  await tickAll('2026-06-15T11:59:58Z');
  const [queues] = replicas.map(({ options }) => options.queues);
  expect(await queues?.fetch('keys')).toHaveLength(1);
  await store.sql`update keywarden_jobs.job set heartbeat_on = heartbeat_on - interval '1 minute' where name = 'operations'`;
  await store.sql`update keywarden_jobs.queue set monitor_claim_on = monitor_claim_on - interval '10 minutes'`;
  await queues?.supervise('operations');
  expect(await store.sql`select state from keywarden_jobs.job where name = 'operations'`).toEqual([{ state: 'retry' }]);
});

test("the machine's time zone changes nothing", async () => {
  await tickAll('2026-06-15T12:16:00Z');
  const before = process.env.TZ;
  process.env.TZ = 'Asia/Kathmandu';
  expect(await tickAll('2026-06-15T12:20:00Z')).toEqual([]);
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

test('a tick returns when the next time comes', async () => {
  nowMs = Date.parse('2026-06-15T12:04:00Z');
  const [first] = replicas;
  expect((await tick(first?.options ?? fail())).nextMs).toBe(6 * 60_000);
});

function fail(): never {
  throw new Error('there is no replica');
}
