import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import type { Position } from '@keywarden/db/read';
import { Problem } from './problem.ts';

export const pagingQuery = {
  limit: z.coerce.number().int().min(1).max(1000).default(100).openapi({ description: 'Rows a page' }),
  cursor: z.string().max(1000).optional().openapi({ description: "The last page's next_cursor" }),
};

/** The schema of a list's answer. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() });
}

type Query = Record<string, unknown>;

/** Opens a cursor. It is bound to the filters that it was made for: with others it would skip rows. */
export function openCursor(query: Query & { cursor?: string | undefined }): Position | null {
  if (query.cursor === undefined) return null;
  const [bound, ...position] = decode(query.cursor);
  if (bound === undefined || position.length === 0) throw badCursor('is not one of ours');
  if (bound !== fingerprint(query)) throw badCursor('was made for other filters');
  return position;
}

/** The cursor after a page's last row; null when the page was not full. */
export function nextCursor(query: Query & { limit: number }, rows: number, last: Position | undefined): string | null {
  if (rows < query.limit || last === undefined) return null;
  return Buffer.from(JSON.stringify([fingerprint(query), ...last])).toString('base64url');
}

function decode(cursor: string): string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw badCursor('is not one of ours');
  }
}

function badCursor(what: string): Problem {
  return new Problem(400, 'Bad cursor', `The cursor ${what}; start again without it.`);
}

function fingerprint({ cursor: _cursor, limit: _limit, ...filters }: Query): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(given)).digest('base64url').slice(0, 8);
}
