import { z } from 'zod';
import { hasTimeForm, isInstant, toMs } from '../values/time.ts';
import { withCheck } from './record.ts';

const matches = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);

const time = z.string().toUpperCase(); // RFC 3339 permits a lower-case t and z

/** An RFC 3339 time, with every digit: a JavaScript Date would drop microseconds. */
export const instant = withCheck(time.refine(isInstant, 'not an RFC 3339 time'), isInstant);

const anyUuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
/** A UUID in its usual form, of any version. */
export const uuid = withCheck(z.string().regex(anyUuid, 'not a UUID'), matches(anyUuid));

export const text = withCheck(z.string(), (value) => typeof value === 'string');
/** An id that is not a number. Longer ones do not fit into the indexes of a store, and it has no place for NUL or half a surrogate pair. */
export const id = z
  .string()
  .max(256)
  .refine((value) => !value.includes('\0') && value.isWellFormed(), 'no text');
export const whole = withCheck(z.int(), Number.isSafeInteger);

/** A field that may be missing. */
export const maybe = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);

/** The zero time, which services use for "no time". */
export const unknownTime = '0001-01-01T00:00:00Z';

/** A time that may be missing, or the zero time. */
export const when = maybe(time.refine(hasTimeForm, 'not an RFC 3339 time')).transform((value) =>
  value === null || toMs(value) <= toMs(unknownTime) ? null : value,
);

/** An int64 as decimal digits. `parseJson` returns integers beyond 2^53 as text and others as numbers. */
export const int64 = z
  .union([z.int(), z.string()])
  // One combined check: zod would run a second check even on values that the first one refuses.
  .refine((value) => {
    if (!/^-?\d{1,19}$/.test(String(value))) return false;
    return BigInt.asIntN(64, BigInt(value)) === BigInt(value);
  }, 'no int64')
  .transform((value) => String(value));
