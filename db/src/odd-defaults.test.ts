import { randomBytes } from 'node:crypto';
import { listChangedMachinery, saveOperationPage } from '@keywarden/db/daemon';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { connect } from './connect.ts';
import { listShortLimits, migrateStore, openStore } from './store.ts';

// What the owner of a database may have set for its sessions.

/** Sets defaults of a store's database, and returns another store on it. */
async function reopen(store: TestStore, settings: Record<string, string>) {
  const [{ name } = {}] = await store.sql`select current_database() as name`;
  for (const [setting, value] of Object.entries(settings))
    await store.sql.unsafe(`alter database ${String(name)} set ${setting} = ${value}`);
  return await openStore({ databaseUrl: store.url, dataFolder: '', applicationName: 'odd defaults' });
}

test('A5: a value that is missing stays missing, also if the database has other settings for arrays, texts and transactions', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const other = await reopen(store, {
    array_nulls: 'off',
    standard_conforming_strings: 'off',
    transform_null_equals: 'on',
    bytea_output: 'escape',
    intervalstyle: 'iso_8601',
    extra_float_digits: '-3',
    default_transaction_isolation: 'serializable',
    datestyle: "'German'",
    timezone: "'Asia/Kathmandu'",
  });
  const plane = await makeControlPlane(other.sql);
  const project = await makeProject(other.sql, plane);
  const operation = makeWireOperation(1, { createdAt: '2026-05-01T00:00:00.000001Z', branchId: 'a\\b"c' });
  await saveOperationPage(other.sql, { project, operations: [operation, makeWireOperation(2, { error: 'broken' })] });
  const rows = await other.sql`select error, endpoint_id, branch_id, created_at::text from keywarden.operation
    order by created_at limit 1`;
  expect(rows).toEqual([
    { error: null, endpoint_id: null, branch_id: 'a\\b"c', created_at: '2026-05-01 00:00:00.000001+00' },
  ]);
  const [settings] = await other.sql`
    select current_setting('transaction_isolation') as isolation, current_setting('standard_conforming_strings') as strings`;
  expect(settings).toEqual({ isolation: 'read committed', strings: 'on' });
  await migrateStore(other.sql);
  await other.close();
  await store.close();
});

test('the limits of time that a database sets end no statement: an upgrade or a check of the ledger takes as long as it takes', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const other = await reopen(store, { statement_timeout: '1', lock_timeout: '1', idle_session_timeout: '1' });
  await other.sql`delete from keywarden.repeatable`;
  await migrateStore(other.sql);
  const limits = other.sql`select current_setting(name) as limit
    from unnest('{statement_timeout,lock_timeout,idle_session_timeout}'::text[]) as s(name)`;
  expect((await limits).map(({ limit }) => String(limit))).toEqual(['0', '0', '0']);
  await other.close();
  await store.close();
});

test('a read-only database, such as a standby, is refused with the reason, and may be tried again', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  await expect(reopen(store, { default_transaction_read_only: 'on' })).rejects.toMatchObject({
    message: expect.stringMatching(/ is read-only, as a standby is; set DATABASE_URL to the primary/),
    canRetry: true,
  });
  await store.close();
});

test('a database whose sessions run no triggers is refused, because the ledger would not have what it records', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  await expect(reopen(store, { session_replication_role: 'replica' })).rejects.toMatchObject({
    message: expect.stringMatching(/ has another session_replication_role than origin/),
    exit: 2,
  });
  await store.close();
});

test('row security that someone turned on hides no row, such as a pause: a process that starts is refused, and statements fail', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  await store.sql`alter table keywarden.pause enable row level security`;
  await expect(daemon.sql`select from keywarden.pause`).rejects.toMatchObject({ code: '42501' });
  await expect(store.as('keywarden_report')).rejects.toThrow(/^Row security is on for keywarden.pause, /);
  await store.sql`alter table keywarden_jobs.job enable row level security`;
  await expect(migrateStore(store.sql)).rejects.toThrow(/^Row security is on for keywarden.pause and 1 more, /);
  await store.close();
});

