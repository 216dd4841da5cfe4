import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { entry, run } from './processes.ts';

// A witness as its operator starts it: it needs neither a store nor a configuration.

const server = createServer();
let taken: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  taken = String(typeof address === 'object' ? address?.port : '');
});
afterAll(() => void server.close());

const ledgerKey = 'keywarden/e632add7191a+c3e33f00+ASkxkOaRM2txI08gaKPtg8wPyGI5pAfGfASzAHH+Nyfc';

test.each([
  ['127.0.0.1', () => taken, 'EADDRINUSE'],
  ['192.0.2.1', () => '0', 'EADDRNOTAVAIL'],
])('a witness that cannot listen on %s says so in one sentence', async (address, portOf, code) => {
  const settings = { KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'keywarden-witness-')) };
  const port = portOf();
  const args = ['witness', '--name', 'witness.example/one', '--log', ledgerKey, '--host', address, '--port', port];
  const ended = await run([...entry.keywarden, ...args], settings);
  const sentence = `The witness cannot listen on ${address}:${port} (${code}); name another --host or --port.`;
  expect(ended).toMatchObject({ code: 1, stderr: `${sentence}\n` });
});

test('a witness refuses an algorithm that it does not know, or that its key does not have', async () => {
  const settings = { KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'keywarden-witness-')) };
  const args = ['--name', 'witness.example/one', '--log', ledgerKey, '--host', '192.0.2.1', '--port', '0'];
  const start = async (algorithm: string) =>
    await run([...entry.keywarden, 'witness', ...args, '--algorithm', algorithm], settings);
  const unknown = 'There is no algorithm rsa; use one of ed25519, ml-dsa-44.';
  expect(await start('rsa')).toMatchObject({ code: 2, stderr: `${unknown}\n` });
  expect((await start('ml-dsa-44')).code, 'its key is made before it listens').toBe(1);
  const other = `The key in ${settings.KEYWARDEN_DATA}/witness-key is of ml-dsa-44; leave out --algorithm.`;
  expect(await start('ed25519')).toMatchObject({ code: 2, stderr: `${other}\n` });
});
