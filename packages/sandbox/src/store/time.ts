/** Instants inside the sandbox are integers of microseconds since 1970, which a double holds exactly. */
export type Micros = number;

export const MILLISECOND: Micros = 1000;
export const SECOND: Micros = 1000 * MILLISECOND;
export const MINUTE: Micros = 60 * SECOND;
export const HOUR: Micros = 60 * MINUTE;
export const DAY: Micros = 24 * HOUR;

/** The last accepted instant. The sandbox stays within the years that its integers hold exactly, with a margin. */
export const lastInstant: Micros = Date.UTC(2200, 0, 1) * 1000;

/** Renders an instant as the control plane does: RFC 3339 in UTC, fraction without trailing zeros. */
export function formatInstant(at: Micros): string {
  const fraction = at % SECOND;
  if (fraction === 0) return formatWholeSecond(at);
  const milliseconds = Math.floor(fraction / 1000);
  const rest = fraction % 1000;
  const digits = rest === 0 ? trimmed[milliseconds] : `${threeDigits[milliseconds]}${trimmed[rest]}`;
  return `${formatSeconds(at)}.${digits}Z`;
}

/** Renders an instant without its fraction. */
export const formatWholeSecond = (at: Micros) => `${formatSeconds(at)}Z`;

// Lists render millions of instants, so their parts come from tables.
const threeDigits = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, '0'));
const trimmed = threeDigits.map((digits) => digits.replace(/0+$/, ''));
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'));
const dates = new Map<number, string>();

function formatSeconds(at: Micros): string {
  const day = Math.floor(at / DAY);
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * 86_400_000).toISOString().slice(0, 10);
    if (dates.size > 10_000) dates.clear();
    dates.set(day, date);
  }
  const second = Math.floor((at - day * DAY) / SECOND);
  const minute = Math.floor(second / 60);
  return `${date}T${twoDigits[Math.floor(minute / 60)]}:${twoDigits[minute % 60]}:${twoDigits[second % 60]}`;
}

/** Renders a column that may be null. */
export function formatIfSet(at: unknown): string | null {
  return at === null || at === undefined ? null : formatInstant(Number(at));
}

/** Renders a cursor, always with six digits. */
export function formatCursor(at: Micros): string {
  return `${formatSeconds(at)}.${String(at % SECOND).padStart(6, '0')}Z`;
}

/** Parses what both render; returns undefined if the text is not an instant. */
export function parseInstant(text: string): Micros | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/.exec(text);
  if (!match) return undefined;
  const seconds = Date.parse(`${match[1]}Z`);
  return Number.isNaN(seconds) ? undefined : seconds * 1000 + Number((match[2] ?? '').padEnd(6, '0'));
}

/** Returns the instant this many calendar months earlier, as the retention of operations counts them. A missing day becomes the month's last. */
export function monthsBefore(at: Micros, months: number): Micros {
  const date = new Date(Math.floor(at / 1000));
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime() * 1000 + (at % 1000);
}
