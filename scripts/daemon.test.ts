import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { until } from '@keywarden/testkit';
import { type Controls, createControls } from '@keywarden/testkit/sandbox/controls';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { entry, run, type Started, settingsFor, start } from './processes.ts';

let store: TestStore;
let sandbox: Sandbox;
let controls: Controls;
const folder = mkdtempSync(join(tmpdir(), 'keywarden-daemon-'));
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  sandbox = await createSandbox({ limits: noLimits });
  controls = createControls(sandbox.controlUrl);
  await controls.generate({ organizations: 1, projects: 2, keys: 3, operations: 100, months: 1 });
});
afterAll(async () => {
  await sandbox.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const settings = (change: Record<string, string> = {}) => ({
  ...settingsFor(store, sandbox, folder),
  DAEMON_PORT: '0',
  ...change,
});

async function says(daemon: Started, words: string | RegExp): Promise<string> {
  return await until(() => {
    const found = new RegExp(words).exec(daemon.output());
    if (found) return found[1] ?? found[0];
    if (daemon.child.exitCode !== null) throw new Error(`the daemon ended: ${daemon.output()}`);
    return undefined;
  });
}

/** Returns a connection to the database that stays closed until it is opened. */
async function closedLine(): Promise<{ url: string; open(): Promise<Server> }> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const address = holder.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await new Promise((resolve) => holder.close(resolve));
  const { hostname, port: far } = new URL(store.url);
  return {
    url: Object.assign(new URL(store.url), { hostname: '127.0.0.1', port: String(port) }).href,
    async open() {
      const server = createServer((near) => {
        const line = connect(Number(far), hostname);
        near.on('error', () => line.destroy()).on('close', () => line.destroy());
        line.on('error', () => near.destroy()).on('close', () => near.destroy());
        near.pipe(line).pipe(near);
      });
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      return server;
    },
  };
}

test('a daemon waits for its database, exposes its health and readiness on its port, and stops on request', async () => {
  const line = await closedLine();
  const daemon = start([...entry.keywarden, 'run'], settings({ DATABASE_URL: line.url }));
  await says(daemon, 'is not available yet; the daemon waits for it');
  const server = await line.open();
  await says(daemon, 'the daemon runs');
  const lines = daemon.output().split('\n').slice(0, -1);
  expect(lines.map((line) => JSON.parse(line).msg)).toContainEqual(expect.stringMatching(/^keys of .*organization$/));
  const url = await says(daemon, /"url":"(http:[^"]+)\/metrics"/);
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready' });
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('keywarden_sync_age_seconds{');
  await store.sql`update keywarden.migration set hash = hash || 'x' where id = 1`;
  const unready = await fetch(`${url}/readyz`);
  expect([unready.status, await unready.json()]).toEqual([
    503,
    { status: 'not ready', why: expect.stringMatching(/do not match the \d+ of this version/) },
  ]);
  await store.sql`update keywarden.migration set hash = left(hash, -1) where id = 1`;
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  server.close();
});

test('a daemon whose database another version migrates ends with exit code 2 and the difference', async () => {
  const file = join(folder, 'often.yaml');
  // The daemon looks at the schema with each time of a schedule, and otherwise once in a minute.
  writeFileSync(file, 'schedules: { retention: "*/5 * * * * *" }');
  const daemon = start([...entry.keywarden, 'run'], settings({ KEYWARDEN_CONFIG: file }));
  await says(daemon, 'the daemon runs');
  await store.sql`update keywarden.migration set hash = hash || 'x' where id = 1`;
  const { code, stderr } = await daemon.ended;
  await store.sql`update keywarden.migration set hash = left(hash, -1) where id = 1`;
  expect(stderr).toMatch(/do not match the \d+ of this version; use .*\n$/);
  expect(code).toBe(2);
});

test('a requested port that is taken ends the daemon with a sentence', async () => {
  const ended = await run([...entry.keywarden, 'run'], settings({ DAEMON_PORT: new URL(sandbox.url).port }));
  expect(ended.stderr).toContain('EADDRINUSE); fix DAEMON_HOST or DAEMON_PORT.');
  expect(ended.code).toBe(1);
});

test('a second signal ends a daemon at once while it finishes its work', async () => {
  const path = '/organizations/{org_id}/api_keys';
  await controls.setFaults([{ method: 'GET', path, kind: 'latency', latency_ms: 20_000 }]);
  await store.sql`delete from keywarden.schedule_slot`;
  const daemon = start([...entry.keywarden, 'run'], settings());
  await controls.resetStats();
  await until(async () => {
    const { by_route: routes } = await controls.stats();
    return routes[`GET ${path}`];
  });
  let sent = 0;
  await until(() => {
    if (daemon.child.exitCode !== null) return true;
    daemon.child.kill('SIGTERM');
    sent += 1;
    return false;
  });
  // A signal right after the first counts as the same request.
  expect(sent).toBeGreaterThan(1);
  expect((await daemon.ended).code).toBe(1);
  await controls.setFaults([]);
});

test('a command whose session with the database ends blames the database, and not the control plane', async () => {
  const path = '/projects/{project_id}/operations';
  await controls.setFaults([{ method: 'GET', path, kind: 'latency', latency_ms: 60_000 }]);
  await controls.resetStats();
  const sync = start([...entry.keywarden, 'sync', 'operations'], settings());
  await until(async () => (await controls.stats()).by_route[`GET ${path}`]);
  await store.sql`
    select pg_terminate_backend(pid) from pg_locks
    where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`;
  const { code, stderr } = await sync.ended;
  await controls.setFaults([]);
  expect(stderr).toContain('The session with the database ended, and the work that needs it stopped');
  expect(stderr).not.toMatch(/control plane failed|Unexpected error/);
  expect(code).toBe(1);
});
