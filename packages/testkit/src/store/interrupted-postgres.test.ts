import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

test('a process that a signal ends, such as a benchmark, leaves no embedded Postgres', async () => {
  const start = `
    import { startTestPostgres } from '@keywarden/testkit/store/test-store';
    console.log((await startTestPostgres()).url);
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', start], {
    cwd: import.meta.dirname,
    env: { ...process.env, TEST_POSTGRES: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const [line] = (await once(createInterface(child.stdout), 'line')) as string[];
  const { hostname, port } = new URL(line ?? '');
  const isOpen = async () => {
    const socket = connect(Number(port), hostname);
    const opened = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return opened;
  };
  expect(await isOpen()).toBe(true);
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(await isOpen()).toBe(false);
});