test('limits of connections that are too low for one daemon are listed, with the statement that raises them', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const name = `login_${randomBytes(6).toString('hex')}`;
  await store.sql.unsafe(`create role ${name} login password 'x' connection limit 15 in role keywarden_daemon`);
  const url = Object.assign(new URL(store.url), { username: name, password: 'x' });
  const daemon = connect(url.href, { applicationName: 'test', role: 'keywarden_daemon', pool: { max: 1 } });
  expect(await listShortLimits(daemon)).toEqual([
    `the user ${name} may have 15 connections, and one daemon holds up to 16: raise the limit for all daemons and reports with ALTER ROLE ${name} CONNECTION LIMIT ...`,
  ]);
  const database = url.pathname.slice(1);
  await store.sql.unsafe(`alter role ${name} connection limit 16; alter database ${database} connection limit 3`);
  expect(await listShortLimits(daemon)).toEqual([
    expect.stringMatching(
      `the database ${database} may have 3 connections.* ALTER DATABASE ${database} CONNECTION LIMIT`,
    ),
  ]);
  await store.sql.unsafe(`alter database ${database} connection limit -1`);
  expect(await listShortLimits(daemon)).toEqual([]);
  await daemon.end();
  await store.sql.unsafe(`drop role ${name}`);
  await store.close();
});

test.each(['LATIN1', 'SQL_ASCII'])('a database that cannot store every text is refused: %s', async (encoding) => {
  const options = { databaseUrl: inject('postgresUrl'), dataFolder: '', applicationName: 'odd defaults' };
  const administrator = await openStore({ ...options, migrations: 'none', maxConnections: 1 });
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administrator.sql.unsafe(`create database ${name} encoding '${encoding}' locale 'C' template template0`);
  const databaseUrl = Object.assign(new URL(inject('postgresUrl')), { pathname: `/${name}` }).href;
  for (const migrations of ['auto', 'migrate'] as const)
    await expect(openStore({ ...options, databaseUrl, migrations })).rejects.toMatchObject({
      message: expect.stringContaining(`has the encoding ${encoding}, which cannot store every text`),
      exit: 2,
    });
  await administrator.sql.unsafe(`drop database ${name} with (force)`);
  await administrator.close();
});

test('how names are written does not make the functions of a store those of another version', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const other = await reopen(store, { quote_all_identifiers: 'on' });
  expect(await listChangedMachinery(other.sql)).toEqual([]);
  await other.sql`delete from keywarden.repeatable`;
  await migrateStore(other.sql);
  expect(await listChangedMachinery(store.sql)).toEqual([]);
  await other.close();
  await store.close();
});

test('the address of a database may be an IPv6 address, with or without a port', () => {
  const of = (url: string) => {
    const { host, port } = connect(url, { applicationName: 'test', pool: { max: 1 } }).options;
    return [host, port];
  };
  expect(of('postgres://u:p@[2001:db8::1]:5433/x')).toEqual([['2001:db8::1'], [5433]]);
  expect(of('postgres://u:p@[::1]/x')).toEqual([['::1'], [5432]]);
  expect(of('postgres://u:p@db.example:5433/x')).toEqual([['db.example'], [5433]]);
});

test('the name of a database may have any characters, as escapes in its address', async () => {
  const options = { databaseUrl: inject('postgresUrl'), dataFolder: '', applicationName: 'odd defaults' };
  const administrator = await openStore({ ...options, migrations: 'none', maxConnections: 1 });
  const name = `test_${randomBytes(6).toString('hex')} ä/%2F`;
  const databaseUrl = Object.assign(new URL(inject('postgresUrl')), { pathname: `/${encodeURIComponent(name)}` }).href;
  await expect(openStore({ ...options, databaseUrl })).rejects.toThrow(`There is no database ${name} at `);
  await administrator.sql.unsafe(`create database "${name}"`);
  const other = await openStore({ ...options, databaseUrl, migrations: 'none' });
  expect(await other.sql`select current_database() as name`).toEqual([{ name }]);
  await other.close();
  await administrator.sql.unsafe(`drop database "${name}" with (force)`);
  await administrator.close();
});
