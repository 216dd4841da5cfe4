import type { DatabaseSync } from 'node:sqlite';

const version = 2;

/**
 * Upgrades a file of an earlier version before the schema is applied. Version 1 had no branches or computes as resources. They are derived from the
 * operations that name them, each project's first one as its root.
 */
export function upgrade(sqlite: DatabaseSync): void {
  const isNew = sqlite.prepare("select 1 from sqlite_schema where name = 'operation'").get() === undefined;
  const found = Number(sqlite.prepare('pragma user_version').get()?.user_version);
  if (found > version) throw new Error(`the file is of a newer version (${found}) than this sandbox (${version})`);
  sqlite.exec(`begin; ${isNew || found === version ? '' : fromVersion1} pragma user_version = ${version}; commit;`);
}

const fromVersion1 = `
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
`;
