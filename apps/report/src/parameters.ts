import { z } from '@hono/zod-openapi';
import { type Camelled, dayMs, parseDuration, toCamel } from '@keywarden/core/values';
import type { Reader } from '@keywarden/db/report';

// Parameters of lists, and schemas that parameters and bodies share.

/** For clients that check texts by the description: Rust's expressions, which Python's pydantic uses too, have no \0. */
const withoutNul = { pattern: String.raw`^[^\x00]*$` };

/** A short text from a person or a script. Postgres rejects NUL in texts. */
export const word = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\0]*$/, 'has a NUL character')
  .openapi(withoutNul);

/** A name that a person gives. A line feed in it would forge a line wherever it is shown. */
export const givenName = word
  .regex(/^\P{Cc}*$/u, 'has a control character')
  .openapi({ pattern: String.raw`^[^\x00-\x1f\x7f-\x9f]*$` });

/** A reason in words, perhaps of several lines. */
export const reason = z
  .string()
  .trim()
  .min(1, 'is empty; say why')
  .max(1000)
  .regex(/^[\P{Cc}\t\n]*$/u, 'has a control character other than tab and line feed')
  .openapi({ pattern: String.raw`^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`, description: 'The reason, in words' });

/** The digits of an int64. */
export const digits = z.string().regex(/^\d{1,18}$/, 'is not a number');

const instantOnly = z.iso
  .datetime({ offset: true, error: 'is not an RFC 3339 time such as 2026-03-31T00:00:00Z' })
  .refine((text) => !/[+-](1[5-9]|2\d)/.test(text.slice(10)), 'has an invalid UTC offset');

/** An RFC 3339 time in a year that Postgres supports. */
export const instant = instantOnly
  .refine((text) => Date.parse(text) >= Date.parse('0001-01-01T00:00:00Z'), 'is before the year 1')
  .openapi({ type: 'string', format: 'date-time' });

/** A UTC date such as 2026-03-31, or an RFC 3339 time; as a time. A date is the beginning of its day, or its end with `isEnd`. */
export const dayOrInstant = ({ isEnd }: { isEnd: boolean }) =>
  z
    .union([
      z.iso.date({ error: 'is neither a date such as 2026-03-31 nor an RFC 3339 time' }).transform((day) => {
        const startMs = Date.parse(`${day}T00:00:00Z`);
        return new Date(startMs + (isEnd ? dayMs : 0)).toISOString();
      }),
      instant,
    ])
    // JavaScript writes times outside of these years in another way than Postgres.
    .refine((at) => /^(?!0000)\d/.test(at), 'is not in the years 1 to 9998')
    .openapi({ type: 'string', example: '2026-03-31' });

/** A duration such as 90d, parsed to ms. */
export const lasting = z
  .string()
  .regex(/^\d{1,5}[smhdw]$/, 'is not a duration such as 90d, 2w, 12h, 30m')
  .refine((text) => parseDuration(text) !== undefined, 'is longer than 365000d')
  .transform((text) => parseDuration(text) ?? Number.NaN)
  .openapi({ type: 'string', pattern: '^\\d{1,5}[smhdw]$' });

/** A time range: `from` is included, `to` is not. */
export const range = {
  from: instant.optional().openapi({ description: 'At this time or later' }),
  to: instant.optional().openapi({ description: 'Before this time' }),
};

/** Returns what is wrong with the time range of a query, if its end is before its beginning: its answer would be empty, and look complete. */
export function whySwapped(query: object): string | undefined {
  const { from, to } = query as { from?: unknown; to?: unknown };
  if (typeof from !== 'string' || typeof to !== 'string' || !(Date.parse(from) > Date.parse(to))) return undefined;
  return 'from, to: the end is before the beginning';
}

export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .openapi({ type: 'string', enum: ['true', 'false'] });

/** Returns parameters with camelCase names. */
export function camelled<T extends object>(parameters: T): Camelled<T> {
  const named = Object.entries(parameters).map(([name, value]) => [toCamel(name), value]);
  return Object.fromEntries(named) as Camelled<T>; // the same rule as Camelled
}

/** The query for a list, from a route, a page or an export. */
export interface ListQuery<F extends z.ZodRawShape, O extends string = never> {
  db: Reader;
  query: Camelled<z.output<z.ZodObject<F>>>;
  /** The organizations that the principal can see; null means all. */
  organizations: string[] | null;
  sort?: O | undefined;
  direction?: 'asc' | 'desc' | undefined;
}

/** The letters, digits and marks that a URL never needs to encode (RFC 3986: unreserved), in their percent form. */
const encoded = /%([46][1-9a-f]|[57][\da]|3\d|2[de]|5f|7e)/gi;

/**
 * Returns the path of a URL with each letter as itself. The router takes `/v1/%6beys` for `/v1/keys`, so all that decides by a path must take it for the
 * same. Other characters stay encoded: a path of the log has no control characters.
 */
export function pathOf(url: string): string {
  return new URL(url).pathname.replace(encoded, (_code, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
