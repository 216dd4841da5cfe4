import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, inject } from 'vitest';
import { asAdministrator, type CommandHost, settingsFor, startCommandHost } from './processes.ts';

/** Bindings that the tests of a file share; `useGovernance` sets them before the first test. Files that share a process share nothing else. */
export let folder: string;
export let store: TestStore;
export let sandbox: Sandbox;
export let host: CommandHost;
export let organization: string;
const minted: Record<string, { id: number; key: string }> = {};

/** Serves a sandbox with one organization and four keys. Three are idle for 40 days. `advance` moves its clock. */
export function useGovernance(): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'keywarden-governance-'));
    host = startCommandHost();
    store = await createTestStore(inject('postgresUrl'));
    sandbox = await createSandbox({ limits: noLimits });
    await createControls(sandbox.controlUrl).generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
    const { organizations } = await ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
    organization = organizations[0]?.id ?? '';
    for (const name of ['ci-one', 'ci-two', 'tmp', 'busy']) await mint(name);
    await advance(40);
    await use('busy');
  });
  afterAll(async () => {
    host.close();
    await sandbox.close();
    await store.close();
  });
}

const ask = async <T>(method: string, path: string, body?: object) =>
  await asAdministrator(sandbox)<T>(method, path, body);

/** Makes a key of the organization. */
export const mint = async (name: string) => {
  minted[name] = await ask('POST', `/organizations/${organization}/api_keys`, { key_name: name });
};
export const advance = (days: number) => createControls(sandbox.controlUrl).advance(days * 86_400);
/** Uses a key once. */
export const use = async (name: string) =>
  await fetch(`${sandbox.url}/auth`, { headers: { authorization: `Bearer ${minted[name]?.key}` } });
export const idOf = (name: string) => String(minted[name]?.id);

/** Returns the setting of a policy with one rule, and `text` below it. */
export const policy = (text = '') => {
  const file = join(folder, `policy-${text.length}.yaml`);
  writeFileSync(file, `policy:\n  rules:\n    - {name: never-used, never_used_for: 30d, action: revoke}\n${text}`);
  return { KEYWARDEN_CONFIG: file };
};

/** Runs a command as a person types it, with other settings. */
export const keywardenWith = async (settings: Record<string, string>, ...args: string[]) =>
  await host.run(args, {
    ...settingsFor(store, sandbox, folder),
    CONTROL_PLANE_KEY_ID: '1',
    ...policy(),
    ...settings,
  });

/** Runs a command as a person types it. */
export const keywarden = async (...args: string[]) => await keywardenWith({}, ...args);
