import { expect, test } from 'vitest';
import { createLateness, createTimeOrder, isRecordedAtItsTime } from './recording-times.ts';

const day = '2026-05-01T';
const msOf = (time: string) => Date.parse(day + time);

test('a time of recording more than an hour before an earlier one contradicts the order, also after many small steps back', () => {
  const nowMs = msOf('12:01:00Z');
  const order = createTimeOrder({ nowMs });
  expect(order.latestMs()).toBeNull();
  const times = ['12:00:00.5Z', '11:00:00.5Z', '11:00:00.4Z', '10:30:00Z', '12:00:01Z', '11:00:01Z', '11:00:00Z'];
  expect(times.map((time) => order.contradicts(day + time))).toEqual([false, false, true, true, false, false, true]);
  expect([undefined, 'never'].map((recorded) => order.contradicts(recorded))).toEqual([true, true]);
  const next = createTimeOrder({ nowMs, latestMs: order.latestMs() });
  expect(next.contradicts(`${day}11:00:00Z`)).toBe(true);
});

test('a time after now contradicts the order, and makes no honest time contradict it', () => {
  const order = createTimeOrder({ nowMs: msOf('12:00:00Z') });
  expect(['11:59:00Z', '13:00:00Z', '12:00:00Z'].map((time) => order.contradicts(day + time))).toEqual([
    false,
    false,
    false,
  ]);
  expect(order.contradicts('2099-01-01T00:00:00Z')).toBe(true);
  expect(order.contradicts(`${day}12:00:00Z`)).toBe(false);
});

test('a clock that ran ahead and is set right makes no honest time contradict the order, neither at once nor later', () => {
  let latestMs: number | null = null;
  let contradictions = 0;
  // Each minute one event, which is read at once or up to five minutes later; the clock is two hours ahead until 12:00.
  for (let minute = 0; minute < 600; minute += 1) {
    const clock = (at: number) => msOf('08:00:00Z') + at * 60_000 + (at < 240 ? 7_200_000 : 0);
    const order = createTimeOrder({ nowMs: clock(minute), latestMs });
    const late = Math.max(minute - (minute % 5), 0);
    for (const at of [late, minute])
      if (order.contradicts(new Date(clock(at)).toISOString()) && !(at < 240 && minute >= 240)) contradictions += 1;
    latestMs = order.latestMs();
  }
  expect(contradictions).toBe(0);
});

test('an event is late if it was not recorded at the time of its row; a later one of the row is, if it has another time', () => {
  const isLate = createLateness();
  const read = (at: string, recorded: string, subject = 'exemption/1') =>
    isLate({ type: 'exemption.ended', subject, at: day + at, recorded: day + recorded });
  expect(read('12:00:00Z', '12:59:00Z')).toBe(false);
  expect(read('12:00:00Z', '20:00:00Z')).toBe(false);
  expect(read('09:00:00Z', '20:00:00Z')).toBe(true);
  expect(read('09:00:00Z', '21:00:00Z')).toBe(false);
  expect(read('12:00:00Z', '20:00:00Z', 'exemption/2')).toBe(true);
  expect(read('20:00:00Z', '12:00:00Z', 'exemption/3')).toBe(true);
});

test('an event is recorded at its time within an hour before or after it, to the microsecond', () => {
  const at = `${day}12:00:00.000001Z`;
  const times = ['13:00:00.000001Z', '13:00:00.000002Z', '11:00:00.000001Z', '11:00:00Z'];
  expect(times.map((time) => isRecordedAtItsTime({ at, recorded: day + time }))).toEqual([true, false, true, false]);
});
