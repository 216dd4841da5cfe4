import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { listLiveKeys } from '@keywarden/db/daemon';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import {
  day,
  fixture,
  folder,
  openIncidents,
  pass,
  prepare,
  states,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rotate } from './rotate.ts';

// Two control planes give the same ids to their own accounts and keys. In both, the administrator's key has the id 1.

useRotateFixture();

let second: Sandbox;
beforeEach(async () => {
  await prepare([], { policy: policySchema.parse({ rules: [] }) });
  // Its first key is older by two days.
  second = await createSandbox({ limits: noLimits, realNowMs: () => Date.now() - 2 * day * 1000 });
  await createControls(second.controlUrl).advance(2 * day);
  const connection = {
    name: 'second',
    url: second.url,
    identity: second.url,
    keyId: '1',
    keyFile: ownFile(),
    share: 1,
  };
  writeFileSync(ownFile(), second.adminKey);
  fixture.context.config.connections.push({ ...connection, apiKey: second.adminKey });
});
afterEach(async () => await second.close());

const ownFile = () => join(folder, 'own-second');

const ask = async (of: string, name: string, sink?: string) => {
  const controlPlane = fixture.connections.find((each) => each.name === of)?.controlPlane;
  const keys = await listLiveKeys(fixture.context.store.db);
  const chosen = keys.filter((key) => key.name === name && key.controlPlane === controlPlane);
  const { opened } = await rotate(fixture.context, fixture.connections, { keys: chosen, sink, by: 'ada' });
  return opened.map(({ whyNot }) => whyNot);
};

const mintSecond = async (name: string) =>
  await fetch(`${second.url}/api_keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${second.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key_name: name }),
  });

const useSecond = async (secret: string) =>
  (await fetch(`${second.url}/auth`, { headers: { authorization: `Bearer ${secret}` } })).status;

/** Makes a pass a day while something uses the key. */
async function passDays(secret: () => string): Promise<void> {
  for (let days = 0; days < 10; days += 1) {
    await useSecond(secret());
    await createControls(second.controlUrl).advance(day);
    await pass(day);
  }
}

test('T1: the rotation of an own key ends while another control plane’s connection uses a key with the same id', async () => {
  await pass(60, { acts: false });
  expect(await ask('second', 'keywarden')).toEqual([null]);
  await passDays(() => readFileSync(ownFile(), 'utf8'));
  expect(await states()).toEqual(['keywarden: retired']);
  expect(await useSecond(second.adminKey)).toBe(401);
  expect(await useSecond(readFileSync(ownFile(), 'utf8'))).toBe(200);
  expect(await openIncidents()).toEqual([]);
});

test('a key with the id of another control plane’s own key is rotated, and its successor after it', async () => {
  const own = await fixture.ask<{ id: number; key: string }>('POST', '/api_keys', { key_name: 'daemon' });
  Object.assign(fixture.context.config.connections[0] ?? {}, { apiKey: own.key, keyId: String(own.id) });
  await mintSecond('job');
  await pass(60, { acts: false });
  const delivered = () => readFileSync(join(folder, `key-${own.id}`), 'utf8');
  expect(await ask('second', 'job', 'files')).toEqual([null]);
  await passDays(delivered);
  expect(await states()).toEqual(['job: retired']);
  const keys = await listLiveKeys(fixture.context.store.db);
  const successor = keys.find(({ name }) => name.startsWith('job'))?.name ?? '';
  expect(await ask('second', successor, 'files')).toEqual([null]);
  await passDays(delivered);
  expect(await states()).toEqual([expect.stringMatching(/^job kw-.*: retired$/), 'job: retired']);
  expect(await openIncidents()).toEqual([]);
});

test('two keys with one id, of two control planes, do not share the file of a sink, and the message says what to change', async () => {
  await fixture.ask('POST', '/api_keys', { key_name: 'job' });
  await mintSecond('job');
  await pass(60, { acts: false });
  expect(await ask('main', 'job', 'files')).toEqual([null]);
  expect(await ask('second', 'job', 'files')).toEqual([
    expect.stringMatching(/^sink files: another key has been delivered to .*; use one sink for each control plane$/),
  ]);
});

test('a connection’s own key is not rotated into a sink through another address of its control plane', async () => {
  const own = await fixture.ask<{ id: number; key: string }>('POST', '/api_keys', { key_name: 'daemon' });
  writeFileSync(ownFile(), own.key);
  const url = fixture.sandbox.url.replace('127.0.0.1', 'localhost');
  Object.assign(fixture.context.config.connections[1] ?? {}, { url, identity: url, keyId: String(own.id) });
  await pass(60, { acts: false });
  expect(await ask('main', 'daemon', 'files')).toEqual(['it belongs to the lineage of connection second’s own key']);
  expect(await ask('second', 'daemon')).toEqual([null]);
});
