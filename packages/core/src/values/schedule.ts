import { Cron } from 'croner';
import { z } from 'zod';

/** A cron expression. */
export const schedule = z
  .string()
  .refine(isSchedule, { error: 'not a cron expression; 15 minutes past each hour is "15 * * * *"' });

function isSchedule(text: string): boolean {
  try {
    return new Cron(text, { paused: true }).nextRun() !== null;
  } catch {
    return false;
  }
}
