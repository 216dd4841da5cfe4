import { bitsOf, seedOf } from '../store/random.ts';
import { DAY, formatInstant, HOUR, type Micros } from '../store/time.ts';

export type Granularity = 'hourly' | 'daily' | 'monthly';

/** How long each granularity is kept, as the API document states. */
export const keptFor: Record<Granularity, Micros> = { hourly: 168 * HOUR, daily: 60 * DAY, monthly: 366 * DAY };

export interface Timeframe {
  start: Micros;
  end: Micros;
}

/** Returns the timeframes that cover `from` to `to`, both rounded down to the granularity. The last one ends after `to` began. */
export function timeframes(granularity: Granularity, { from, to }: { from: Micros; to: Micros }): Timeframe[] {
  const frames: Timeframe[] = [];
  for (let start = floorTo(from, granularity); start < to; ) {
    const end = next(start, granularity);
    frames.push({ start, end });
    start = end;
  }
  return frames;
}

/** Returns a timeframe as responses show it. */
export function renderTimeframe({ start, end }: Timeframe): { timeframe_start: string; timeframe_end: string } {
  return { timeframe_start: formatInstant(start), timeframe_end: formatInstant(end) };
}

/**
 * Returns the consumption of a subject in a timeframe. It is generated, but always equal for one subject, metric and hour, so that days add up to
 * months. It is zero before the subject existed (`since`) and after `now`.
 */
export function used(
  subject: string,
  metric: string,
  { frame, since, now }: { frame: Timeframe; since: Micros; now: Micros },
): number {
  const start = Math.max(frame.start, Math.ceil(since / HOUR) * HOUR);
  const end = Math.min(frame.end, Math.floor(now / HOUR) * HOUR);
  const base = seedOf(`${subject} ${metric}`);
  const scale = metric.includes('bytes') ? 1_000_000 : 900;
  let total = 0;
  for (let hour = start; hour < end; hour += HOUR) total += bitsOf(base + hour / HOUR) % scale;
  return total;
}

function floorTo(at: Micros, granularity: Granularity): Micros {
  const date = new Date(at / 1000);
  if (granularity === 'monthly') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) * 1000;
  return at - (at % (granularity === 'daily' ? DAY : HOUR));
}

function next(start: Micros, granularity: Granularity): Micros {
  if (granularity !== 'monthly') return start + (granularity === 'daily' ? DAY : HOUR);
  const date = new Date(start / 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) * 1000;
}
