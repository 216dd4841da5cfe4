import { customType } from 'drizzle-orm/pg-core';

/** A bigint as the text of its digits, which is what postgres.js gives and takes: a JavaScript number would lose some. */
export const int64 = customType<{ data: string; driverData: string }>({ dataType: () => 'bigint' });

/**
 * A timestamptz as RFC 3339 text with every digit: `2026-03-31T23:59:59.123456Z`. Postgres prints it without trailing zeros, as
 * the control plane does, and the session's time zone is UTC.
 */
export const instant = customType<{ data: string; driverData: string }>({
  dataType: () => 'timestamp with time zone',
  fromDriver: toInstant,
});

/** Postgres's text of a timestamptz in UTC, by itself or within JSON, as RFC 3339. */
export function toInstant(text: string): string {
  return text.replace(' ', 'T').replace(/\+00(:00)?$/, 'Z');
}
