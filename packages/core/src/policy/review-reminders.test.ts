import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { reminderDue } from './review-reminders.ts';

const dayMs = 86_400_000;
const times = { dueMs: 100 * dayMs, remindDays: [14, 7, 1], escalates: true, escalateAfterDays: 3 };

test.each([
  [85.9, null],
  [86, '14d'],
  [93, '7d'],
  [98.9, '7d'],
  [99, '1d'],
  [100, 'overdue'],
  [102.9, 'overdue'],
  [103, 'escalation'],
])('on day %d the newest reminder is %s', (day, step) => {
  expect(reminderDue(times, day * dayMs)).toBe(step);
});

test('without a person to escalate to, a review stays overdue', () => {
  expect(reminderDue({ ...times, escalates: false }, 200 * dayMs)).toBe('overdue');
});

test('reminders never go backwards as time passes, in any order of the days', () => {
  const rank = (step: string | null) => {
    if (step === null) return -1e6;
    return step === 'escalation' ? 2 : step === 'overdue' ? 1 : -Number.parseInt(step, 10);
  };
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 5 }),
      fc.nat(200),
      fc.nat(200),
      (remindDays, one, other) => {
        const [earlier, later] = [Math.min(one, other), Math.max(one, other)];
        const at = (day: number) => rank(reminderDue({ ...times, remindDays }, day * dayMs));
        expect(at(later)).toBeGreaterThanOrEqual(at(earlier));
      },
    ),
  );
});
