import { z } from '@hono/zod-openapi';
import { stringify } from 'csv-stringify/sync';

/** Where a column's value is in an item, and what it is called. */
interface Column {
  name: string;
  path: string[];
}

/**
 * Writes items as rows of CSV (RFC 4180): a column for each field of their shape, those of an object within apart (`creator_id`), lists
 * and free objects as JSON.
 */
export function createCsvWriter(item: z.ZodObject): { header: string; rows: (items: string[]) => string } {
  const columns = columnsOf(item, []);
  return {
    header: writeRows([columns.map(({ name }) => name)]),
    rows: (items) =>
      writeRows(
        items.map((json) => {
          const value: unknown = JSON.parse(json);
          return columns.map(({ path }) => toCell(path.reduce(fieldOf, value)));
        }),
      ),
  };
}

/** A text that a spreadsheet would run as a formula gets an apostrophe before it, which spreadsheets take as "this is text". */
export function writeRows(rows: unknown[][]): string {
  return stringify(rows, { escape_formulas: true, record_delimiter: '\r\n', quoted_match: /[;\t\r\n]|^\s|\s$/ });
}

function columnsOf(shape: z.ZodObject, path: string[]): Column[] {
  return Object.entries(shape.shape).flatMap(([name, field]) => {
    const inner = unwrap(field);
    const here = [...path, name];
    return inner instanceof z.ZodObject ? columnsOf(inner, here) : [{ name: here.join('_'), path: here }];
  });
}

function unwrap(field: unknown): unknown {
  return field instanceof z.ZodNullable || field instanceof z.ZodOptional ? unwrap(field.unwrap()) : field;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** What a spreadsheet takes for a formula although whitespace stands before it. */
const indentedFormula = /^\s+[=+\-@＝＋－＠]/;

/** A value as CSV writes it: numbers stay numbers. */
export function toCell(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return indentedFormula.test(text) ? `'${text}` : text;
}
