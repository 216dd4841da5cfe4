import { failure } from '@keywarden/testkit/client/fixture';
import { expect, test } from 'vitest';
import type { WireOperation } from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import { waitForOperations } from './wait.ts';

/** Polls operations that show these statuses, one a poll; time advances with each wait. */
function polled(...courses: string[][]) {
  let nowMs = 0;
  const slept: number[] = [];
  const polls: string[] = [];
  const time = {
    now: () => nowMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      nowMs += ms;
    },
  };
  const operations = courses.map((_, index) => ({ projectId: 'p', id: String(index) }));
  const read = async ({ id }: { id: string }) => {
    polls.push(id);
    const course = courses[Number(id)] ?? [];
    // Only the status is read.
    return { id, status: course.length > 1 ? course.shift() : course[0] } as WireOperation;
  };
  return { time, slept, polls, operations, read };
}

test.each([
  [['finished'], 'finished', 0],
  [['scheduling', 'running', 'finished'], 'finished', 2],
  [['running', 'failed', 'failed', 'running', 'finished'], 'finished', 4],
  [['running', 'cancelling', 'cancelled'], 'cancelled', 2],
  [['scheduling', 'skipped'], 'skipped', 1],
  [['running', 'error'], 'failed', 1],
  [['a status of tomorrow', 'finished'], 'finished', 1],
  [['constructor', 'finished'], 'finished', 1],
])('%j ends as %s', async (course, outcome, waits) => {
  const { operations, read, time, slept } = polled([...course]);
  const [end] = await waitForOperations(read, operations, { time });
  expect(end?.outcome).toBe(outcome);
  expect(slept).toEqual(Array.from({ length: waits }, () => 5000));
});

test('the results are in the order of the operations, and each operation is polled until it ends', async () => {
  const { operations, read, time, polls } = polled(
    ['running', 'finished'],
    ['skipped'],
    ['running', 'running', 'error'],
  );
  const ends = await waitForOperations(read, operations, { time, intervalMs: 100 });
  expect(ends.map(({ outcome }) => outcome)).toEqual(['finished', 'skipped', 'failed']);
  expect(polls).toEqual(['0', '0', '1', '2', '2', '2']);
});

test('an operation that does not end before the deadline is reported with its status and the time', async () => {
  const { operations, read, time, slept } = polled(['failed']);
  const error = await failure(waitForOperations(read, operations, { time, deadlineMs: 17_000 }));
  expect(error.code).toBe('timed_out');
  expect(error.message).toContain('still failed after 15000 ms');
  expect(slept).toEqual([5000, 5000, 5000]);
});

test('an aborted wait rejects as aborted', async () => {
  const { operations, read, time } = polled(['running']);
  const error = await failure(waitForOperations(read, operations, { time, signal: AbortSignal.abort() }));
  expect(error.code).toBe('aborted');
});

test('a poll that lasts until the deadline is given up', async () => {
  const { operations, time } = polled(['running']);
  const read = async (_operation: object, signal: AbortSignal) =>
    await new Promise<WireOperation>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const error = await failure(waitForOperations(read, operations, { time, deadlineMs: 20 }));
  expect([error.code, error.message]).toEqual(['timed_out', 'operation 0 is still not read after 0 ms']);
});

test('an error of a poll ends the wait', async () => {
  const { operations, time } = polled(['running']);
  const lost = new ControlPlaneError('unavailable', 'no answer');
  const read = async () => await Promise.reject<WireOperation>(lost);
  await expect(waitForOperations(read, operations, { time })).rejects.toBe(lost);
});
