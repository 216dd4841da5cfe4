import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { endReplica, saveConnection } from '@keywarden/db/daemon';
import { noteOf } from '@keywarden/runtime/config';
import {
  ask,
  day,
  fileSinks,
  fixture,
  folder,
  type Minted,
  openIncidents,
  organization,
  parseSinks,
  pass,
  passElsewhere,
  prepare,
  rotating,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { planKeys } from '../enforce/plan.ts';
import { syncKeys } from '../sync/keys.ts';
import { findMinter } from './find-minter.ts';
import { rotate } from './rotate.ts';
import { settingsFor } from './settings.ts';

useRotateFixture();

const policy = policySchema.parse({
  enforcement: { organizations: { '*': { mode: 'enforce' }, personal: { mode: 'enforce' } } },
  rules: [{ name: 'stale', never_used_for: '30d', action: 'revoke', mode: 'enforce' }],
});

const path = () => join(folder, 'own');

/** Prepares a connection named `daemon` whose key is in a file. */
async function prepareOwn(): Promise<Minted> {
  await prepare(['bot', 'other'], { policy, keyId: null });
  const own = await fixture.ask<Minted>('POST', '/api_keys', { key_name: 'daemon' });
  writeFileSync(path(), own.key);
  const [connection] = fixture.context.config.connections;
  if (connection === undefined) throw new Error('the fixture has no connection');
  Object.assign(connection, { apiKey: own.key, keyId: String(own.id), keyFile: path() });
  await pass(day, { acts: false });
  return own;
}

const ownKeyIds = () => fixture.connections.map(({ ownKeyId }) => ownKeyId);

test("the daemon's own credential is replaced without a restart, and the old key is retired when nothing uses it any more", async () => {
  const own = await prepareOwn();
  const { opened } = await ask(['daemon']);
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([null]);
  expect(await states()).toEqual(['daemon: delivered']);
  const secret = readFileSync(path(), 'utf8');
  expect(secret).not.toBe(own.key);
  expect(await use(secret)).toBe(200);
  await pass();
  const [swapped] = ownKeyIds();
  expect(swapped).not.toBe(String(own.id));
  expect(readFileSync(noteOf(path()), 'utf8')).toContain(`"key_id":"${swapped}"`);
  for (let days = 0; days < 9; days += 1) await pass(day);
  expect(await states()).toEqual(['daemon: retired']);
  expect(await use(own.key)).toBe(401);
  expect(await use(secret)).toBe(200);
  expect(await openIncidents()).toEqual([]);
  await pass(40 * day);
  const { document } = await planKeys(fixture.context, fixture.connections);
  expect(document.items.map(({ key }) => key.id)).not.toContain(swapped);
});

test('a secret that a person requests for a sink goes to no other: the key of a connection and an open rotation have theirs', async () => {
  await prepareOwn();
  const elsewhere = { name: 'elsewhere', kind: 'file', path: join(folder, 'elsewhere-{lineage}') };
  fixture.context.config.sinks = [...fileSinks(), ...parseSinks([elsewhere])];
  const own = await ask(['daemon'], 'elsewhere');
  expect(own.opened.map(({ whyNot }) => whyNot)).toEqual([expect.stringContaining('leave out --sink')]);
  await ask(['bot'], 'files');
  const open = await ask(['bot'], 'elsewhere');
  expect(open).toMatchObject({
    opened: [{ key: { name: 'bot' }, rotation: null, isTransient: false }],
    moved: [],
  });
  expect(open.opened[0]?.whyNot).toMatch(/^its open rotation \w{8} has the sink files;/);
  expect((await ask(['bot'], 'files')).moved).toHaveLength(1);
});

test('no lockout: while another replica uses the old key, that key stays', async () => {
  const own = await prepareOwn();
  await ask(['daemon']);
  await pass();
  const replica = '00000000-0000-4000-8000-00000000000b';
  const [connection] = fixture.connections;
  const behind = async () =>
    await saveConnection(fixture.context.store.sql, {
      name: 'main',
      baseUrl: connection?.identity ?? '',
      accountId: connection?.accountId ?? '',
      authMethod: 'api_key_user',
      ownKeyId: String(own.id),
      isSandbox: true,
      checkedAt: new Date().toISOString(),
      replica,
    });
  await behind();
  for (let days = 0; days < 12; days += 1) await pass(day);
  expect(await use(own.key)).toBe(200);
  expect(await states()).toEqual(['daemon: overlapping']);
  await endReplica(fixture.context.store.db, replica);
  // It was used twice, and twice the gap between the uses must pass.
  for (let days = 0; days < 30; days += 3) await pass(3 * day);
  expect(await states()).toEqual(['daemon: retired']);
});

test('R2: while the running process itself still works with the old key, that key stays', async () => {
  const own = await prepareOwn();
  await ask(['daemon']);
  for (let days = 0; days < 9; days += 1) await pass(day, { acts: false });
  const former = fixture.connections.map((connection) => ({ ...connection, ownKeyId: String(own.id) }));
  for (let passes = 0; passes < 2; passes += 1) await rotate(fixture.context, former);
  expect(await states()).toEqual(['daemon: adopted']);
  await rotate(fixture.context, fixture.connections);
  expect(await states()).toEqual(['daemon: retired']);
});

test('two connections that take their key from one file switch together', async () => {
  const own = await prepareOwn();
  const [connection] = fixture.context.config.connections;
  if (connection === undefined) throw new Error('the fixture has no connection');
  const second = { ...connection, name: 'second' };
  fixture.context.config.connections.push(second);
  writeFileSync(join(folder, 'copy'), own.key);
  for (const [keyFile, whyNot] of [
    [join(folder, 'copy'), 'connections main and second use it from two files'],
    [null, 'connection main itself uses it and does not take it from a file; set api_key_file'],
  ] as const) {
    second.keyFile = keyFile;
    await pass(60, { acts: false });
    expect((await ask(['daemon'])).opened).toMatchObject([{ whyNot }]);
  }
  second.keyFile = connection.keyFile;
  await pass(day, { acts: false });
  await ask(['daemon']);
  for (let days = 0; days < 10; days += 1) await pass(day);
  expect(await states()).toEqual(['daemon: retired']);
  expect(await use(own.key)).toBe(401);
  expect(new Set(ownKeyIds()).size).toBe(1);
});

test('a sink does not overwrite the key of a connection, and the same ids at another control plane are other keys and accounts', async () => {
  const own = await prepareOwn();
  fixture.context.config.sinks = [{ name: 'files', kind: 'file', path: path() }];
  const { opened } = await ask(['bot'], 'files');
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([
    expect.stringContaining('has the key of connection main itself'),
  ]);
  const [main] = fixture.connections;
  if (main === undefined) throw new Error('the fixture has no connection');
  const elsewhere = { ...main, controlPlane: '0' };
  const settings = { connections: [main], rule: undefined, sink: 'files' };
  const named = (controlPlane: string) => settingsFor({ id: String(own.id), controlPlane }, settings);
  expect([named(main.controlPlane), named('0')]).toMatchObject([
    { whyNot: expect.stringMatching(/^connection main itself uses it/) },
    { sink: 'files' },
  ]);
  for (const place of [
    { kind: 'organization', scope: `org:${organization}`, organizationId: organization },
    { kind: 'personal', scope: `user:${main.accountId}`, organizationId: null },
  ] as const) {
    const key = { ...place, controlPlane: main.controlPlane, projectId: null };
    expect(await findMinter(fixture.context, key, [elsewhere, main])).toBe(main);
  }
});

test("a successor that the control plane does not identify as the same account's is not written to the file", async () => {
  const own = await prepareOwn();
  await fixture.controls.setFaults([{ method: 'GET', path: '/auth', kind: 'status', status: 403, times: 5 }]);
  await ask(['daemon']);
  expect(readFileSync(path(), 'utf8')).toBe(own.key);
  await fixture.controls.setFaults([]);
  await pass(day);
  expect(await openIncidents()).toEqual([]);
  expect(await states()).toEqual(['daemon: delivered']);
  expect(await use(readFileSync(path(), 'utf8'))).toBe(200);
});

test('R2: neither the connection’s key nor its successor is flagged while the configuration names the old one', async () => {
  const own = await prepareOwn();
  await ask(['daemon']);
  await pass();
  await pass(40 * day, { acts: false });
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  const { document } = await planKeys(fixture.context, fixture.connections);
  expect(document.items.map(({ key }) => key.name).filter((name) => name.startsWith('daemon'))).toEqual([]);
  expect(await use(own.key)).toBe(200);
});

test('T2: after a kill between the note and the secret of our own file, its key is known, and the next pass continues', async () => {
  const own = await prepareOwn();
  await pass(100 * day, { acts: false });
  const { signal } = await passElsewhere({ sinks: [], killAt: { method: 'rename', nth: 2, when: 'before' } });
  expect(signal).toBe('SIGKILL');
  expect(readFileSync(path(), 'utf8')).toBe(own.key);
  // The process that was killed had a policy that rotates automatically.
  fixture.context.config.policy = rotating();
  await store.sql`update keywarden.rotation_event set recorded_at = recorded_at - interval '1 hour'`;
  await pass();
  expect(ownKeyIds()).toEqual([String(own.id)]);
  await pass();
  expect(await states()).toContain('daemon: overlapping');
  expect(await openIncidents()).toEqual([]);
  expect(await use(readFileSync(path(), 'utf8'))).toBe(200);
});
