import { type BuildExtraConfigColumns, entityKind, getTableColumns, getTableName, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  type AnyPgTable,
  check,
  customType,
  foreignKey,
  PgColumn,
  type PgColumnBuilderBase,
  PgIntColumnBaseBuilder,
  type PgTableExtraConfigValue,
  pgSchema,
  primaryKey,
} from 'drizzle-orm/pg-core';

const keywarden = pgSchema('keywarden');

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

/** Returns a bigint column as the text of its digits, which postgres.js returns and accepts. A JavaScript number would lose some digits. */
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

const targets = new WeakMap<PgColumnBuilderBase, () => AnyPgColumn>();

/** Returns a column that refers to another one. Its table has the foreign key. */
export function refers<B extends PgColumnBuilderBase>(column: B, to: () => AnyPgColumn): B {
  targets.set(column, to);
  return column;
}

const keys = new WeakSet<PgColumnBuilderBase>();

/** Returns a column that is part of the primary key of its table, with the others of the key in their order. */
export function inKey<B extends PgColumnBuilderBase>(column: B): B {
  keys.add(column);
  return column;
}

const filled = new WeakSet<PgColumnBuilderBase>();

/** Returns a column of texts that are not empty. */
export function notEmpty<B extends PgColumnBuilderBase>(column: B): B {
  filled.add(column);
  return column;
}

/**
 * Declares a table. Its primary key has the columns that are `inKey`. A column that refers to another one has a foreign key. One with an enum, or that is
 * `notEmpty`, has a check of its values. All have the names that Postgres gives them.
 */
export function table<N extends string, C extends Record<string, PgColumnBuilderBase>>(
  name: N,
  columns: C,
  more: (t: BuildExtraConfigColumns<N, C, 'pg'>) => PgTableExtraConfigValue[] = () => [],
) {
  return keywarden.table(name, columns, (t) => [
    ...Object.values<AnyPgColumn>(t)
      .slice(0, 1)
      .flatMap((column) => constraintsOf(column.table, columns)),
    ...more(t),
  ]);
}

/** Declares the columns of a view that db/functions defines. */
export function view<N extends string, C extends Record<string, PgColumnBuilderBase>>(name: N, columns: C) {
  return keywarden.view(name, columns).existing();
}

function constraintsOf(of: AnyPgTable, builders: Record<string, PgColumnBuilderBase>) {
  const columns = Object.entries<PgColumn>(getTableColumns(of));
  const [first, ...others] = columns.flatMap(([key, column]) =>
    builders[key] && keys.has(builders[key]) ? [column] : [],
  );
  const own = first && primaryKey({ name: `${getTableName(of)}_pkey`, columns: [first, ...others] });
  const ofColumns = columns.flatMap(([key, column]) => {
    const name = `${getTableName(of)}_${column.name}`;
    const to = builders[key] && targets.get(builders[key]);
    const values = column.enumValues?.map((value) => `'${value}'`).join(', ');
    return [
      ...(to ? [foreignKey({ name: `${name}_fkey`, columns: [column], foreignColumns: [to()] })] : []),
      ...(values === undefined ? [] : [check(`${name}_check`, sql.raw(`${column.name} in (${values})`))]),
      ...(builders[key] && filled.has(builders[key]) ? [check(`${name}_check`, sql.raw(`${column.name} <> ''`))] : []),
    ];
  });
  return own === undefined ? ofColumns : [own, ...ofColumns];
}
