import { dayMs } from '../values/index.ts';

/** When a campaign of access reviews is due, and when its reviewers are reminded. Times are ms since 1970. */
export interface ReminderTimes {
  dueMs: number;
  /** How many days before the due date reviewers are reminded. */
  remindDays: readonly number[];
  /** Whether another person is notified some days after the due date. */
  escalates: boolean;
  escalateAfterDays: number;
}

/**
 * Returns the newest reminder that is due: `7d` before the due date, `overdue` after it, or `escalation`. Null before the first one. Earlier reminders
 * that were missed are not sent later.
 */
export function reminderDue(
  { dueMs, remindDays, escalates, escalateAfterDays }: ReminderTimes,
  nowMs: number,
): string | null {
  if (escalates && nowMs >= dueMs + escalateAfterDays * dayMs) return 'escalation';
  if (nowMs >= dueMs) return 'overdue';
  const begun = remindDays.filter((days) => nowMs >= dueMs - days * dayMs);
  return begun.length === 0 ? null : `${Math.min(...begun)}d`;
}
