import type { DatabaseSync } from 'node:sqlite';

export const operationIndexes = {
  operation_by_id: 'create unique index if not exists operation_by_id on operation (id)',
  operation_by_time:
    'create index if not exists operation_by_time on operation (project_id, created_at desc, seq desc)',
};

/**
 * The tables of a sandbox. Instants are integers of microseconds, booleans are 0 or 1, JSON is text. A deleted row that can be recovered has
 * deleted_at and purge_at. Every column that ends in _at and has an index of its own is a due time.
 */
export const schema = `
create table if not exists setting (name text primary key, value text not null) strict;
create table if not exists user (
  id text primary key, name text not null, email text not null, created_at integer not null
) strict;
create table if not exists organization (
  id text primary key, name text not null, plan text not null, created_at integer not null
) strict;
create table if not exists member (
  id text primary key, organization_id text not null, user_id text not null, role text not null,
  joined_at integer not null, left_at integer, unique (organization_id, user_id)
) strict;
create table if not exists invitation (
  id text primary key, organization_id text not null, email text not null, role text not null, invited_by text not null,
  invited_at integer not null
) strict;

create table if not exists project (
  id text primary key, organization_id text not null, owner_id text not null, name text not null, region_id text not null,
  pg_version integer not null, cpu_used_sec integer not null, created_at integer not null, updated_at integer not null,
  deleted_at integer, purge_at integer, settings text not null default '{}', default_endpoint_settings text not null default '{}',
  history_retention_seconds integer not null default 86400, store_passwords integer not null default 1,
  last_active_at integer, detached_at integer, next_work_at integer
) strict;
create index if not exists project_by_organization on project (organization_id, created_at desc, id);
create index if not exists project_purge on project (purge_at) where purge_at is not null;
create index if not exists project_work on project (next_work_at) where next_work_at is not null;
create table if not exists transfer_request (
  id text primary key, project_id text not null, created_at integer not null, expires_at integer not null
) strict;
create table if not exists permission (
  id text primary key, project_id text not null, email text not null, granted_at integer not null, revoked_at integer
) strict;

create table if not exists project_role (
  project_id text not null, member_id text not null, role text not null, primary key (project_id, member_id)
) strict, without rowid;
create table if not exists jwks (
  id text primary key, project_id text not null, branch_id text, jwks_url text not null, provider_name text not null,
  jwt_audience text, role_names text not null default '[]', created_at integer not null, updated_at integer not null
) strict;
create index if not exists jwks_by_project on jwks (project_id, created_at);
create table if not exists credential (
  token_id text primary key, project_id text not null, branch_id text not null, name text, scopes text not null,
  principal_type text not null, api_token text not null, s3_secret_access_key text not null, created_at integer not null,
  last_used_at integer, revoked_at integer, expires_at integer
) strict;
create index if not exists credential_by_branch on credential (branch_id, created_at);
create table if not exists backup_schedule (branch_id text primary key, schedule text not null) strict;

create table if not exists branch (
  id text primary key, project_id text not null, parent_id text, parent_lsn text, parent_timestamp integer, name text not null,
  state text not null, pending_state text, state_changed_at integer not null, is_default integer not null default 0,
  protected integer not null default 0, annotation text, init_source text, restored_from text, restored_as text,
  restore_status text, last_reset_at integer, created_by text, created_at integer not null, updated_at integer not null,
  last_active_at integer, expires_at integer, deleted_at integer, purge_at integer, deletion_method text
) strict;
create index if not exists branch_by_project on branch (project_id, created_at);
create index if not exists branch_expiry on branch (expires_at) where expires_at is not null;
create index if not exists branch_purge on branch (purge_at) where purge_at is not null;
create table if not exists endpoint (
  id text primary key, project_id text not null, branch_id text not null, type text not null, name text, state text not null,
  pending_state text, settings text not null default '{}', min_cu real not null, max_cu real not null,
  suspend_timeout_seconds integer not null, pooler_enabled integer not null default 0, disabled integer not null default 0,
  passwordless_access integer not null default 1, created_at integer not null, updated_at integer not null,
  last_active_at integer, started_at integer, suspended_at integer, suspend_at integer, deleted_at integer
) strict;
create index if not exists endpoint_by_project on endpoint (project_id, created_at);
create index if not exists endpoint_by_branch on endpoint (branch_id);
create index if not exists endpoint_idle on endpoint (suspend_at) where suspend_at is not null;
create table if not exists database (
  id integer primary key, branch_id text not null, name text not null, owner_name text not null,
  created_at integer not null, updated_at integer not null, unique (branch_id, name)
) strict;
create table if not exists role (
  branch_id text not null, name text not null, password text not null, protected integer not null default 0,
  no_login integer not null default 0, created_at integer not null, updated_at integer not null, primary key (branch_id, name)
) strict, without rowid;
create table if not exists snapshot (
  id text primary key, project_id text not null, branch_id text not null, name text not null, lsn text, timestamp integer,
  catalog text not null, created_at integer not null, expires_at integer
) strict;
create index if not exists snapshot_by_project on snapshot (project_id, created_at);
create index if not exists snapshot_expiry on snapshot (expires_at) where expires_at is not null;

create table if not exists api_key (
  id integer primary key, kind text not null, token_hash text not null unique, name text not null,
  organization_id text, project_id text, user_id text not null, created_at integer not null,
  last_used_at integer, last_used_from_addr text not null default '', busy_every integer, revoked_at integer
) strict;
create table if not exists key_use (
  key_id integer not null, at integer not null, addr text not null, primary key (key_id, at)
) strict, without rowid;

create table if not exists operation (
  seq integer primary key, id text not null, project_id text not null, branch_id text, endpoint_id text, action text not null,
  status text not null, failures_count integer not null, error text, created_at integer not null, updated_at integer not null,
  outcome text not null default 'finish', is_open integer not null default 0, next_at integer, visible_at integer
) strict;
${Object.values(operationIndexes).join(';\n')};
create index if not exists operation_open on operation (project_id, created_at, seq) where is_open = 1;
create index if not exists operation_due on operation (next_at) where next_at is not null;
create index if not exists operation_late on operation (visible_at) where visible_at is not null;
`;

const version = 3;

/**
 * Upgrades a file of an earlier version before the schema is applied. Version 1 had no branches or computes as resources. They are derived from the
 * operations that name them, each project's first one as its root. Version 2 had another name for a column.
 */
export function upgrade(sqlite: DatabaseSync): void {
  const isNew = sqlite.prepare("select 1 from sqlite_schema where name = 'operation'").get() === undefined;
  const found = Number(sqlite.prepare('pragma user_version').get()?.user_version);
  if (found > version) throw new Error(`the file is of a newer version (${found}) than this sandbox (${version})`);
  sqlite.exec(
    `begin; ${isNew ? '' : steps.slice(found === 0 ? 0 : found - 1).join('')} pragma user_version = ${version}; commit;`,
  );
}

const steps = [
  `
alter table project add column purge_at integer;
alter table project add column settings text not null default '{}';
alter table project add column default_endpoint_settings text not null default '{}';
alter table project add column history_retention_seconds integer not null default 86400;
alter table project add column store_passwords integer not null default 1;
alter table project add column last_active_at integer;
alter table project add column detached_at integer;
alter table project add column next_work_at integer;
alter table operation add column fate text not null default 'finish';
alter table operation add column is_open integer not null default 0;
alter table operation add column visible_at integer;
update operation set is_open = 1 where next_at is not null;
alter table operation drop column next_status;
`,
  'alter table operation rename column fate to outcome;',
];
