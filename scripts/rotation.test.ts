import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { asAdministrator, type CommandHost, settingsFor, startCommandHost } from './processes.ts';

// Rotation commands as a person types them: one organization, and a clock that is moved.

const folder = mkdtempSync(join(tmpdir(), 'keywarden-rotation-'));
const keys = join(folder, 'keys');
const config = join(folder, 'keywarden.yaml');
let store: TestStore;
let sandbox: Sandbox;
let host: CommandHost;
let key: { id: number; key: string };

beforeAll(async () => {
  host = startCommandHost();
  store = await createTestStore(inject('postgresUrl'));
  sandbox = await createSandbox({ limits: noLimits });
  await createControls(sandbox.controlUrl).generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  key = await ask('POST', `/organizations/${organizations[0]?.id}/api_keys`, { key_name: 'ci deploy' });
  await ask('POST', `/organizations/${organizations[0]?.id}/api_keys`, { key_name: 'other' });
  mkdirSync(keys);
  write(`{path: ${keys}/{line}}`);
});
afterAll(async () => {
  host.close();
  await sandbox.close();
  await store.close();
});

const ask = async <T>(method: string, path: string, body?: object) =>
  await asAdministrator(sandbox)<T>(method, path, body);

/** Writes a configuration with one file sink, given without its name and kind, and a rule that accepts more settings. */
function write(sink: string, rule = 'action: rotate, rotation: {sink: files}'): void {
  const given = sink.slice(1, -1).replace(/: (.*)/, ': "$1"');
  writeFileSync(
    config,
    `sinks:
  - {name: files, kind: file, ${given}}
policy:
  rules:
    - {name: old, older_than: 90d, ${rule}}
`,
  );
}

const keywarden = async (...args: string[]) =>
  await host.run(args, { ...settingsFor(store, sandbox, folder), KEYWARDEN_CONFIG: config });

const advance = (days: number) => createControls(sandbox.controlUrl).advance(Math.round(days * 86_400));

test('a key is rotated from the command line to its end, and each step shows its state', async () => {
  const begun = await keywarden('rotate', String(key.id));
  expect(begun).toMatchObject({ code: 0 });
  expect(begun.stdout).toMatch(/ROTATION .* STATE +WAITS FOR\n\w{8} .* ci deploy .* files +delivered/);
  const secret = readFileSync(join(keys, String(key.id)), 'utf8');
  expect(`${begun.stdout}${begun.stderr}`).not.toContain(secret);
  const again = await keywarden('rotate', String(key.id), '--json');
  const { rotations } = JSON.parse(again.stdout) as { rotations: { state: string; waits: string }[] };
  expect(rotations).toMatchObject([{ state: 'overlapping', waits: 'no use of its successor was observed' }]);
  for (let days = 0; days < 8; days += 1) {
    await advance(1);
    await fetch(`${sandbox.url}/auth`, { headers: { authorization: `Bearer ${secret}` } });
  }
  await keywarden('sync', 'keys');
  await advance(0.1);
  const ended = await keywarden('rotate', String(key.id));
  expect(ended.stdout).toMatch(/ retired/);
  expect((await keywarden('rotations')).stdout).toBe('No rotation is open.\n');
  expect((await keywarden('rotations', '--all')).stdout).toContain('retired');
  const old = await fetch(`${sandbox.url}/auth`, { headers: { authorization: `Bearer ${key.key}` } });
  expect(old.status).toBe(401);
});

test('R10: without a key argument it is the daemon’s pass, which waits for arm', async () => {
  const waiting = await keywarden('rotate');
  expect(waiting).toMatchObject({ code: 3, stdout: expect.stringContaining('to permit it, run keywarden arm') });
  expect(await keywarden('arm')).not.toMatchObject({ stdout: expect.stringContaining('these successors') });
  expect(await keywarden('rotate')).toMatchObject({ code: 0, stdout: 'No rotation is open, and none is due.\n' });
});

test('R10: check and arm name a successor whose rotation the store does not have, as after a failover', async () => {
  const { id } = await ask<{ id: number }>('POST', '/api_keys', { key_name: 'lost kw-abcd2345-1' });
  // The successor of a key whose name is blank.
  await ask('POST', '/api_keys', { key_name: 'kw-abcd2346-1' });
  await keywarden('sync', 'keys');
  for (const text of [(await keywarden('check')).stderr, (await keywarden('arm')).stdout]) {
    expect(text).toContain('has no record of how these successors were minted');
    expect(text).toContain(`lost kw-abcd2345-1 (${id} of user:`);
    expect(text).toContain(' kw-abcd2346-1 (');
  }
});

test('R10: check and arm name a successor whose mint the store does not have, of a rotation that it has', async () => {
  const [row] = await store.sql`select id from keywarden.rotation limit 1`;
  const { id } = await ask<{ id: number }>('POST', '/api_keys', { key_name: `ci deploy kw-${String(row?.id)}-2` });
  await keywarden('sync', 'keys');
  for (const text of [(await keywarden('check')).stderr, (await keywarden('arm')).stdout]) {
    expect(text).toContain(`ci deploy kw-${String(row?.id)}-2 (${id} of user:`);
    expect(text).not.toContain(`ci deploy kw-${String(row?.id)}-1 (`);
  }
});

