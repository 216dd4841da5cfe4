import { addDays, compareInstants, startOfDay } from '@keywarden/core/values';
import type { GapReason, Interval, ListedCoverage } from '../coverage/coverage.ts';

/** What the archive claims to have of a day. */
export interface DayCoverage {
  /** With a reason: the project did not exist then, by its control plane, so that it had no operations. */
  covered: (Interval & { reason?: 'not_created' | 'deleted' })[];
  gaps: (Interval & { reason: GapReason })[];
}

/** Returns the part of a project's coverage that is about one day. */
export function coverageOf({ coverage, endedAt }: ListedCoverage, day: string): DayCoverage {
  const { known, unknown, created_at: createdAt } = coverage;
  const [from, to] = [startOfDay(day), startOfDay(addDays(day, 1))];
  const isOfDay = (at: string) => compareInstants(at, from) >= 0 && compareInstants(at, to) < 0;
  const covered: DayCoverage['covered'] = known.flatMap((each) => clip(each, from, to));
  if (isOfDay(createdAt))
    covered.unshift({ from, to: createdAt, from_included: true, to_included: false, reason: 'not_created' });
  if (endedAt !== null && isOfDay(endedAt))
    covered.push({ from: endedAt, to, from_included: false, to_included: false, reason: 'deleted' });
  return { covered, gaps: unknown.flatMap((each) => clip(each, from, to)) };
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
