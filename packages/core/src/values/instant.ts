const rfc3339 =
  /^(?!0000)(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/;

/** Whether a text is an RFC 3339 time that the calendar has, and that Postgres takes. */
export function isInstant(text: unknown): boolean {
  if (typeof text !== 'string' || !rfc3339.test(text)) return false;
  const day = Number(text.slice(8, 10));
  return day <= 28 || day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
}

/** Milliseconds since 1970 of an RFC 3339 time; digits below the millisecond are dropped, so never use it as a key. */
export function toMs(at: string): number {
  return Date.parse(at);
}

/** The second of an RFC 3339 time, in UTC, as the text before its fraction: 2026-01-31T10:00:07. */
export function secondOf(at: string): string {
  return (at.endsWith('Z') ? at : new Date(toMs(at)).toISOString()).slice(0, wholeSeconds);
}

const wholeSeconds = 'YYYY-MM-DDTHH:MM:SS'.length;

/**
 * Orders two RFC 3339 times with every digit: negative when `a` is earlier, 0 when they are one instant. Those in UTC, which are
 * nearly all, are compared as the text that they are: pages have thousands.
 */
export function compareInstants(a: string, b: string): number {
  if (a === b) return 0;
  if (!a.endsWith('Z') || !b.endsWith('Z')) return toMs(a) - toMs(b) || fractionOf(a) - fractionOf(b);
  const [secondsA, secondsB] = [a.slice(0, wholeSeconds), b.slice(0, wholeSeconds)];
  if (secondsA !== secondsB) return secondsA < secondsB ? -1 : 1;
  return fractionOf(a) - fractionOf(b);
}

/** The part of a second. */
function fractionOf(at: string): number {
  return at[wholeSeconds] === '.' ? Number.parseFloat(`0${at.slice(wholeSeconds)}`) : 0;
}

/** Whole milliseconds before an instant; what is below them is dropped, which only makes it earlier. */
export function before(at: string, ms: number): string {
  return new Date(toMs(at) - ms).toISOString();
}
