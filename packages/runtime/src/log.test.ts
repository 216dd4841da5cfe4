import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Returns what a process logs for an error, as JSON. */
function logged(makeError: string): Record<string, unknown> {
  const index = fileURLToPath(new URL('./index.ts', import.meta.url));
  const source = `import { createLogger, UserError } from '${index}';
    const error = ${makeError};
    createLogger('test', { LOG_LEVEL: 'info', LOG_FORMAT: 'json' }).error({ err: error }, 'it failed');`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  return JSON.parse(stderr).err;
}

test('our own errors are logged with their message, all others only with class and code, because a message may contain data', () => {
  expect(logged("new UserError('usage', 'Fix this.')")).toEqual({
    type: 'UserError',
    code: 'usage',
    message: 'Fix this.',
  });
  const foreign = "Object.assign(new Error('parameters: napi_secret'), { code: '42P01' })";
  expect(logged(foreign)).toEqual({ type: 'Error', code: '42P01' });
  const fields =
    "{ name: 'PostgresError', code: '23514', table_name: 'operation', routine: 'ExecFindPartition', detail: 'napi_secret' }";
  expect(logged(`Object.assign(new Error('napi_secret'), ${fields})`)).toEqual({
    type: 'PostgresError',
    code: '23514',
    table: 'operation',
    routine: 'ExecFindPartition',
  });
});

test('a reader of the log that stops reading stops no process; what it has not read waits for it', async () => {
  const index = fileURLToPath(new URL('./index.ts', import.meta.url));
  const source = `import { createLogger } from '${index}';
    const log = createLogger('test', { LOG_LEVEL: 'info', LOG_FORMAT: 'json' });
    for (let line = 0; line < 2000; line += 1) log.info({ line, text: 'x'.repeat(200) });
    console.log('goes on');
    process.stdin.on('data', () => {
      log.info({ line: 2000 });
      console.log('goes on');
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source]);
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  const lines: unknown[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(JSON.parse(line).line));
  // The next line takes along what waits.
  while (!lines.includes(1999)) {
    const answered = once(child.stdout, 'data');
    child.stdin.write('again\n');
    await answered;
  }
  child.stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(lines.slice(0, 2000)).toEqual(Array.from({ length: 2000 }, (_, line) => line));
});
