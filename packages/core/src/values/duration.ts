import { z } from 'zod';

/** A duration as it was written, and in milliseconds. */
export interface Duration {
  text: string;
  ms: number;
}

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses `90d`, `12h`, `30m`, `45s`, `2w` into milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,6})(s|m|h|d|w)$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * (unitMs[match[2] ?? ''] ?? Number.NaN);
}

/** Written as a number and a unit. */
export const duration = z
  .string()
  .meta({ pattern: String.raw`^\d{1,6}[smhdw]$` })
  .transform((text, context): Duration => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0) return { text, ms };
    context.addIssue({ code: 'custom', message: 'a duration is a number and a unit: 45s, 30m, 12h, 90d, 2w' });
    return z.NEVER;
  });

/** Whole days, in words that a person reads: "143 days", "1 day", "less than a day". */
export function daysInWords(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  if (days < 1) return 'less than a day';
  return days === 1 ? '1 day' : `${days} days`;
}
