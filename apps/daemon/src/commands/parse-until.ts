import { parseDuration } from '@keywarden/core/values';
import { usageError } from '@keywarden/runtime';

/** When something ends: a date, or a duration from `now` on. `what` it is stands in the refusals. Throws a UserError (exit 2). */
export function parseUntil(text: string, { now, what }: { now: string; what: string }): string {
  const lastingMs = parseDuration(text);
  const atMs = lastingMs === undefined ? Date.parse(text) : Date.parse(now) + lastingMs;
  if (lastingMs === undefined && (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(atMs)))
    throw usageError(`${text} is neither a date nor a duration; write it as 2027-03-31 or 90d.`);
  if (atMs <= Date.parse(now)) throw usageError(`${text} is over already; ${what} ends later than now.`);
  return new Date(atMs).toISOString();
}
