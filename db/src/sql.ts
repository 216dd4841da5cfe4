import { codeOf } from '@keywarden/runtime';
import { and, type Column, eq, isNull, sql as raw, type SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { PostgresJsDatabase, PostgresJsSession } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import type { ParameterOrJSON } from 'postgres';

export type Sql = postgres.Sql;
export type Db = PostgresJsDatabase;
export type Tx = postgres.TransactionSql;

const dialect = new PgDialect();

/** Returns the query builder over a client of the driver, or within a transaction of it. */
export function builderOf(tx: Sql | Tx): Db {
  // A session calls only `unsafe` on its client, which a transaction also has. drizzle creates its own transactions in the same way.
  return new PostgresJsDatabase(dialect, new PostgresJsSession(tx as unknown as Sql, dialect, undefined), undefined);
}

/** Runs a statement. Returns its rows as objects, or as lists of values. */
export type Run = (text: string, params: ParameterOrJSON<never>[], asValues: boolean) => Promise<unknown[]>;

/** Returns the query builder over a function that runs statements. */
export function builderRunning(run: Run): Db {
  // A session says with `values`, right after `unsafe`, that it wants values instead of objects.
  const unsafe = (text: string, params: ParameterOrJSON<never>[]) => {
    let asValues = false;
    const rows = Promise.resolve().then(async () => await run(text, params, asValues));
    const values = async () => {
      asValues = true;
      return await rows;
    };
    return Object.assign(rows, { values });
  };
  return builderOf({ unsafe } as unknown as Sql);
}

/**
 * Returns the condition that a column is one of the values. The values are one parameter, an array: drizzle's `inArray` makes a parameter of
 * each, and Postgres takes at most 65,535 in a statement.
 */
export function anyOf<T extends Column>(column: T, values: readonly T['_']['data'][]): SQL {
  return raw`${column} = any(${raw.param([...values])}::${raw.raw(column.getSQLType())}[])`;
}

/** Returns the condition that a column is none of the values, as `anyOf` does. */
export function noneOf<T extends Column>(column: T, values: readonly T['_']['data'][]): SQL {
  return raw`${column} <> all(${raw.param([...values])}::${raw.raw(column.getSQLType())}[])`;
}

/** Returns the condition that a row of a table or view has these values. A value may be another column. */
export function hasValues<T extends { $inferSelect: object }>(
  table: T,
  values: { [K in keyof T['$inferSelect']]?: T['$inferSelect'][K] | Column },
): SQL | undefined {
  const conditions = Object.entries(values).map(([name, value]) => {
    const column = Reflect.get(table, name) as Column; // a table has each column under its name
    return value === null ? isNull(column) : eq(column, value);
  });
  return and(...conditions);
}

/** Returns the number of rows for which a condition holds. */
export const countIf = (condition: SQL | undefined) =>
  raw<number>`(count(*) filter (where ${condition}))::int`.mapWith(Number);

/** Returns a statement for the driver itself, for its own transactions or cursors. */
export function toStatement(statement: SQL): { text: string; params: ParameterOrJSON<never>[] } {
  const { sql: text, params } = dialect.sqlToQuery(statement);
  // drizzle types these as unknown. Each is a text, a number, null or a list of texts.
  return { text, params: params as ParameterOrJSON<never>[] };
}

type Answer = PromiseLike<readonly Record<string, unknown>[]>;

/** Returns the value of a statement that answers with one row of one column; undefined without a row. */
export async function readValue(answer: Answer): Promise<unknown> {
  const [row] = await answer;
  return row && Object.values(row)[0];
}

/** Returns the same as a text, as a number, or whether it is true. */
export const readText = async (answer: Answer): Promise<string> => String(await readValue(answer));
export const readNumber = async (answer: Answer): Promise<number> => Number(await readValue(answer));
export const isTrue = async (answer: Answer): Promise<boolean> => (await readValue(answer)) === true;

/** Returns whether there is a table of this name, with its schema. */
export const hasTable = async (sql: Sql, name: string): Promise<boolean> =>
  await isTrue(sql`select to_regclass(${name}) is not null`);

/** The least-privileged roles of the two apps, and of the command line where it manages tokens and sessions. functions/90-grants.sql lists their permissions. */
export const storeRoles = ['keywarden_admin', 'keywarden_daemon', 'keywarden_report'] as const;
export type StoreRole = (typeof storeRoles)[number];

/** Options of a pool beside the store's own. */
export interface PoolOptions {
  max: number;
  /** The role to work as; by default, the store's. */
  role?: StoreRole;
  /** Called for each connection that ends, for any reason. */
  onclose?: () => void;
  /** JSON is read as parsed values and written as text. */
  parsesJson?: boolean;
  /** Settings of its sessions. */
  settings?: Record<string, string | number>;
}

/** SQLSTATE codes that statements here handle. check_violation is also the error of a row without a partition. */
export const sqlState = {
  checkViolation: '23514',
  insufficientPrivilege: '42501',
  lockNotAvailable: '55P03',
  /** Our own: `hold_fence` refuses a write. */
  lockTaken: 'KW005',
  /** By a timeout or an administrator. */
  queryCanceled: '57014',
  serializationFailure: '40001',
  undefinedTable: '42P01',
  uniqueViolation: '23505',
} as const;

/** Returns whether Postgres refused a row because of its content: SQLSTATE classes 22 and 23, or values too long or too deep for it (54000, 54001). */
export function isRefusedRow(error: unknown): boolean {
  return /^(2[23]\w{3}|5400[01])$/.test(codeOf(error));
}

/**
 * Returns a value as JSON text that Postgres accepts. NUL characters and halves of surrogate pairs are replaced, in names too. One odd row
 * therefore does not keep all others out.
 */
export function toJson(value: object): string {
  const text = JSON.stringify(value);
  if (!/\\u(0000|d[89a-f])/i.test(text)) return text;
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'string') return repair(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, each]) => [repair(name), each]));
  });
}

