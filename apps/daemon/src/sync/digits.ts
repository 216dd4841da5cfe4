import { compareInstants, toMs } from '@keywarden/core/values';

const digitsAtMost = 6;

/**
 * The end of the span that a time's digits name: 10:00:05 for what happened within that second may be written so, and ends at 10:00:06. One with six
 * digits is itself.
 */
export function endOfDigits(at: string): string {
  const digits = (/\.(\d+)/.exec(at)?.[1] ?? '').slice(0, digitsAtMost).replace(/0+$/, '');
  return digits.length === digitsAtMost ? at : plusMicros(at, 10 ** (digitsAtMost - digits.length));
}

export const justAbove = (at: string) => plusMicros(at, 1);

/** A time so many microseconds later, in UTC, at most a second. */
function plusMicros(at: string, micros: number): string {
  const fraction = (/\.(\d+)/.exec(at)?.[1] ?? '').padEnd(digitsAtMost, '0').slice(0, digitsAtMost);
  const sum = Number(fraction) + micros;
  const seconds = Math.floor(toMs(at) / 1000) + Math.floor(sum / 1_000_000);
  const whole = new Date(seconds * 1000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  return `${whole}.${String(sum % 1_000_000).padStart(digitsAtMost, '0')}Z`;
}

export const later = (a: string, b: string) => (compareInstants(a, b) >= 0 ? a : b);
