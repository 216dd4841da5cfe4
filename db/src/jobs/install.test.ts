import { fillEveryTable } from '@keywarden/testkit/store/fill-every-table';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { migrateStore } from '../migrate.ts';
import { createBoss, overPostgres } from './boss.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

const evil = `create role keywarden_evil superuser`;
const plantCommand = `insert into keywarden_jobs.bam (name, version, table_name, command) values ('x', 1, 'job', '${evil}')`;
const plantName = `update keywarden_jobs.queue set partition = true, table_name = 'job_common; ${evil}; --'`;

/** Makes the next migration install the queues again, as a new version of pg-boss does. */
async function upgrade(): Promise<void> {
  await store.sql.unsafe(`comment on schema keywarden_jobs is 'pg-boss 1'`);
  await store.sql.unsafe('update keywarden_jobs.version set bam_on = null'); // when it last looked for commands
  await migrateStore(store.sql);
}

const findEvil = async () => await store.sql`select rolname from pg_roles where rolname = 'keywarden_evil'`;

test.each([
  plantCommand,
  plantName,
  'update keywarden_jobs.bam set command = command',
  'update keywarden_jobs.version set version = version - 1',
  'insert into keywarden_jobs.schedule (name, cron) values (1, 1)',
  'delete from keywarden_jobs.queue',
  `select keywarden_jobs.create_queue('x', '{}')`,
  `select keywarden_jobs.job_table_run('${evil}')`,
])('neither role may write what the owner runs with the next upgrade of the queues: %s', async (statement) => {
  for (const role of ['keywarden_daemon', 'keywarden_report'] as const)
    await expect((await store.as(role)).sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
});

test('what an earlier version let the daemon write is never run by the owner', async () => {
  await store.sql.unsafe('grant insert, update on keywarden_jobs.bam, keywarden_jobs.queue to keywarden_daemon');
  const daemon = await store.as('keywarden_daemon');
  await daemon.sql.unsafe(plantCommand);
  await daemon.sql.unsafe(plantName);
  await upgrade();
  expect(await findEvil()).toEqual([]);
  expect(await store.sql`select command from keywarden_jobs.bam`).toEqual([]);
  expect(await store.sql`select distinct table_name from keywarden_jobs.queue`).toEqual([{ table_name: 'job_common' }]);
  await expect(daemon.sql.unsafe(plantCommand)).rejects.toMatchObject({ code: '42501' });
});

test('hostile texts in every table are only texts: migrations, functions and the queues are upgraded over them', async () => {
  const other = await createTestStore(inject('postgresUrl'));
  // Items are added to a review after it was recorded.
  other.isTampered();
  const hostile = `'; ${evil}; -- $$ %1$s \\" ${'x'.repeat(3000)} \u202e`;
  expect((await fillEveryTable(other.sql, hostile)).length).toBeGreaterThan(50);
  const { connect } = await other.as('keywarden_daemon');
  const boss = createBoss(overPostgres(connect({ max: 1, parsesJson: true })), {
    superviseSeconds: null,
    listens: false,
  });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.send('keys', { account: hostile }, { singletonKey: hostile });
  await boss.stop({ graceful: false, close: false });
  await other.sql.unsafe(
    `comment on schema keywarden_jobs is 'pg-boss 1'; delete from keywarden.repeatable where name = '90-grants.sql'`,
  );
  await other.sql.unsafe('update keywarden_jobs.version set bam_on = null');
  expect(await migrateStore(other.sql)).toEqual({ migrations: 0, functions: 1, sequences: 0 });
  expect(await findEvil()).toEqual([]);
  await other.close();
});

test('the counter-test: the owner runs a command that is in the table when pg-boss starts', async () => {
  await store.sql.unsafe(plantCommand);
  await upgrade();
  expect(await findEvil()).toHaveLength(1);
  await store.sql.unsafe('drop role keywarden_evil');
});

test('the daemon’s role can do all that its workers and their supervision do', async () => {
  const { connect } = await store.as('keywarden_daemon');
  const boss = createBoss(overPostgres(connect({ max: 1, parsesJson: true })), { superviseSeconds: 1, listens: false });
  const errors: unknown[] = [];
  boss.on('error', (error) => errors.push(error));
  boss.on('warning', (warning) => errors.push(warning));
  await boss.start();
  await boss.send('keys', { account: 'x' }, { singletonKey: 'x' });
  const [job] = await boss.fetch('keys');
  await boss.fail('keys', job?.id ?? '', { message: 'no' });
  await boss.supervise();
  await boss.stop({ graceful: false, close: false });
  expect(errors).toEqual([]);
});
