import { z } from '@hono/zod-openapi';

/** Where a column's value is in an item, and what it is called. */
interface Column {
  name: string;
  path: string[];
}

/**
 * Writes items as rows of CSV (RFC 4180): a column for each field of their shape, those of an object within apart (`creator_id`), lists
 * and free objects as JSON.
 */
export function toCsvRow(item: z.ZodObject): { header: string; row: (json: string) => string } {
  const columns = columnsOf(item, []);
  return {
    header: `${columns.map(({ name }) => quote(name)).join(',')}\r\n`,
    row: (json) => {
      const value: unknown = JSON.parse(json);
      return `${columns.map(({ path }) => toCell(path.reduce(fieldOf, value))).join(',')}\r\n`;
    },
  };
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

/** What a spreadsheet would take for a formula. */
const formula = /^[\s]*[=+\-@\t\r＝＋－＠]/;

/**
 * A value as a cell. A text that a spreadsheet would run as a formula gets an apostrophe before it, which spreadsheets take as "this is
 * text"; numbers stay numbers.
 */
export function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return quote(formula.test(text) ? `'${text}` : text);
}

function quote(text: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
