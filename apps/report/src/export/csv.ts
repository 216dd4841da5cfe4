import { z } from '@hono/zod-openapi';
import { unwrap } from '@keywarden/db/report';
import { csvCell, writeCsv } from '@keywarden/runtime';

/** Writes items as CSV, with a column for each field; nested objects have one for each inner field (`creator_id`), lists are JSON. */
export function createCsvWriter(item: z.ZodObject): { header: string; rows: (items: string[]) => string } {
  const columns = columnsOf(item, []);
  return {
    header: writeCsv([columns.map(({ name }) => name)]),
    rows: (items) =>
      writeCsv(
        items.map((json) => {
          const value: unknown = JSON.parse(json);
          return columns.map(({ path }) => csvCell(path.reduce(fieldOf, value)));
        }),
      ),
  };
}

/** Returns the name of each column, and the path of its value in an item. */
function columnsOf(shape: z.ZodObject, path: string[]): { name: string; path: string[] }[] {
  return Object.entries(shape.shape).flatMap(([name, field]) => {
    const inner = unwrap(field);
    const here = [...path, name];
    return inner instanceof z.ZodObject ? columnsOf(inner, here) : [{ name: here.join('_'), path: here }];
  });
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