const repair = (text: string) => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** Returns the last row for each id, or for each id with something else that `keyOf` adds. A list whose pages shift while rows arrive shows one twice. */
export function lastOfEach<T extends { id: string }>(rows: T[], keyOf: (row: T) => string = ({ id }) => id): T[] {
  // Almost no page repeats an id.
  if (new Set(rows.map(({ id }) => id)).size === rows.length) return rows;
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}

/**
 * Returns a column of rows as the text of a Postgres array. Postgres reads that three times as fast as JSON, and postgres.js writes it
 * slower. A column of only nulls is the empty array, because unnest pads short arrays. NUL is replaced as above.
 */
export function toArray<T>(rows: readonly T[], valueOf: (row: T) => string | number | null | undefined): string {
  let isEmpty = true;
  const texts = rows.map((row) => {
    const value = valueOf(row);
    if (value === null || value === undefined) return 'NULL';
    isEmpty = false;
    return typeof value === 'string' ? quote(value) : String(value);
  });
  return isEmpty ? '{}' : `{${texts.join(',')}}`;
}

const plain = /^[\w:.+-]+$/;

/** Quotes a value if necessary. Ids, times and single words need no quotes, except the word null. */
function quote(value: string): string {
  if (plain.test(value) && value.length > 'null'.length) return value;
  return `"${repair(value).replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}

/** The times that a timestamptz returns unchanged: UTC, at most six fractional digits, no trailing zero. */
const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/;

/**
 * Returns the jsonb of a row: unknown fields, and under their own names the times that the column could not return as received. Returns
 * null if there are neither.
 */
export function packExtra(
  extra: Record<string, unknown> | null,
  times: Record<string, string | null | undefined>,
): Record<string, unknown> | null {
  let packed = extra;
  for (const name in times) {
    const at = times[name];
    if (typeof at === 'string' && !canonical.test(at)) packed = { ...packed, [name]: at };
  }
  return packed;
}
