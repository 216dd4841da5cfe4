import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { armMachine, rotate, syncKeys } from '@keywarden/daemon';
import { listIncidents, listLiveKeys, listRotations } from '@keywarden/db/daemon';
import { parseConfig, type Sink } from '@keywarden/runtime/config';
import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, inject } from 'vitest';
import { type Fixture, type FixtureOptions, makeFixture } from './fixture.ts';
import type { Order } from './rotate-crash-process.ts';

/** Bindings that the tests of rotations share; each test gets new values. */
export let store: TestStore;
export let fixture: Fixture;
export let organization: string;
export let project: string;
export let folder: string;

/** Opens a store and a folder for each test of a file; `prepare` makes the rest. */
export function useRotateFixture(): void {
  beforeEach(async () => {
    store = await createTestStore(inject('postgresUrl'));
    folder = await mkdtemp(join(tmpdir(), 'keywarden-sinks-'));
  });
  afterEach(async () => {
    await fixture.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
}

export interface Minted {
  id: number;
  key: string;
}

/** Returns sinks as a configuration describes them. */
export const parseSinks = (sinks: object[]): Sink[] => parseConfig(JSON.stringify({ sinks }), 'test').sinks;

export const fileSinks = () => parseSinks([{ name: 'files', kind: 'file', path: join(folder, 'key-{line}') }]);

const rotatingText = (rotation: object = {}) => ({
  enforcement: { organizations: { '*': { mode: 'enforce' }, personal: { mode: 'enforce' } }, canary_wait: '1s' },
  rules: [
    { name: 'old', older_than: '90d', action: 'rotate', mode: 'enforce', rotation: { sink: 'files', ...rotation } },
  ],
});

/** Returns a policy with automatic rotation of keys older than 90 days. */
export const rotating = (rotation: object = {}) => policySchema.parse(rotatingText(rotation));

/** Prepares an organization with these keys, minted 100 days ago, and a store that may act automatically. */
export async function prepare<const Name extends string>(
  names: Name[],
  options: FixtureOptions = {},
): Promise<Record<Name, Minted>> {
  fixture = await makeFixture(store, { policy: rotating(), sinks: fileSinks(), ...options });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  organization = organizations[0]?.id ?? '';
  const { projects } = await fixture.ask<{ projects: { id: string }[] }>('GET', `/projects?org_id=${organization}`);
  project = projects[0]?.id ?? '';
  const minted = new Map<Name, Minted>();
  for (const name of names)
    minted.set(name, await fixture.ask<Minted>('POST', `/organizations/${organization}/api_keys`, { key_name: name }));
  await armMachine(fixture.context, 'ada');
  await pass(100 * day, { acts: false });
  // Each name has its key.
  return Object.fromEntries(minted) as Record<Name, Minted>;
}

/** Sends a request as a consumer and returns the status. */
export async function use(secret: string): Promise<number> {
  const response = await fetch(`${fixture.sandbox.url}/auth`, { headers: { authorization: `Bearer ${secret}` } });
  await response.body?.cancel();
  return response.status;
}

/** Slightly more than a day, in seconds: the control plane's times are whole seconds. */
export const day = 86_460;

/** Makes one scheduled run, this many seconds after the previous one. */
export async function pass(seconds = 3700, { acts = true } = {}) {
  await fixture.controls.advance(seconds);
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  return acts ? await rotate(fixture.context, fixture.connections) : undefined;
}

/** Makes a pass in a separate process. Returns the signal that ended it and its log. With `whilePaused`, the process stops there and is continued afterwards. */
export async function passElsewhere(
  order: Pick<Order, 'sinks' | 'killAt' | 'snapshot'>,
  whilePaused?: () => Promise<void>,
): Promise<{ signal: unknown; log: string }> {
  const [connection] = fixture.context.config.connections;
  if (connection === undefined) throw new Error('the fixture has no connection');
  const { KEYWARDEN_DATA: dataFolder } = fixture.context.environment;
  const child = fork(new URL('rotate-crash-process.ts', import.meta.url), {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = once(child, 'close');
  const pauses = whilePaused !== undefined;
  const whole: Order = { ...order, pauses, databaseUrl: store.url, dataFolder, connection, policy: rotatingText() };
  child.once('message', () => child.send(whole));
  if (pauses) {
    await until(() =>
      spawnSync('ps', ['-o', 'stat=', '-p', String(child.pid)])
        .stdout.toString()
        .startsWith('T'),
    );
    // The server ends the sessions of a process that sends nothing any more, and with them its locks.
    await store.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%crash process%' and datname = current_database()`;
    await whilePaused();
    child.kill('SIGCONT');
  }
  const [, signal]: unknown[] = await ended;
  return { signal, log };
}

/** Requests the rotation of keys, by name, as a person does. */
export async function ask(names: string[], sink?: string) {
  const keys = await listLiveKeys(fixture.context.store.db);
  const chosen = keys.filter(({ name }) => names.includes(name));
  return await rotate(fixture.context, fixture.connections, { keys: chosen, sink, by: 'ada' });
}

export const states = async () =>
  (await listRotations(fixture.context.store.db, 100)).map(({ state, key }) => `${key.name}: ${state}`);

/** Returns the secret that a file sink has for a key lineage. */
export const secretOf = (lineage: number | string) => readFileSync(join(folder, `key-${lineage}`), 'utf8');

/** Lists every key that the control plane ever minted, except the administrator's. */
export const everyKey = async () => (await fixture.controls.keys()).filter(({ id }) => id !== 1);

export const liveNames = async () =>
  (await everyKey()).filter(({ revoked_at: revoked }) => revoked === null).map(({ name }) => name);

export const openIncidents = async () =>
  (await listIncidents(fixture.context.store.db, { isOpen: true, limit: 100 })).map(({ kind, key, detail }) => [
    kind,
    key?.name ?? null,
    detail.why,
  ]);
