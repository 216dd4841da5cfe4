import { compareInstants } from '@keywarden/core/values';
import type { HoleReason, Interval, ProjectCoverage } from '../coverage/coverage.ts';

// A day is `YYYY-MM-DD`, in UTC.

export const dayMs = 86_400_000;

/** The first instant of a day. */
export const startOf = (day: string) => `${day}T00:00:00Z`;

/** Returns the day that many days later. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(startOf(day)) + count * dayMs).toISOString().slice(0, 10);
}

/** Returns the day of an instant. */
export const dayOf = (at: string) => new Date(at).toISOString().slice(0, 10);

/** Returns the day that is so many days after 1970-01-01. */
export const dayNumbered = (number: number) => new Date(number * dayMs).toISOString().slice(0, 10);

/** Some days in a row. */
export interface DayRange {
  from: string;
  /** Excluded. */
  to: string;
}

/** Cuts a range at the beginning of each month. */
export function intoMonths({ from, to }: DayRange): DayRange[] {
  const ranges: DayRange[] = [];
  for (let at = from; at < to; ) {
    const next = `${addDays(`${at.slice(0, 7)}-01`, 31).slice(0, 7)}-01`;
    ranges.push({ from: at, to: next < to ? next : to });
    at = next;
  }
  return ranges;
}

/** What the archive claims to have of a day. */
export interface DayCoverage {
  covered: Interval[];
  gaps: (Interval & { reason: HoleReason })[];
}

/** Returns the part of a project's coverage that is about one day. */
export function coverageOf({ known, unknown }: Pick<ProjectCoverage, 'known' | 'unknown'>, day: string): DayCoverage {
  const [from, to] = [startOf(day), startOf(addDays(day, 1))];
  return {
    covered: known.flatMap((each) => clip(each, from, to)),
    gaps: unknown.flatMap((each) => clip(each, from, to)),
  };
}

/** Cuts an interval to the times from one instant to another, which is excluded. Returns an empty list if nothing is left. */
function clip<T extends Interval>(interval: T, from: string, to: string): T[] {
  const isFirst = compareInstants(interval.from, from) < 0;
  const isLast = compareInstants(interval.to, to) >= 0;
  const cut = {
    ...interval,
    ...(isFirst && { from, from_included: true }),
    ...(isLast && { to, to_included: false }),
  };
  const length = compareInstants(cut.to, cut.from);
  return length > 0 || (length === 0 && cut.from_included && cut.to_included) ? [cut] : [];
}
