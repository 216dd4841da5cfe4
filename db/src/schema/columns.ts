import { entityKind, getTableName, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  type AnyPgTable,
  check,
  customType,
  foreignKey,
  PgColumn,
  PgIntColumnBaseBuilder,
  pgSchema,
} from 'drizzle-orm/pg-core';

export const keywarden = pgSchema('keywarden');

export type JsonObject = Record<string, unknown>;

interface Int64Config {
  name: string;
  dataType: 'string';
  columnType: 'Int64';
  data: string;
  driverParam: string;
  enumValues: undefined;
}

class Int64Builder extends PgIntColumnBaseBuilder<Int64Config> {
  static override readonly [entityKind] = 'Int64Builder';

  constructor(name: string) {
    super(name, 'string', 'Int64');
  }

  build(table: AnyPgTable): Int64 {
    return new Int64(table, this.config);
  }
}

class Int64 extends PgColumn {
  static override readonly [entityKind] = 'Int64';

  getSQLType(): string {
    return 'bigint';
  }
}

/**
 * Returns a bigint column as the text of its digits, which postgres.js returns and accepts. A JavaScript number would lose some digits.
 */
export const int64 = (name: string) => new Int64Builder(name);

/**
 * A timestamptz as RFC 3339 text with all digits: `2026-03-31T23:59:59.123456Z`. Postgres prints it without trailing zeros, like the
 * control plane, and the session's time zone is UTC.
 */
export const instant = customType<{ data: string; driverData: string }>({
  dataType: () => 'timestamp with time zone',
  fromDriver: toInstant,
});

/** Time intervals, as the text that Postgres prints. */
export const multirange = customType<{ data: string; driverData: string }>({ dataType: () => 'tstzmultirange' });

/** Days, as the text that Postgres prints. */
export const dateMultirange = customType<{ data: string; driverData: string }>({ dataType: () => 'datemultirange' });

/** Converts Postgres's text of a timestamptz in UTC, plain or within JSON, to RFC 3339. */
export function toInstant(text: string): string {
  return text.replace(' ', 'T').replace(/\+00(:00)?$/, 'Z');
}

/** Returns a foreign key of one column, with the name that Postgres gives it. */
export function reference(column: AnyPgColumn, to: AnyPgColumn) {
  const name = `${getTableName(column.table)}_${column.name}_fkey`;
  return foreignKey({ name, columns: [column], foreignColumns: [to] });
}

/** Returns the check of a column that holds one of these values. */
export function oneOf(column: AnyPgColumn, values: readonly string[]) {
  const list = values.map((value) => `'${value}'`).join(', ');
  return check(`${getTableName(column.table)}_${column.name}_check`, sql.raw(`${column.name} in (${list})`));
}
