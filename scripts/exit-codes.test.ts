import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvePlan } from '@keywarden/db/report';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { beforeAll, expect, test } from 'vitest';
import {
  advance,
  folder,
  host,
  keywarden,
  keywardenWith,
  mint,
  organization,
  sandbox,
  store,
  useGovernance,
} from './governance-fixture.ts';
import { settingsFor } from './processes.ts';

// Each test has one reason for the exit code 3, and no other.

useGovernance();

const revocation = { method: 'DELETE', path: '/organizations/{org_id}/api_keys/{key_id}', times: 1, kind: 'status' };

beforeAll(async () => {
  for (const name of ['one', 'two', 'three', 'four', 'five', 'six', 'seven']) await mint(name);
  await advance(40);
  await keywarden('enforce'); // the machine's first mark: later approvals are carried out
});

/** Makes a plan for these keys, and returns its id. */
async function planFor(...names: string[]): Promise<string> {
  const rows = await store.sql`
    select control_plane_number || '/' || scope || '/' || id as key from keywarden.key where name = any(${names})`;
  const { stdout } = await keywarden('plan', ...rows.flatMap(({ key }) => ['--key', String(key)]), '--json');
  return (JSON.parse(stdout) as { plan_id: string }).plan_id;
}

/** Approves a plan for these keys as the report does. */
async function approve(...names: string[]): Promise<void> {
  const principal = await makePrincipal(store, 'olga');
  expect(
    await approvePlan((await store.as('keywarden_report')).sql, { plan: await planFor(...names), principal }),
  ).toBe(true);
}

/** Pauses all replicas right after the next revocation is recorded, while `work` runs. */
async function pausedAfterOne<T>(work: () => Promise<T>): Promise<T> {
  await store.sql.unsafe(`
    create function public.pause() returns trigger language plpgsql security definer as
      $$ begin insert into keywarden.pause (paused_by) values ('ada'); return null; end $$;
    create trigger pause after insert on keywarden.revocation_outcome
      for each row when (new.outcome = 'revoked') execute function public.pause()`);
  const ended = await work();
  await store.sql`drop function public.pause cascade`;
  await keywarden('resume');
  return ended;
}

test('R4: enforce exits with 3 if the outcome of an approved revocation is unknown, or the control plane refuses it', async () => {
  for (const [name, status, outcome] of [
    ['one', 500, 'unknown'],
    ['two', 403, 'failed'],
  ] as const) {
    await approve(name);
    await createControls(sandbox.controlUrl).setFaults([{ ...revocation, status }]);
    const says = new RegExp(` ${name} +${outcome} `);
    expect(await keywarden('enforce')).toMatchObject({ code: 3, stdout: expect.stringMatching(says) });
  }
});

test('R7: enforce and apply exit with 3 if a pause stops a run whose revocations all succeeded', async () => {
  await approve('three', 'four');
  const stopped = /1 key revoked, 0 not, 1 not tried\.\nThe run was stopped: paused by ada/;
  expect(await pausedAfterOne(() => keywarden('enforce'))).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(stopped),
  });
  const plan = await planFor('five', 'six');
  expect(await pausedAfterOne(() => keywarden('apply', plan, '--yes'))).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(stopped),
  });
});

/** Returns the settings of two connections with these keys of the API. */
function twoConnections(first: string, second: string): Record<string, string> {
  const file = join(folder, 'two-connections.yaml');
  writeFileSync(
    file,
    `connections:
  - {name: first, url: ${sandbox.url}, api_key_env: FIRST_API_KEY, key_id: '1'}
  - {name: default, url: ${sandbox.url}, api_key_env: SECOND_API_KEY, key_id: '1'}
policy: {rules: [{name: never-used, never_used_for: 30d, action: revoke}]}
`,
  );
  const none = { CONTROL_PLANE_URL: '', CONTROL_PLANE_API_KEY: '', CONTROL_PLANE_KEY_ID: '' };
  return { ...none, KEYWARDEN_CONFIG: file, FIRST_API_KEY: first, SECOND_API_KEY: second };
}

test('plan, enforce, rotate and apply exit with 3 if a connection could not be used, although the rest succeeded', async () => {
  await keywarden('arm');
  const plan = await planFor('seven');
  for (const [words, says] of [
    [['plan'], /^Plan /],
    [['enforce'], /^Plan /],
    [['rotate'], /^No rotation is open/],
    [['apply', plan, '--yes'], /^1 key revoked, 0 not\./m],
  ] as const) {
    const { code, stdout } = await keywardenWith(twoConnections('napi_refused', sandbox.adminKey), ...words);
    expect([words, code]).toEqual([words, 3]);
    expect(stdout).toMatch(says);
    expect(stdout).toContain('\n\nConnection first cannot be used, so it was skipped');
  }
});

test('R7: sync goes on with the other connections if one cannot be used or fails, and exits with 1', async () => {
  const sync = async (first: string) => {
    const settings = twoConnections(first, sandbox.adminKey);
    const { code, stdout, stderr } = await keywardenWith(settings, 'sync', 'keys', '--json');
    const { runs, failures } = JSON.parse(stdout) as {
      runs: { connection: string; error: string | null }[];
      failures: string[];
    };
    for (const failure of failures) expect(stderr).toContain(failure);
    return { code, failures, runs: runs.map(({ connection, error }) => [connection, error]) };
  };
  expect(await sync('napi_refused')).toEqual({
    code: 1,
    failures: [expect.stringMatching(/^Connection first cannot be used, so it was skipped: /)],
    runs: [['default', null]],
  });
  const path = '/users/me/organizations';
  await createControls(sandbox.controlUrl).setFaults([{ method: 'GET', path, times: 1, kind: 'status', status: 403 }]);
  const failure = expect.stringMatching(/^The keys of connection first could not be read: GET .* answered 403/);
  expect(await sync(sandbox.adminKey)).toEqual({
    code: 1,
    failures: [failure],
    runs: [
      ['first', failure],
      ['default', null],
    ],
  });
});

test('R3: enforce exits with 3 if the breaker of a scope in mode: enforce is open', async () => {
  const file = join(folder, 'breaker.yaml');
  const write = (percent: number) =>
    writeFileSync(
      file,
      `policy:
  enforcement: {organizations: {${organization}: {mode: enforce}}, breaker_percent: ${percent}}
  rules: [{name: never-used, never_used_for: 30d, action: revoke, mode: enforce}]
`,
    );
  await keywarden('arm');
  await advance(0.1);
  write(20);
  expect(await keywardenWith({ KEYWARDEN_CONFIG: file }, 'enforce')).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^Waiting, .*: the breaker of its scope is open/m),
  });
  write(100);
  expect((await keywardenWith({ KEYWARDEN_CONFIG: file }, 'enforce')).code).toBe(0);
});

test('check exits with 3 for a suspect listing alone', async () => {
  // The server of the other tests does not wait for its disk, which check warns of.
  const durable = await startTestPostgres({ isDurable: true, other: undefined });
  const whole = await createTestStore(durable.url);
  const data = mkdtempSync(join(tmpdir(), 'keywarden-check-'));
  const run = async (...args: string[]) => await host.run(args, settingsFor(whole, sandbox, data));
  await run('sync', 'keys');
  expect(await run('check')).toMatchObject({ code: 0, stderr: '' });
  await whole.sql`update keywarden.key_listing set why_suspect = 'a test' where number = (select max(number) from keywarden.key_listing)`;
  expect(await run('check')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^listings +each listing of the keys of \S+ is suspect since .*: a test\n$/),
  });
  await whole.close();
  await durable.close();
});
