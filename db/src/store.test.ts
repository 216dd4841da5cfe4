import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPooler } from '@keywarden/testkit/store/pooler';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { connect, readVersion } from './connect.ts';
import { assertAppLogin, openStore, readNow } from './store.ts';

test('an embedded database with the migrations of another version is refused, and no connection to it stays open', async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-store-'));
  const first = await openStore({ databaseUrl: undefined, dataFolder, applicationName: 'first' });
  try {
    await first.sql`update keywarden.migration set hash = 'of another version'`;
    await expect(
      openStore({ databaseUrl: undefined, dataFolder, applicationName: 'second', role: 'keywarden_daemon' }),
    ).rejects.toThrow(/which do not match the \d+ of this version/);
    for (let open = 1; open > 0; ) {
      const [row] = await first.sql`select count(*)::int as n from pg_stat_activity where application_name = 'second'`;
      open = Number(row?.n);
    }
    const [row] =
      await first.sql`select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`;
    expect(Number(row?.n)).toBeLessThanOrEqual(3); // our connection, and the one by which the server counts its members
  } finally {
    await first.close();
    rmSync(dataFolder, { recursive: true, force: true });
  }
});

test('each role has an ordinary login in the embedded database: it cannot return to the superuser, or act as another role', async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-store-'));
  const options = { databaseUrl: undefined, dataFolder, applicationName: 'test' };
  const [daemon, report] = await Promise.all([
    openStore({ ...options, role: 'keywarden_daemon' }),
    openStore({ ...options, role: 'keywarden_report' }),
  ]);
  try {
    for (const { store, others } of [
      { store: daemon, others: ['keywarden_admin', 'keywarden_report'] },
      { store: report, others: ['keywarden_admin', 'keywarden_daemon'] },
    ]) {
      await assertAppLogin(store.sql);
      for (const role of [...others, 'keywarden'])
        await expect(store.sql.unsafe(`set role ${role}`)).rejects.toMatchObject({ code: '42501' });
      const session = store.connect({ max: 1 });
      await session`set role none`;
      for (const statement of ['create role mine', 'select 1 from keywarden.migration', 'create table public.mine ()'])
        await expect(session.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
    }
    const admin = daemon.connect({ max: 1, role: 'keywarden_admin' });
    expect(await admin`select current_user as name`).toEqual([{ name: 'keywarden_admin' }]);
  } finally {
    await Promise.all([daemon.close(), report.close()]);
    rmSync(dataFolder, { recursive: true, force: true });
  }
});

test('a server that closes each connection before its session is ready is reported', async () => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on a port
  const url = `postgres://u:hunter2@127.0.0.1:${port}/x`;
  const sql = connect(url, { applicationName: 'test', pool: { max: 1 } });
  const sentence = `The server at 127.0.0.1:${port} accepts connections, and does not answer as Postgres does`;
  await expect(readVersion(sql, url, undefined)).rejects.toThrow(sentence);
  await sql.end({ timeout: 0 });
  server.close();
});

test('a login of another role is advised to use its own login, and never a grant of keywarden_admin', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const login = `other_${randomUUID().replaceAll('-', '')}`;
  await store.sql.unsafe(`create user ${login} password 'x' in role keywarden_daemon`);
  const url = new URL(store.url);
  [url.username, url.password] = [login, 'x'];
  const options = { databaseUrl: url.href, dataFolder: tmpdir(), applicationName: 'test' };
  const advice = 'set DATABASE_URL to a login of that role (docs/ROLES.md)';
  await expect(openStore({ ...options, role: 'keywarden_admin' })).rejects.toThrow(
    `may not act as keywarden_admin; ${advice}.`,
  );
  await expect(openStore({ ...options, role: 'keywarden_report' })).rejects.toThrow(
    `may not act as keywarden_report; ${advice}, or grant it as its owner: GRANT keywarden_report TO "${login}".`,
  );
  const daemon = await openStore({ ...options, role: 'keywarden_daemon' });
  expect(await readNow(daemon.sql)).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  await daemon.close();
  await store.sql.unsafe(`drop user ${login}`);
  await store.close();
});

