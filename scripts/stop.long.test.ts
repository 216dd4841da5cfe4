import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@keywarden/sandbox';
import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { entry, settingsFor, start } from './processes.ts';

// A database that goes away right before a process stops: a session that the process still opens must not keep it.

let store: TestStore;
let sandbox: Sandbox;
let server: Server;
let url: string;
const folder = mkdtempSync(join(tmpdir(), 'keywarden-stop-'));
const lines = new Set<Socket>();
let opened = 0;
let isDown = false;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  sandbox = await createSandbox();
  const { hostname, port } = new URL(store.url);
  server = createServer((near) => {
    opened += 1;
    if (isDown) return void near.resetAndDestroy();
    const far = connect(Number(port), hostname);
    lines.add(near);
    near.on('error', () => undefined).on('close', () => lines.delete(near) && far.destroy());
    far.on('error', () => undefined).on('close', () => near.destroy());
    return void near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: ownPort } = server.address() as AddressInfo;
  url = Object.assign(new URL(store.url), { hostname: '127.0.0.1', port: String(ownPort) }).href;
});
afterAll(async () => {
  server.close();
  await sandbox.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ['comes back at once', false, 2],
  ['stays away', true, 3],
])('a daemon stops while it opens its sessions again, with a database that %s', async (_, staysAway, cases) => {
  const settings = { ...settingsFor(store, sandbox, folder), DATABASE_URL: url, DAEMON_PORT: '0' };
  for (let reconnected = 0; reconnected < cases; reconnected += 1) {
    const daemon = start([...entry.keywarden, 'run'], settings);
    await until(() => daemon.output().includes('the daemon runs'));
    const before = opened;
    isDown = staysAway;
    for (const line of lines) line.resetAndDestroy();
    await until(() => opened >= before + reconnected, { everyMs: 1 });
    daemon.child.kill('SIGTERM');
    isDown = false;
    expect(await daemon.ended, `${reconnected} sessions opened again`).toMatchObject({ code: 0 });
  }
});
