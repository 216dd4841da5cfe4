import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';

// The parts of a list's item: a schema of its fields, and their columns.

/** A timestamptz in JSON: RFC 3339 in UTC with all digits of the stored value. */
export const instant = z.string().meta({ format: 'date-time' });

/** A JSON object that Keywarden stores as received. */
export const json = z.record(z.string(), z.unknown());

/** The SQL expression of each field of an item. */
export type Fields<S extends z.ZodObject> = { [K in keyof z.output<S>]-?: SQL };

/** Formats a timestamptz as an `instant`. The store's sessions print times such that two replacements suffice. */
export const time = (column: SQL): SQL => sql`replace(replace(${column}::text, ' ', 'T'), '+00', 'Z')`;

/** Maps each field of a schema to the column of the same name. */
export function columnsOf<S extends z.ZodObject>(schema: S, table: string): Fields<S> {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const column = sql.raw(`${table}.${name}`);
    return [name, isTime(field) ? time(column) : column];
  });
  return Object.fromEntries(fields) as Fields<S>; // the column and the field have the same name
}

/** Returns the SQL for the fields of a schema as one JSON object. */
export function jsonOf<S extends z.ZodObject>(schema: S, table: string, fields: Partial<Fields<S>> = {}): SQL {
  const pairs = Object.entries({ ...columnsOf(schema, table), ...fields }).map(
    ([name, value]) => sql`${sql.raw(`'${name}'`)}, ${value}`,
  );
  return sql`json_build_object(${sql.join(pairs, sql`, `)})`;
}

/** Returns a field's schema without its nullable and optional wrappers. */
export function unwrap(field: z.core.$ZodType): z.core.$ZodType {
  return field instanceof z.ZodNullable || field instanceof z.ZodOptional ? unwrap(field.unwrap()) : field;
}

/** Returns whether a field is a time. */
export function isTime(field: z.core.$ZodType): boolean {
  const inner = unwrap(field);
  return inner instanceof z.ZodString && inner.meta()?.format === 'date-time';
}