test('R4: a commit is on disk before a call is sent, under any default of the server or database', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const [{ name } = {}] = await store.sql`select current_database() as name`;
  await store.sql.unsafe(`alter database ${String(name)} set synchronous_commit = off`);
  const daemon = await store.as('keywarden_daemon');
  const pools = [daemon.sql, daemon.connect({ max: 1 }), daemon.connect({ max: 1, settings: { lock_timeout: 1000 } })];
  for (const sql of pools) expect(await sql`show synchronous_commit`).toEqual([{ synchronous_commit: 'on' }]);
  // A suspended process keeps no lock for ever, and a machine that vanished keeps none for more than about a minute.
  for (const sql of pools)
    expect(
      await sql`select string_agg(setting, ' ' order by name) as limits from pg_settings where name ~ '^tcp_keepalives'`,
    ).toEqual([{ limits: '3 30 10' }]);
  await store.close();
});

test.each(['drops settings', 'refuses settings'] as const)(
  'a connection pooler that %s is refused: it keeps neither the role of a process nor its locks',
  async (manner) => {
    const store = await createTestStore(inject('postgresUrl'));
    const pooler = await startPooler(store.url, manner);
    for (const role of ['keywarden_daemon', undefined] as const) {
      const opened = openStore({
        databaseUrl: pooler.url,
        dataFolder: '.',
        applicationName: 'test',
        ...(role && { role }),
      });
      await expect(opened).rejects.toThrow('set DATABASE_URL to the address of the database itself');
    }
    pooler.close();
    await store.close();
  },
);

test('a connection pooler is refused also where the login has the settings that it drops', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  await store.sql.unsafe(`
    create role login_pooled login password 'x' in role keywarden_daemon;
    alter role login_pooled set role = keywarden_daemon;
    alter role login_pooled set search_path = pg_catalog, pg_temp`);
  const pooler = await startPooler(store.url, 'drops settings');
  const open = async (url: string) => {
    const databaseUrl = Object.assign(new URL(url), { username: 'login_pooled', password: 'x' }).href;
    const options = { databaseUrl, dataFolder: '.', applicationName: 'test', role: 'keywarden_daemon' } as const;
    await (await openStore(options)).close();
  };
  await open(store.url);
  await expect(open(pooler.url)).rejects.toThrow('set DATABASE_URL to the address of the database itself');
  pooler.close();
  await store.sql.unsafe('drop role login_pooled');
  await store.close();
});

test('the message to a login that may not connect to the database names the grant that it lacks', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const [{ name } = {}] = await store.sql`select current_database() as name`;
  await store.sql.unsafe(`create role login_outside login password 'x' in role keywarden_daemon`);
  await store.sql.unsafe(`revoke connect on database ${String(name)} from public`);
  const databaseUrl = Object.assign(new URL(store.url), { username: 'login_outside', password: 'x' }).href;
  const options = { databaseUrl, dataFolder: '.', applicationName: 'test' };
  const advice = `grant it as its owner: GRANT CONNECT ON DATABASE "${String(name)}" TO "login_outside".`;
  await expect(openStore({ ...options, role: 'keywarden_daemon' })).rejects.toThrow(advice);
  await expect(openStore({ ...options, migrations: 'migrate' })).rejects.toThrow(advice);
  await store.sql.unsafe('drop role login_outside');
  await store.close();
});

test('a login of a role alone is accepted; a superuser, an owner and a member of the owner are refused', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const { pathname, username } = new URL(store.url);
  await store.sql.unsafe(`
    create role login_app login password 'x' in role keywarden_daemon;
    create role login_maker login password 'x' createrole in role keywarden_daemon;
    create role login_owner login password 'x' in role keywarden_daemon, ${username}`);
  const login = async (name: string) => {
    const databaseUrl = Object.assign(new URL(store.url), { username: name, password: 'x', pathname }).href;
    const opened = await openStore({ databaseUrl, dataFolder: '.', applicationName: 'test', role: 'keywarden_daemon' });
    try {
      await assertAppLogin(opened.sql);
      return 'accepted';
    } catch (error) {
      return (error as Error).message;
    } finally {
      await opened.close();
    }
  };
  expect(await login('login_app')).toBe('accepted');
  expect(await login('login_maker')).toContain('may create roles');
  expect(await login('login_owner')).toContain('owns the tables');
  await expect(assertAppLogin(store.sql)).rejects.toThrow('is a superuser');
  await store.sql.unsafe('drop role login_app, login_maker, login_owner');
  await store.close();
});
