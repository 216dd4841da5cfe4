/** Instants inside the sandbox are integers of microseconds since 1970, which a double holds exactly. */
export type Micros = number;

export const MILLISECOND: Micros = 1000;
export const SECOND: Micros = 1000 * MILLISECOND;
export const MINUTE: Micros = 60 * SECOND;
export const HOUR: Micros = 60 * MINUTE;
export const DAY: Micros = 24 * HOUR;

/** Renders as the control plane does: RFC 3339 in UTC, fraction without trailing zeros. */
export function formatInstant(at: Micros): string {
  const seconds = new Date(Math.floor(at / 1000)).toISOString().slice(0, 19);
  const fraction = at % SECOND;
  return fraction === 0 ? `${seconds}Z` : `${seconds}.${String(fraction).padStart(6, '0').replace(/0+$/, '')}Z`;
}

/** The same for a column that may be null. */
export function formatIfSet(at: unknown): string | null {
  return at === null || at === undefined ? null : formatInstant(Number(at));
}

/** Renders a cursor: always six digits. */
export function formatCursor(at: Micros): string {
  return `${new Date(Math.floor(at / 1000)).toISOString().slice(0, 19)}.${String(at % SECOND).padStart(6, '0')}Z`;
}

/** The inverse of both; undefined when the text is no instant. */
export function parseInstant(text: string): Micros | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/.exec(text);
  if (!match) return undefined;
  const seconds = Date.parse(`${match[1]}Z`);
  return Number.isNaN(seconds) ? undefined : seconds * 1000 + Number((match[2] ?? '').padEnd(6, '0'));
}

/** Months back by the calendar, as the retention of operations counts them; a day that is not there becomes the month's last. */
export function monthsBefore(at: Micros, months: number): Micros {
  const date = new Date(Math.floor(at / 1000));
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime() * 1000 + (at % 1000);
}