test('R7: a rotation that could not be advanced exits with 3, and the next pass retries it', async () => {
  const [row] = await store.sql`select id from keywarden.key where name = 'other'`;
  await keywarden('rotate', String(row?.id));
  await store.sql.unsafe(`
    create function public.fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger fail before insert on keywarden.rotation_event for each row execute function public.fail()`);
  expect(await keywarden('rotate', String(row?.id))).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/ delivered +it failed; the next pass retries it\n/),
  });
  await store.sql`drop function public.fail cascade`;
  expect(await keywarden('rotate', String(row?.id))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(' overlapping '),
  });
});

test('a key that cannot be rotated exits with 3, with the reason', async () => {
  expect(await keywarden('rotate', '1')).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^Key 1 \(.*\) is not rotated: connection .* itself uses it/),
  });
  await keywarden('sync', 'credentials');
  const [other] = await store.sql`select id, name from keywarden.credential where kind = 'role' limit 1`;
  expect(await keywarden('rotate', String(other?.id), '--sink', 'files')).toMatchObject({
    code: 3,
    stdout: `Key ${String(other?.id)} (${String(other?.name)}) is not rotated: it is no API key, and Keywarden rotates only these; replace it at the control plane.\n`,
  });
});

test('T2: an orphan that a person must review exits with 3, although its rotation continues', async () => {
  const [mint] = await store.sql`
    select m.name, k.id, k.organization_id from keywarden.rotation_mint m join keywarden.rotation r on r.number = m.rotation_number
      join keywarden.key k on k.number = r.key_number where r.ended_at is null`;
  const { id, name, organization_id: organization } = mint ?? {};
  // Another key with the name of the successor.
  const other = await ask<{ id: number }>('POST', `/organizations/${String(organization)}/api_keys`, {
    key_name: name,
  });
  const ended = await keywarden('rotate', String(id));
  expect(ended).toMatchObject({ code: 3, stdout: expect.stringMatching(/ overlapping /) });
  expect(ended.stdout).toContain(`Orphan ${other.id} of rotation `);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada' where kind = 'orphan'`;
  expect(await keywarden('rotate', String(id))).toMatchObject({
    code: 0,
    stdout: expect.not.stringContaining('Orphan'),
  });
});

test('a rotation is abandoned, and both of its keys stay', async () => {
  const other = await ask<{ id: number }[]>('GET', '/api_keys');
  expect(other.length).toBeGreaterThan(0);
  const [row] = await store.sql`select id from keywarden.key where name = 'other'`;
  await keywarden('rotate', String(row?.id));
  const [rotation] = await store.sql`select id from keywarden.rotation where ended_at is null`;
  await store.sql`
    insert into keywarden.rotation_event (rotation_number, sequence, state, why, at)
    select rotation_number, max(sequence) + 1, 'stalled', 'a test', max(at) from keywarden.rotation_event
    where rotation_number = (select number from keywarden.rotation where ended_at is null) group by 1`;
  expect(await keywarden('rotations')).toMatchObject({ code: 3, stdout: expect.stringContaining(' stalled ') });
  const ended = await keywarden('rotations', '--give-up', String(rotation?.id));
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.stdout).toMatch(/was given up: key \d+ and its successor \d+ stay, and the policy applies again/);
  expect(await keywarden('rotations', '--give-up', 'nothing8')).toMatchObject({
    code: 2,
    stderr: 'There is no open rotation nothing8; keywarden rotations shows them.\n',
  });
});

test.each<[string, () => void, string[], number, RegExp]>([
  ['an unknown key', () => undefined, ['rotate', '999'], 2, /There is no key 999/],
  ['an unknown sink', () => undefined, ['rotate', '2', '--sink', 'x'], 2, /There is no sink x; use one of files\./],
  ['a sink without a key', () => undefined, ['rotate', '--sink', 'files'], 2, /--sink needs a key/],
  [
    'quiet_for of three days',
    () => write('{path: /x/{line}}', 'action: rotate, rotation: {sink: files, quiet_for: 3d}'),
    ['check'],
    2,
    /line 5.*at least 7d/,
  ],
  [
    'rotation on revoke',
    () => write('{path: /x/{line}}', 'action: revoke, rotation: {sink: files}'),
    ['check'],
    2,
    /rotation requires action: rotate/,
  ],
  [
    'a rule with no sink',
    () => write('{path: /x/{line}}', 'action: rotate, rotation: {sink: vault}'),
    ['check'],
    2,
    /sink vault does not exist; add it to sinks/,
  ],
  ['a typo in a placeholder', () => write('{path: /x/{ line }}'), ['check'], 2, /braces must enclose one of line/],
  [
    'a missing folder',
    () => write('{path: /nowhere-at-all/{line}}'),
    ['check'],
    1,
    /sink +files cannot receive a secret: \/nowhere-at-all cannot be written \(ENOENT\)/,
  ],
])('bad input: %s is refused in one sentence', async (_name, prepare, args, code, sentence) => {
  prepare();
  const ended = await keywarden(...args);
  expect(ended.code).toBe(code);
  expect(ended.stderr).toMatch(sentence);
  write(`{path: ${keys}/{line}}`);
});
