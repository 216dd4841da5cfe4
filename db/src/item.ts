import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';

// What an item of a list is made of: a schema that says its fields, and their columns.

/** A timestamptz in JSON: RFC 3339 in UTC with every digit that the store has. */
export const instant = z.string().meta({ format: 'date-time' });

/** A JSON object that Keywarden keeps as it came. */
export const json = z.record(z.string(), z.unknown());

/** The SQL of each field of an item. */
export type Fields<S extends z.ZodObject> = { [K in keyof z.output<S>]-?: SQL };

/** A timestamptz as `instant` has it; the store's sessions print times so that two replacements do. */
export const time = (column: SQL): SQL => sql`replace(replace(${column}::text, ' ', 'T'), '+00', 'Z')`;

/** Each field of a schema as the column of its name. */
export function columnsOf<S extends z.ZodObject>(schema: S, table: string): Fields<S> {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const column = sql.raw(`${table}.${name}`);
    return [name, isInstant(field) ? time(column) : column];
  });
  return Object.fromEntries(fields) as Fields<S>; // of the same names
}

/** The fields of a schema as one JSON object. */
export function jsonOf<S extends z.ZodObject>(schema: S, table: string, fields: Partial<Fields<S>> = {}): SQL {
  const pairs = Object.entries({ ...columnsOf(schema, table), ...fields }).map(
    ([name, value]) => sql`${sql.raw(`'${name}'`)}, ${value}`,
  );
  return sql`json_build_object(${sql.join(pairs, sql`, `)})`;
}

/** A field's schema without what says that it may be null or absent. */
export function unwrap(field: z.core.$ZodType): z.core.$ZodType {
  return field instanceof z.ZodNullable || field instanceof z.ZodOptional ? unwrap(field.unwrap()) : field;
}

/** Whether a field is a time. */
export function isInstant(field: z.core.$ZodType): boolean {
  const inner = unwrap(field);
  return inner instanceof z.ZodString && inner.meta()?.format === 'date-time';
}
