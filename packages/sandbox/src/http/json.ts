import type { Context } from 'hono';
import { z } from 'zod';
import type { Row } from '../store/database.ts';
import { formatIfSet } from '../store/time.ts';
import { Refusal } from './errors.ts';

// JSON.rawJSON is in V8 and in the ECMAScript proposal, but not yet in TypeScript's library.
const json = JSON as unknown as { rawJSON(text: string): object };

/** Returns an int64 that is written into JSON with every digit. The input is the decimal text that SQLite returns. */
export function int64(digits: string): object {
  return json.rawJSON(digits);
}

/** Returns the fields that are set: the control plane leaves out null fields. */
export function present(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** Returns columns of a row under their own names. Times, whose names end in `_at`, become texts. */
export function columnsOf(row: Row, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, name.endsWith('_at') ? formatIfSet(row[name]) : row[name]]));
}

/** Reads a JSON body of the service. Throws 415 for another content type, 400 for a body that is not JSON or does not match the route's schema. */
export async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const text = await c.req.text();
  return check(parse(c, text), schema);
}

/** Reads the body of a route that accepts no body: an absent one becomes `{}`. */
export async function readOptionalBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const text = await c.req.text();
  return check(text === '' ? {} : parse(c, text), schema);
}

function parse(c: Context, text: string): unknown {
  if (!/^application\/json\b/i.test(c.req.header('content-type') ?? ''))
    throw new Refusal(415, 'the request body must be application/json');
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the request body is not JSON');
  }
}

function check<T>(body: unknown, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path.join('.') ?? '';
  throw new Refusal(
    400,
    `request body has an error: ${path === '' ? '' : `${path}: `}${issue?.message ?? 'not valid'}`,
  );
}
