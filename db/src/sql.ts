import { codeOf } from '@keywarden/runtime';
import { PgDialect } from 'drizzle-orm/pg-core';
import { PostgresJsDatabase, PostgresJsSession } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';

export type Sql = postgres.Sql;
export type Db = PostgresJsDatabase;
export type Tx = postgres.TransactionSql;

const dialect = new PgDialect();

/** The query builder within a transaction of the driver's. */
export function builderOf(tx: Tx): Db {
  // A session asks its client for `unsafe` alone, which a transaction has too; drizzle makes its own transactions like this.
  return new PostgresJsDatabase(dialect, new PostgresJsSession(tx as unknown as Sql, dialect, undefined), undefined);
}

/** A pool beside the store's own. */
export interface PoolOptions {
  max: number;
  /** Called for each connection that ends, however it does. */
  onclose?: () => void;
  /** JSON comes parsed and goes as its text. */
  parsesJson?: boolean;
  /** Settings of its sessions. */
  settings?: Record<string, string | number>;
}

/** SQLSTATE codes that statements here are prepared for. check_violation is also what a row without a partition gets. */
export const sqlState = {
  checkViolation: '23514',
  insufficientPrivilege: '42501',
  lockNotAvailable: '55P03',
} as const;

/** Whether an error says that Postgres refuses a row for what it holds: SQLSTATE classes 22 and 23. */
export function isRefusedRow(error: unknown): boolean {
  return /^2[23]\d\w\w$/.test(codeOf(error));
}

/**
 * A value as JSON text that Postgres takes. It has no NUL character in text, and no half of a surrogate pair: those are replaced, in names
 * too, so that one odd row does not keep all others out.
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

/** One row an id, or of what else tells rows apart, the last: a list whose pages shift while rows arrive shows one twice. */
export function lastOfEach<T extends { id: string }>(rows: T[], keyOf: (row: T) => string = ({ id }) => id): T[] {
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}

/**
 * A column of rows as the text of a Postgres array, which Postgres reads three times as fast as JSON and postgres.js would write
 * slower. Nothing but nulls is the empty array: unnest fills short ones up. NUL is replaced as above.
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

/** Ids, times and single words stand as they are; but the word null would be none. */
function quote(value: string): string {
  if (plain.test(value) && value.length > 'null'.length) return value;
  return `"${repair(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** What a timestamptz gives back letter for letter: UTC, at most six digits of fraction, no zero at its end. */
const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/;

/**
 * The jsonb of a row: unknown fields, and under their own names the times that the column could not give back as they came.
 * Null when there is neither.
 */
export function packExtra(
  extra: Record<string, unknown> | null,
  times: Record<string, string | null | undefined>,
): Record<string, unknown> | null {
  const odd = Object.entries(times).filter(([, at]) => typeof at === 'string' && !canonical.test(at));
  return odd.length === 0 ? extra : { ...extra, ...Object.fromEntries(odd) };
}
