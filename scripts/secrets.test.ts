import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken } from '@keywarden/db/daemon';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { until } from '@keywarden/testkit';
import { type Controls, createControls } from '@keywarden/testkit/sandbox/controls';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type CommandHost, entry, settingsFor, start, startCommandHost } from './processes.ts';

const secrets: string[] = [];
const folder = mkdtempSync(join(tmpdir(), 'keywarden-secrets-'));
let store: TestStore;
let sandbox: Sandbox;
let controls: Controls;
let host: CommandHost;
let token: string;
let settings: Record<string, string>;

beforeAll(async () => {
  host = startCommandHost();
  store = await createTestStore(inject('postgresUrl'));
  const file = join(folder, 'sandbox.sqlite');
  sandbox = await createSandbox({ file, limits: noLimits, onSecret: (secret) => secrets.push(secret) });
  controls = createControls(sandbox.controlUrl);
  await controls.generate({ organizations: 2, projects: 3, keys: 60, operations: 2000 });
  token = (
    await createToken((await store.as('keywarden_admin')).db, {
      name: 'test',
      role: 'operator',
      organizationIds: null,
      createdBy: 'ada',
    })
  ).secret;
  secrets.push(token, new URL(store.url).password);
  settings = { ...settingsFor(store, sandbox, folder), LOG_LEVEL: 'trace' };
});
afterAll(async () => {
  host.close();
  await sandbox.close();
  await store.close();
});

function expectNone(text: string): void {
  expect(text.length).toBeGreaterThan(0);
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
}

test('the control plane itself returns a secret once, when a key is made', async () => {
  const headers = { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ key_name: 'made' });
  const made = await (await fetch(`${sandbox.url}/api_keys`, { method: 'POST', headers, body })).text();
  expect(secrets.filter((secret) => made.includes(secret))).toHaveLength(1);
  expectNone(await (await fetch(`${sandbox.url}/api_keys`, { headers })).text());
  for (const path of ['keys', 'projects', 'stats', 'clock'])
    expectNone(await (await fetch(`${sandbox.controlUrl}/${path}`)).text());
});

/** Returns a policy that notifies through a channel that does not respond. The channel's address and secret must not leak. */
function announcing(): Record<string, string> {
  const address = 'http://127.0.0.1:1/hook-of-this-test';
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
  secrets.push(address, secret);
  const file = join(folder, 'announcing.yaml');
  writeFileSync(
    file,
    `channels: [{name: chat, format: standard-webhooks, url_env: HOOK, secret_env: HOOK_SECRET}]
policy: {rules: [{name: idle, never_used_for: 30d, action: revoke, notices: [7d]}]}
`,
  );
  return { KEYWARDEN_CONFIG: file, HOOK: address, HOOK_SECRET: secret };
}

test('no command prints a secret, at any log level, whether it succeeds or fails', async () => {
  const plan = await host.run(['plan', '--json'], settings);
  const planId: string = JSON.parse(plan.stdout).plan_id;
  await controls.setFaults([
    { method: 'DELETE', path: '/organizations/{org_id}/api_keys/{key_id}', kind: 'status', status: 500, times: 1 },
    { method: 'GET', path: '/projects', kind: 'truncate', times: 2 },
  ]);
  const commands = [
    ['sync'],
    ['apply', planId, '--yes'],
    ['apply', planId, '--yes', '--json'],
    ['check'],
    ['token', 'list'],
  ];
  const ended = [plan];
  for (const command of commands) ended.push(await host.run(command, settings));
  const wrong = { ...settings, CONTROL_PLANE_API_KEY: `${sandbox.adminKey}x` };
  ended.push(await host.run(['sync'], wrong));
  ended.push(await host.run(['enforce'], { ...settings, ...announcing() }));
  await store.sql`alter table keywarden.operation rename to hidden`;
  ended.push(await host.run(['sync', 'operations'], settings));
  await store.sql`alter table keywarden.hidden rename to operation`;
  // check reports the settings of the tests' Postgres, which is tuned for speed.
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 3, 3, 3, 0, 1, 0, 1]);
  for (const { stdout, stderr } of ended) expectNone(`${stdout}${stderr}`);
});

test('no response of the report and no line of its log contains a secret', async () => {
  const report = start(entry.report, settings);
  await until(() => report.output().includes('the report listens'));
  const url = /"url":"([^"]+)"/.exec(report.output())?.[1];
  for (const path of [
    'v1/keys',
    'v1/operations',
    'v1/findings',
    'v1/plans',
    'v1/runs',
    'api/v2/projects',
    'nowhere',
    'v1/keys?cursor=x',
  ]) {
    for (const authorization of [`Bearer ${token}`, `Bearer ${sandbox.adminKey}`]) {
      expectNone(await (await fetch(`${url}/${path}`, { headers: { authorization } })).text());
    }
  }
  report.child.kill('SIGTERM');
  expectNone((await report.ended).stderr);
});

test('no table of the store contains a secret, nor does the sandbox’s own file', async () => {
  const tables =
    await store.sql`select relname from pg_class where relnamespace = 'keywarden'::regnamespace and relkind in ('r', 'p')`;
  expect(tables.length).toBeGreaterThan(15);
  for (const { relname } of tables) {
    const rows = await store.sql`select row_to_json(t)::text as row from keywarden.${store.sql(relname)} t`;
    expectNone(`${relname} ${rows.map(({ row }) => row).join('\n')}`);
  }
  for (const name of ['sandbox.sqlite', 'sandbox.sqlite-wal']) expectNone(readFileSync(join(folder, name), 'latin1'));
});

test('the search is effective: it finds a secret that is put into a table', async () => {
  await store.sql`insert into keywarden.control_plane (base_url) values (${`https://${sandbox.adminKey}.example`})`;
  const rows = await store.sql`select row_to_json(t)::text as row from keywarden.control_plane t`;
  expect(() => expectNone(rows.map(({ row }) => row).join('\n'))).toThrow(/to deeply equal/);
});
