import { z } from 'zod';

/** RFC 3339, kept as it came: a JavaScript Date would drop microseconds. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, 'not an RFC 3339 time');

/** An int64 as decimal digits. `parseJson` gives those beyond 2^53 as text and the others as numbers. */
export const int64 = z.union([z.int(), z.string().regex(/^-?\d{1,19}$/)]).transform((value) => String(value));

/** Milliseconds since 1970 of an RFC 3339 time; digits below the millisecond are dropped, so never use it as a key. */
export function toMs(at: string): number {
  return Date.parse(at);
}
