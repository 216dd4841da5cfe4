import type { DatabaseSync } from 'node:sqlite';

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
