import { expect, test } from 'vitest';
import { aborted } from './lifetime.ts';

test('a process that waits for a stop signal stays alive until then', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const controller = new AbortController();
  const before = timers();
  const waiting = aborted(controller.signal);
  expect(timers()).toBe(before + 1);
  controller.abort();
  await waiting;
  expect(timers()).toBe(before);
});
