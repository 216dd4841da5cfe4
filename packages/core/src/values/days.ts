// Days of UTC as texts, such as `2026-05-01`, and months, such as `2026-05`.

/** Milliseconds of a day. */
export const dayMs = 86_400_000;

/** Some days in a row. */
export interface DayRange {
  from: string;
  /** Excluded. */
  to: string;
}

/** Returns the day that has an instant. */
export const dayOf = (at: string): string => textOf(Date.parse(at));

/** Returns the first instant of a day. */
export const startOfDay = (day: string): string => `${day}T00:00:00Z`;

/** Returns the day that many days later. */
export const addDays = (day: string, count: number): string => textOf(Date.parse(startOfDay(day)) + count * dayMs);

/** Returns the day that is so many days after 1970-01-01. */
export const dayNumbered = (number: number): string => textOf(number * dayMs);

const textOf = (ms: number) => new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Returns the days of a range. */
export function daysOf({ from, to }: DayRange): string[] {
  const days: string[] = [];
  for (let day = from; day < to; day = addDays(day, 1)) days.push(day);
  return days;
}

/** Returns the month of a day. */
export const monthOf = (day: string): string => day.slice(0, 'YYYY-MM'.length);

/** Returns the months with days of a range. */
export const monthsOf = (range: DayRange): string[] => [...new Set(daysOf(range).map(monthOf))];
