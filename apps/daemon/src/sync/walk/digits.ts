import { compareInstants, toMs } from '@keywarden/core/values';

const digitsAtMost = 6;

/**
 * Returns the end of the span that a time's digits cover. For example, 10:00:05 can stand for anything within that second, so its span ends
 * at 10:00:06. A time with six digits is returned as it is.
 */
export function endOfDigits(at: string): string {
  const digits = (/\.(\d+)/.exec(at)?.[1] ?? '').slice(0, digitsAtMost).replace(/0+$/, '');
  return digits.length === digitsAtMost ? at : plusMicros(at, 10 ** (digitsAtMost - digits.length));
}

export const justAbove = (at: string) => plusMicros(at, 1);

/** Returns a time plus some microseconds, at most a second, in UTC. */
function plusMicros(at: string, micros: number): string {
  const fraction = (/\.(\d+)/.exec(at)?.[1] ?? '').padEnd(digitsAtMost, '0').slice(0, digitsAtMost);
  const sum = Number(fraction) + micros;
  const seconds = Math.floor(toMs(at) / 1000) + Math.floor(sum / 1_000_000);
  const whole = new Date(seconds * 1000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  return `${whole}.${String(sum % 1_000_000).padStart(digitsAtMost, '0')}Z`;
}

export const later = (a: string, b: string) => (compareInstants(a, b) >= 0 ? a : b);
