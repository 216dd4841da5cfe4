import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbedded } from './embedded/embedded.ts';
import { embeddedLogin } from './embedded/logins.ts';
import { assertCurrent, migrateStore, openStore, type Store } from './store.ts';

// What a backup lacks: pg_dump has no roles, and pg_restore --no-acl leaves the grants out.

const dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-restored-'));
const logins = 'keywarden_admin_login, keywarden_daemon_login, keywarden_report_login';
const roles = 'keywarden_admin, keywarden_daemon, keywarden_report';
let owner: Store;
let url: string;

beforeAll(async () => {
  owner = await openStore({ databaseUrl: undefined, dataFolder, applicationName: 'owner' });
  const embedded = await openEmbedded(dataFolder);
  url = embeddedLogin(embedded.url, 'keywarden_daemon');
  await embedded.close();
});
afterAll(async () => {
  await owner.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

/** Returns who may do what with each object of both schemas. */
async function readRights(): Promise<readonly unknown[]> {
  return await owner.sql`
    select name, acl::text from (
      select 'schema ' || nspname as name, nspacl as acl, oid as schema from pg_namespace
      union all select 'relation ' || relname, relacl, relnamespace from pg_class
      union all select format('column %s.%s', relname, attname), attacl, relnamespace from pg_attribute join pg_class c on c.oid = attrelid
      union all select 'function ' || p.oid::regprocedure, proacl, pronamespace from pg_proc p) o
    where acl is not null and schema in ('keywarden'::regnamespace, 'keywarden_jobs'::regnamespace) order by name`;
}

const openAsDaemon = async () =>
  await openStore({ databaseUrl: url, dataFolder, applicationName: 'test', role: 'keywarden_daemon' });

test.each([
  ['its grants', `drop owned by ${roles}`, "lacks the roles' rights"],
  ['its roles', `drop owned by ${roles}; drop role ${logins}, ${roles}`, 'has no role keywarden_daemon yet'],
])(
  'a store that was restored without %s gets them from migrate, and until then names that',
  async (_what, drop, why) => {
    const before = await readRights();
    await owner.sql.unsafe(drop);
    if (drop.includes('role '))
      await owner.sql.unsafe(`create role keywarden_daemon_login login password '${new URL(url).password}'`);
    await expect(openAsDaemon()).rejects.toThrow(why);
    await expect(openAsDaemon()).rejects.toThrow(/; run keywarden migrate\.$/);
    await expect(assertCurrent(owner.sql)).rejects.toThrow('run keywarden migrate');
    expect((await migrateStore(owner.sql)).functions).toBeGreaterThan(0);
    expect(await readRights()).toEqual(before);
    expect(await migrateStore(owner.sql)).toEqual({ migrations: 0, functions: 0, sequences: 0 });
    await owner.sql.unsafe('grant keywarden_daemon to keywarden_daemon_login');
    const daemon = await openAsDaemon();
    await daemon.sql`select from keywarden_jobs.job`;
    await daemon.close();
  },
);
