import { Cron } from 'croner';
import { z } from 'zod';
import { dayMs } from './days.ts';

const rfc3339 =
  /^(?!0000)(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/;

/** Returns whether a text is an RFC 3339 time that exists in the calendar and that Postgres accepts. In UTC, and rounded, its year may be 0 or 10000. */
export function hasTimeForm(text: unknown): text is string {
  if (typeof text !== 'string' || !rfc3339.test(text)) return false;
  const day = Number(text.slice(8, 10));
  return day <= 28 || day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
}

const firstMs = Date.parse('0001-01-01T00:00:00Z');
const endMs = Date.parse('+010000-01-01T00:00:00Z');

/** Returns whether a text is such a time from the year 1 to 9999 of UTC: Postgres prints others in a form that no reader of archives takes. */
export function isInstant(text: unknown): boolean {
  if (!hasTimeForm(text)) return false;
  if (!/^(0001-01-01|9999-12-31)/.test(text)) return true;
  const roundedMs = fractionOf(text) >= 0.999_999_5 ? 1000 : 0;
  return toMs(text) >= firstMs && toMs(text) + roundedMs < endMs;
}

/** Returns the milliseconds since 1970 of an RFC 3339 time. Drops digits below the millisecond, so never use the result as a key. */
export function toMs(at: string): number {
  return Date.parse(at);
}

/** Returns the microseconds since 1970 of an RFC 3339 time. Digits below are rounded as Postgres does, a half to the even number. */
export function roundedMicros(at: string): number {
  const micros = fractionOf(at) * 1_000_000;
  const rounded = Math.round(micros);
  const isOddHalf = rounded - micros === 0.5 && rounded % 2 === 1;
  return Math.floor(toMs(at) / 1000) * 1_000_000 + (isOddHalf ? rounded - 1 : rounded);
}

/** Returns the second of an RFC 3339 time, in UTC, as the text before its fraction: 2026-01-31T10:00:07. */
export function secondOf(at: string): string {
  return (at.endsWith('Z') ? at : new Date(toMs(at)).toISOString()).slice(0, wholeSeconds);
}

const wholeSeconds = 'YYYY-MM-DDTHH:MM:SS'.length;

/**
 * Orders two RFC 3339 times with every digit: negative if `a` is earlier, 0 if they are the same instant. Nearly all times are in UTC, and those are
 * compared as text, because pages have thousands of them.
 */
export function compareInstants(a: string, b: string): number {
  if (a === b) return 0;
  if (!a.endsWith('Z') || !b.endsWith('Z')) return toMs(a) - toMs(b) || fractionOf(a) - fractionOf(b);
  const [secondsA, secondsB] = [a.slice(0, wholeSeconds), b.slice(0, wholeSeconds)];
  if (secondsA !== secondsB) return secondsA < secondsB ? -1 : 1;
  return fractionOf(a) - fractionOf(b);
}

function fractionOf(at: string): number {
  return at[wholeSeconds] === '.' ? Number.parseFloat(`0${at.slice(wholeSeconds)}`) : 0;
}

/** Returns the time that many whole milliseconds before an instant. Drops smaller digits, which only makes the result earlier. */
export function before(at: string, ms: number): string {
  return new Date(toMs(at) - ms).toISOString();
}

/** A duration as written, and in milliseconds. */
export interface Duration {
  text: string;
  ms: number;
}

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs, w: 604_800_000 };

/** Postgres does not accept the years before 1 as JavaScript writes them. */
const longestDurationMs = 365_000 * dayMs;

/** Returns `90d`, `12h`, `30m`, `45s` or `2w` in milliseconds, or undefined for anything else and for more than 365000d. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,6})(s|m|h|d|w)$/.exec(text);
  if (!match) return undefined;
  const ms = Number(match[1]) * (unitMs[match[2] ?? ''] ?? Number.NaN);
  return ms <= longestDurationMs ? ms : undefined;
}

/** A duration, written as a number and a unit. */
export const duration = z
  .string()
  .meta({ pattern: String.raw`^\d{1,6}[smhdw]$` })
  .transform((text, context): Duration => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0) return { text, ms };
    const message = 'a duration is a number above 0 and a unit: 45s, 30m, 12h, 90d, 2w; the longest is 365000d';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

/** A cron expression that has a time from now on. */
export const schedule = z.string().superRefine((text, context) => {
  const message = whyNotSchedule(text);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

function whyNotSchedule(text: string): string | null {
  try {
    if (new Cron(text, { paused: true }).nextRun() !== null) return null;
    return 'a schedule without a time from now on: its year is past, or no month has its day; change it, or remove it';
  } catch {
    return 'not a cron expression; 15 minutes past each hour is "15 * * * *"';
  }
}
