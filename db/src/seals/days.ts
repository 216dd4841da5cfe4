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

/** Returns the day that is so many days after 1970-01-01. */
export const dayNumbered = (number: number) => new Date(number * dayMs).toISOString().slice(0, 10);

/** Some days in a row. */
export interface DayRange {
  from: string;
  /** Excluded. */
  to: string;
}

/** Returns the days of a range. */
export function daysOf({ from, to }: DayRange): string[] {
  const days: string[] = [];
  for (let [ms, day] = [Date.parse(startOf(from)), from]; day < to; day = new Date(ms).toISOString().slice(0, 10)) {
    days.push(day);
    ms += dayMs;
  }
  return days;
}

/** Returns the months with days of a range, such as `2026-05`. */
export const monthsOf = (range: DayRange): string[] => [...new Set(daysOf(range).map(monthOf))];

/** Returns the month of a day. */
export const monthOf = (day: string) => day.slice(0, 'YYYY-MM'.length);

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
