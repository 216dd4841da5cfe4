import { z } from '@hono/zod-openapi';
import { parseDuration } from '@keywarden/core/values';

// What parameters and bodies are made of.

/** A word that a person or a script gives. Postgres takes no NUL in it. */
export const word = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\0]*$/, 'has a NUL character');

/** A sentence that says why. */
export const reason = z
  .string()
  .trim()
  .min(1)
  .max(1000)
  .regex(/^[^\0]*$/, 'has a NUL character')
  .openapi({ description: 'Why, in words' });

/** The digits of an int64. */
export const digits = z.string().regex(/^\d{1,18}$/, 'is not a number');

const instantOnly = z.iso
  .datetime({ offset: true, error: 'is no RFC 3339 time such as 2026-03-31T00:00:00Z' })
  .refine((text) => !/[+-](1[5-9]|2\d)/.test(text.slice(10)), 'has an offset that no place has');

/** An RFC 3339 time, of a year that Postgres knows. */
export const instant = instantOnly
  .refine((text) => Date.parse(text) > Date.UTC(1, 0), 'is before all time')
  .openapi({
    type: 'string',
    format: 'date-time',
  });

/** A length of time such as 90d; ms. */
export const lasting = z
  .string()
  .regex(/^\d{1,5}(s|m|h|d)$/, 'is no duration such as 90d, 12h, 30m')
  .transform((text) => parseDuration(text) ?? 0)
  .openapi({ type: 'string', pattern: '^\\d{1,5}(s|m|h|d)$' });

/** Times from `from` on and before `to`. */
export const range = {
  from: instant.optional().openapi({ description: 'From this time on' }),
  to: instant.optional().openapi({ description: 'Before this time' }),
};

/** Whether something is so. */
export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .openapi({ type: 'string', enum: ['true', 'false'] });
