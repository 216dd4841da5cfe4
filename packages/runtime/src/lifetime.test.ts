import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
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

test('a stop signal that arrives twice at once, as from a terminal and npm, is one request to stop', () => {
  const index = fileURLToPath(new URL('./index.ts', import.meta.url));
  const source = `import { aborted, stopSignal } from '${index}';
    const signal = stopSignal();
    for (const name of ['SIGINT', 'SIGTERM']) process.emit(name, name);
    await aborted(signal);
    console.log('stopped');`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['stopped\n', 0]);
});
