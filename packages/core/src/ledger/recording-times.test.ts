import { expect, test } from 'vitest';
import { createTimeOrder } from './recording-times.ts';

const day = '2026-05-01T';

test('a time of recording more than an hour before an earlier one contradicts the order, also after many small steps back', () => {
  const contradicts = createTimeOrder();
  const times = ['12:00:00.5Z', '11:00:00.5Z', '11:00:00.4Z', '10:30:00Z', '12:00:01Z', '11:00:01Z', '11:00:00Z'];
  expect(times.map((time) => contradicts(day + time))).toEqual([false, false, true, true, false, false, true]);
  expect([undefined, 'never'].map((recorded) => contradicts(recorded))).toEqual([true, true]);
});

test('a time after now contradicts the order, and makes no honest time contradict it', () => {
  const contradicts = createTimeOrder(Date.parse(`${day}12:00:00Z`));
  expect(['11:59:00Z', '13:00:00Z', '12:00:00Z'].map((time) => contradicts(day + time))).toEqual([false, false, false]);
  expect(contradicts('2099-01-01T00:00:00Z')).toBe(true);
  expect(contradicts(`${day}12:00:00Z`)).toBe(false);
});
