import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Operation, openFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';
import { openDatabase } from './database.ts';

/** Returns the path of a file as version 1 wrote it: projects without branches, an operation in progress. */
function oldFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const sqlite = new DatabaseSync(file);
  // Recent by the clock of the machine: the sandbox lists no operation that is older than six months.
  const created = (Date.now() - 86_400_000) * 1000;
  sqlite.exec(`
    create table setting (name text primary key, value text not null) strict;
    create table user (id text primary key, name text not null, email text not null, created_at integer not null) strict;
    create table organization (id text primary key, name text not null, plan text not null, created_at integer not null) strict;
    create table member (id text primary key, organization_id text not null, user_id text not null, role text not null,
      joined_at integer not null, left_at integer, unique (organization_id, user_id)) strict;
    create table project (id text primary key, organization_id text not null, owner_id text not null, name text not null,
      region_id text not null, pg_version integer not null, cpu_used_sec integer not null, created_at integer not null,
      updated_at integer not null, deleted_at integer) strict;
    create table api_key (id integer primary key, kind text not null, token_hash text not null unique, name text not null,
      organization_id text, project_id text, user_id text not null, created_at integer not null, last_used_at integer,
      last_used_from_addr text not null default '', busy_every integer, revoked_at integer) strict;
    create table operation (seq integer primary key, id text not null unique, project_id text not null, branch_id text,
      endpoint_id text, action text not null, status text not null, failures_count integer not null, error text,
      created_at integer not null, updated_at integer not null, next_at integer, next_status text) strict;
    insert into user values ('u', 'Ada Ito', 'ada@company.example', ${created});
    insert into organization values ('org-a', 'A', 'scale', ${created});
    insert into member values ('m', 'org-a', 'u', 'admin', ${created}, null);
    insert into project values ('old-project', 'org-a', 'u', 'shop', 'aws-us-east-2', 17, 5, ${created}, ${created}, null);
    insert into api_key (id, kind, token_hash, name, user_id, created_at) values (1, 'personal', 'x', 'keywarden', 'u', ${created});
    insert into operation values (1, '0b6c0c4e-8e5a-4b5e-a1b1-1f0c7f0e0001', 'old-project', 'br-known', 'ep-known', 'start_compute',
      'running', 0, null, ${created}, ${created}, ${created + 60_000_000}, 'finished');`);
  sqlite.close();
  return file;
}

test('a file of version 1 is upgraded without loss, and its projects get the branches that operations name', async () => {
  const { api, control } = await openFixture({ file: oldFile(), adminKey: 'napi_old' });
  const { operations } = (await api<{ operations: Operation[] }>('/projects/old-project/operations')).body;
  expect(operations.at(-1)).toMatchObject({ branch_id: 'br-known', status: 'finished' });
  const { branches } = (await api<{ branches: { id: string; default: boolean }[] }>('/projects/old-project/branches'))
    .body;
  expect(branches).toContainEqual(expect.objectContaining({ id: 'br-known', default: true }));
  const made = await api('/projects/old-project/branches', { body: { branch: { name: 'new' } } });
  expect(made.status).toBe(201);
  expect((await control<unknown[]>('/keys')).body).toHaveLength(1);
});

test('a file of version 2 keeps its operations under the new name of a column', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  openDatabase(file).close();
  const sqlite = new DatabaseSync(file);
  sqlite.exec('alter table operation rename column outcome to fate; pragma user_version = 2');
  sqlite.close();
  const upgraded = openDatabase(file);
  upgraded.close();
  const columns = new DatabaseSync(file).prepare("select name from pragma_table_info('operation')").all();
  expect(columns.map(({ name }) => name)).toContain('outcome');
});

test('a file of a later version is not changed', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const sqlite = new DatabaseSync(file);
  sqlite.exec('pragma user_version = 99');
  sqlite.close();
  expect(() => openDatabase(file)).toThrow('the file is of a newer version (99) than this sandbox (3)');
});
