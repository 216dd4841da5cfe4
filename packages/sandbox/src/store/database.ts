import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

const schema = `
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
create table if not exists project (
  id text primary key, organization_id text not null, owner_id text not null, name text not null, region_id text not null,
  pg_version integer not null, cpu_used_sec integer not null, created_at integer not null, updated_at integer not null, deleted_at integer
) strict;
create index if not exists project_by_organization on project (organization_id, created_at desc, id);
create table if not exists api_key (
  id integer primary key, kind text not null, token_hash text not null unique, name text not null,
  organization_id text, project_id text, user_id text not null, created_at integer not null,
  last_used_at integer, last_used_from_addr text not null default '', busy_every integer, revoked_at integer
) strict;
create table if not exists operation (
  seq integer primary key, id text not null unique, project_id text not null, branch_id text, endpoint_id text, action text not null,
  status text not null, failures_count integer not null, error text, created_at integer not null, updated_at integer not null,
  next_at integer, next_status text
) strict;
create index if not exists operation_by_time on operation (project_id, created_at desc, seq desc);
create index if not exists operation_due on operation (next_at) where next_at is not null;
`;

export type Row = Record<string, string | number | bigint | null>;

/** Values for `?` in their order, or one object for `:name`. */
type Values = SQLInputValue[] | [Record<string, SQLInputValue>];

/** SQLite with cached statements. State lives in memory, or in a file that survives restarts and a killed process. */
export interface Database {
  all(sql: string, ...values: Values): Row[];
  get(sql: string, ...values: Values): Row | undefined;
  run(sql: string, ...values: SQLInputValue[]): number;
  transaction<T>(work: () => T): T;
  close(): void;
}

export function openDatabase(file: string): Database {
  const sqlite = new DatabaseSync(file);
  sqlite.exec(
    // Exclusive: a second sandbox on one file would serve another clock and other faults.
    'pragma busy_timeout = 2000; pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -65536;',
  );
  sqlite.exec(schema);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const made = sqlite.prepare(sql);
    statements.set(sql, made);
    return made;
  };
  return {
    // SQLite's columns hold only these types: the schema is strict and has no blob.
    all: (sql, ...values) => prepare(sql).all(...(values as SQLInputValue[])) as Row[],
    get: (sql, ...values) => prepare(sql).get(...(values as SQLInputValue[])) as Row | undefined,
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    transaction(work) {
      sqlite.exec('begin immediate');
      try {
        const result = work();
        sqlite.exec('commit');
        return result;
      } catch (error) {
        sqlite.exec('rollback');
        throw error;
      }
    },
    close: () => sqlite.close(),
  };
}

export function readSetting(db: Database, name: string): string | undefined {
  const row = db.get('select value from setting where name = ?', name);
  return row === undefined ? undefined : String(row.value);
}

export function writeSetting(db: Database, name: string, value: string): void {
  db.run('insert into setting values (?, ?) on conflict (name) do update set value = excluded.value', name, value);
}
