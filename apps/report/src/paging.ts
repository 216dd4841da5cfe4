import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { type List, type Position, pageSizes } from '@keywarden/db/report';
import { Problem } from './problem.ts';

/**
 * The longest cursor. It has what a list is sorted by: of a key's uses, an address of 500 characters, and each may take six in JSON. The address of a
 * request may be twice as long.
 */
export const mostCursor = 8000;

export const pagingQuery = {
  limit: z.coerce.number().int().min(1).max(pageSizes.most).default(pageSizes.usual).openapi({
    type: 'integer',
    minimum: 1,
    maximum: pageSizes.most,
    default: pageSizes.usual,
    description: 'Rows per page',
  }),
  cursor: z.string().min(1).max(mostCursor).optional().openapi({ description: "The previous page's next_cursor" }),
};

/** Returns the schema of a list's answer. */
export function listAnswer(item: z.ZodType, more?: z.ZodRawShape) {
  return z.strictObject({ items: z.array(item), next_cursor: z.string().nullable(), ...more });
}

export interface ListAddress {
  /** The route; a cursor belongs to one list. */
  path: string;
  query: Record<string, unknown> & { cursor?: string | undefined };
}

type Paged = Pick<List, 'edition'>;

/** Returns the position in a cursor. A cursor is bound to its list, filters and edition; with others it would skip rows. Throws a Problem (400). */
export function openCursor(address: ListAddress, { order, edition }: Paged & Pick<List, 'order'>): Position | null {
  const { cursor } = address.query;
  if (cursor === undefined) return null;
  const [bound, ...position] = decode(cursor);
  if (bound === undefined || position.length === 0) throw badCursor('is invalid');
  if (bound !== fingerprint(address, edition))
    throw badCursor(`belongs to other filters${edition === undefined ? '' : ', or to a plan that was made again'}`);
  const types = Object.values(order);
  if (position.length !== types.length || types.some((type, index) => !looksLike[type](position[index] ?? '')))
    throw badCursor('is invalid');
  return position;
}

/** Returns the cursor of a position in a list. */
export function sealCursor(address: ListAddress, { edition }: Paged, position: Position): string {
  return Buffer.from(JSON.stringify([fingerprint(address, edition), ...position])).toString('base64url');
}

const looksLike: Record<List['order'][string], (text: string) => boolean> = {
  bigint: (text) => /^-?\d{1,18}$/.test(text),
  int: (text) => /^-?\d{1,9}$/.test(text),
  text: (text) => !text.includes('\0'),
  timestamptz: (text) =>
    /^-?infinity$/.test(text) ||
    (text.endsWith('+00') && z.iso.datetime().safeParse(text.replace(' ', 'T').replace(/\+00$/, 'Z')).success),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text),
};

function decode(cursor: string): string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw badCursor('is invalid');
  }
}

function badCursor(what: string): Problem {
  return new Problem(400, 'Bad cursor', `The cursor ${what}; start again without a cursor.`);
}

function fingerprint(
  { path, query: { cursor: _cursor, limit: _limit, ...filters } }: ListAddress,
  edition: string | undefined,
): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([path, given, ...(edition === undefined ? [] : [edition])]))
    .digest('base64url')
    .slice(0, 12);
}
