import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { schema, upgrade } from './schema.ts';

export type Row = Record<string, string | number | bigint | null>;

/** The columns of a row to write: true and false as 1 and 0, lists and objects as JSON. A column without a value is left out. */
export type Columns = Record<string, SQLInputValue | boolean | object | undefined>;

/** Values for `?` in order, or one object for `:name`. */
type Values = SQLInputValue[] | [Record<string, SQLInputValue>];

/** SQLite with cached statements. State lives in memory, or in a file that survives restarts and a killed process. */
export interface Database {
  all(sql: string, ...values: Values): Row[];
  /** Does the same as `all`, but each row is an array in the order of its columns: a third cheaper, for long lists. */
  arrays(sql: string, ...values: Values): Row[string][][];
  get(sql: string, ...values: Values): Row | undefined;
  /** Returns the first row with these values of its columns. */
  find(table: string, columns: Record<string, SQLInputValue>): Row | undefined;
  /** Does the same for a row that exists. Throws an Error without it, which is a bug. */
  require(table: string, columns: Record<string, SQLInputValue>): Row;
  run(sql: string, ...values: Values): number;
  /** Adds a row. Columns that are not named get their defaults. */
  insert(table: string, values: Columns): void;
  /** Changes the row that the first of the columns names. A column without a value stays as it is. Returns the number of rows. */
  update(table: string, values: Columns): number;
  transaction<T>(work: () => T): T;
  close(): void;
}

export function openDatabase(file: string): Database {
  const sqlite = new DatabaseSync(file);
  sqlite.exec(
    // Exclusive: a second sandbox on one file would have another clock and other faults.
    'pragma busy_timeout = 2000; pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -65536;',
  );
  upgrade(sqlite);
  sqlite.exec(schema);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string, asArrays = false): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const made = sqlite.prepare(sql);
    made.setReturnArrays(asArrays);
    statements.set(sql, made);
    return made;
  };
  const find: Database['find'] = (table, columns) => {
    const conditions = Object.keys(columns).map((column) => `${column} is :${column}`);
    const sql = `select * from ${table} where ${conditions.join(' and ')} limit 1`;
    return prepare(sql).get(columns) as Row | undefined;
  };
  return {
    // SQLite's columns hold only these types: the schema is strict and has no blob.
    all: (sql, ...values) => prepare(sql).all(...(values as SQLInputValue[])) as Row[],
    // The statement was prepared to return arrays, which its type does not express.
    arrays: (sql, ...values) => prepare(sql, true).all(...(values as SQLInputValue[])) as unknown as Row[string][][],
    get: (sql, ...values) => prepare(sql).get(...(values as SQLInputValue[])) as Row | undefined,
    find,
    require(table, columns) {
      const row = find(table, columns);
      if (row === undefined) throw new Error(`there is no ${table} with ${JSON.stringify(columns)}`);
      return row;
    },
    run: (sql, ...values) => Number(prepare(sql).run(...(values as SQLInputValue[])).changes),
    insert(table, values) {
      const given = toStored(values);
      const columns = Object.keys(given);
      const named = columns.map((column) => `:${column}`);
      prepare(`insert into ${table} (${columns.join()}) values (${named.join()})`).run(given);
    },
    update(table, values) {
      const given = toStored(values);
      const [key, ...changes] = Object.keys(given).map((column) => `${column} = :${column}`);
      return Number(prepare(`update ${table} set ${changes.join()} where ${key}`).run(given).changes);
    },
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

function toStored(columns: Columns): Record<string, SQLInputValue> {
  const stored: Record<string, SQLInputValue> = {};
  for (const [name, value] of Object.entries(columns))
    if (typeof value === 'boolean') stored[name] = Number(value);
    else if (typeof value === 'object' && value !== null) stored[name] = JSON.stringify(value);
    else if (value !== undefined) stored[name] = value;
  return stored;
}

export function readSetting(db: Database, name: string): string | undefined {
  const row = db.get('select value from setting where name = ?', name);
  return row === undefined ? undefined : String(row.value);
}

export function writeSetting(db: Database, name: string, value: string): void {
  db.run('insert into setting values (?, ?) on conflict (name) do update set value = excluded.value', name, value);
}
