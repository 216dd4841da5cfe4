import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvePlan, rejectPlan } from '@keywarden/db/report';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type CommandHost, settingsFor, startCommandHost } from './processes.ts';

// The governance commands as a person types them: one organization with idle keys, and a clock that is moved.

const folder = mkdtempSync(join(tmpdir(), 'keywarden-governance-'));
let store: TestStore;
let sandbox: Sandbox;
let host: CommandHost;
let organization: string;
const minted: Record<string, { id: number; key: string }> = {};

beforeAll(async () => {
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

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' };
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  return (await (await fetch(`${sandbox.url}${path}`, { method, headers, ...init })).json()) as T;
}

const mint = async (name: string) => {
  minted[name] = await ask('POST', `/organizations/${organization}/api_keys`, { key_name: name });
};
const advance = (days: number) => createControls(sandbox.controlUrl).advance(days * 86_400);
const use = async (name: string) =>
  await fetch(`${sandbox.url}/auth`, { headers: { authorization: `Bearer ${minted[name]?.key}` } });
const idOf = (name: string) => String(minted[name]?.id);

const policy = (text = '') => {
  const file = join(folder, `policy-${text.length}.yaml`);
  writeFileSync(file, `policy:\n  rules:\n    - {name: never-used, never_used_for: 30d, action: revoke}\n${text}`);
  return { KEYWARDEN_CONFIG: file };
};

const keywarden = async (...args: string[]) =>
  await host.run(args, {
    ...settingsFor(store, sandbox, folder),
    CONTROL_PLANE_KEY_ID: '1',
    ...policy(),
  });

interface PlannedItem {
  key: { name: string; owner: string };
  why?: { kind: string; text: string };
}

async function plan() {
  const { stdout } = await keywarden('plan', '--json');
  const { items, held, blind_spots: blind } = JSON.parse(stdout) as Record<string, PlannedItem[]>;
  const names = items?.map(({ key }) => key.name);
  return { names, held: held?.map(({ key, why }) => [key.name, why?.text]), blind, items };
}

test('a plan lists what it cannot see', async () => {
  const { names, blind } = await plan();
  expect(names).toEqual(['ci-one', 'ci-two', 'tmp']);
  expect(blind).toEqual([
    { kind: 'personal_keys', members: expect.any(Number), scope: expect.stringContaining(organization) },
  ]);
  const { stdout } = await keywarden('plan');
  expect(stdout).toMatch(
    /Personal keys that no connection can list are not in this plan: those of \d+ members of 1 org/,
  );
});

test('a part of the plan is a plan of its own, and applies without the rest', async () => {
  const whole = JSON.parse((await keywarden('plan', '--json')).stdout) as {
    plan_id: string;
    sha256: string;
    items: { key: { number: string } }[];
  };
  const [first] = whole.items;
  const part = await keywarden('plan', '--key', first?.key.number ?? '', '--organization', organization, '--json');
  const { plan_id: id, sha256, items } = JSON.parse(part.stdout) as typeof whole;
  expect(id).not.toBe(whole.plan_id);
  const [row] = await store.sql`select sha256 from keywarden.plan where id = ${id}`;
  expect(sha256).toBe(row?.sha256);
  expect(items).toEqual([first]);
  expect((await keywarden('plan', '--rule', 'never-used')).stdout).toContain(whole.plan_id);
  expect(await keywarden('plan', '--organization', 'nobody')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Plan p-\w+ would revoke no key that matches; run keywarden plan without options/),
  });
  expect((await keywarden('plan', '--key', 'x')).stderr).toMatch(/x is not the number of a key/);
  expect((await keywarden('apply', id)).stderr).toContain(`add --yes to approve plan ${id} without one`);
  expect((await keywarden('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('keys and owners are listed as a table, JSON and CSV; one key is shown with its changes', async () => {
  const table = await keywarden('keys', 'list', '--idle-for', '30d');
  expect(table.stdout).toMatch(/KEY +KIND +NAME +ORGANIZATION +OWNER +STATE +LAST USED\n/);
  expect(table.stdout).toMatch(/ci-one .* active +never/);
  expect(table.stdout).not.toContain('busy');
  const items = JSON.parse((await keywarden('keys', 'list', '-o', 'json')).stdout) as { name: string; use: string }[];
  expect(items.find(({ name }) => name === 'busy')?.use).toBe('used');
  const csv = (await keywarden('keys', 'list', '--organization', organization, '-o', 'csv')).stdout;
  expect(csv.split('\n')[0]).toBe('key,kind,name,organization,owner,state,last used');
  const shown = await keywarden('keys', 'show', idOf('busy'));
  expect(shown.stdout).toMatch(/^key +\d+ "busy"\n/);
  expect(shown.stdout).toMatch(/first seen\n/);
  expect((await keywarden('owner', 'list')).stdout).toMatch(/OWNER +KEYS +ORGANIZATIONS\n/);
  for (const [words, says] of [
    [['keys', 'list', '-o', 'xml'], /There is no output xml; use one of table, json, csv\./],
    [['keys', 'list', '--state', 'odd'], /There is no state odd; use one of active, missing, gone\./],
    [['keys', 'list', '--organization', 'nosuch'], /There is no organization nosuch in the store; it has \S+\.\n$/],
    [
      ['token', 'create', '--name', 'x', '--role', 'viewer', '--organization', 'nosuch'],
      /There is no organization nosuch/,
    ],
    [['exempt', '--kind', 'robot', '--reason', 'x', '--until', '10d'], /There is no kind robot; use one of personal, /],
  ] as const)
    expect(await keywarden(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
});

test('an exemption by pattern covers the existing keys, with reason, grantor and end, and expires automatically', async () => {
  const granted = await keywarden('exempt', '--name', 'ci-*', '--reason', 'moved next week', '--until', '10d');
  expect(granted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Exemption 1 covers 2 keys until \S+Z\. Keys/),
  });
  await mint('ci-three');
  await advance(9);
  const during = await plan();
  expect(during.names).toEqual(['tmp']);
  expect(during.held).toEqual([
    ['ci-one', expect.stringMatching(/^exempt until .* by .+: moved next week \(exemption 1\)$/)],
    ['ci-two', expect.any(String)],
  ]);
  await advance(22);
  expect((await plan()).names).toEqual(['ci-one', 'ci-two', 'tmp', 'ci-three']);
  const { stdout } = await keywarden('exemptions', '--all');
  expect(stdout).toMatch(/1 +name ci-\* +2 +all +lapsed .* moved next week/);
});

test('an exemption of one rule for one key is ended by hand; the finding returns', async () => {
  const args = ['--rule', 'never-used', '--reason', 'x', '--until', '2099-01-01'];
  expect((await keywarden('exempt', idOf('tmp'), ...args)).code).toBe(0);
  expect((await plan()).names).toEqual(['ci-one', 'ci-two', 'ci-three']);
  expect(JSON.parse((await keywarden('exemptions', '--json')).stdout)).toMatchObject({
    exemptions: [{ number: '2', rules: ['never-used'], keys: [{ id: idOf('tmp'), name: 'tmp' }] }],
  });
  expect(await keywarden('exemptions', '--end', '2')).toMatchObject({ code: 0, stdout: 'No exemption is in force.\n' });
  expect((await plan()).names).toContain('tmp');
});

test('owners are the creators unless a CSV file or a person sets others; a file with a mistake changes nothing', async () => {
  const ownerOf = async (name: string) => (await plan()).items?.find(({ key }) => key.name === name)?.key.owner;
  const creator = await ownerOf('tmp');
  expect(creator).toMatch(/@/);
  const file = join(folder, 'owners.csv');
  writeFileSync(file, `key_id,owner\n${idOf('tmp')},"Platform, team"\n4711,nobody\n`);
  expect(await keywarden('owner', 'import', file)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Line 3: There is no key 4711/),
  });
  expect(await ownerOf('tmp')).toBe(creator);
  writeFileSync(file, `key_id,owner\n${idOf('tmp')},one\n${idOf('tmp')},other\n`);
  expect(await keywarden('owner', 'import', file)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Lines 2 and 3 name/),
  });
  writeFileSync(file, `key_id,owner\n${idOf('tmp')},"Platform, team"\n`);
  expect((await keywarden('owner', 'import', file)).stdout).toBe(`Assigned owners to 1 keys from ${file}.\n`);
  expect(await ownerOf('tmp')).toBe('Platform, team');
  await keywarden('owner', 'set', idOf('tmp'), '--owner', 'bela@acme.example');
  expect(await ownerOf('tmp')).toBe('bela@acme.example');
  await keywarden('owner', 'set', idOf('tmp'));
  expect(await ownerOf('tmp')).toBe(creator);
});

test('backtest shows what a policy would have revoked when, what was used afterwards, and which days are unknown', async () => {
  const now = await createControls(sandbox.controlUrl).now();
  const daysAgo = (days: number) => new Date(Date.parse(now) - days * 86_400_000).toISOString().slice(0, 10);
  await use('ci-two');
  await advance(1);
  await keywarden('sync', 'keys');
  const { stdout, code } = await keywarden('backtest', '--from', daysAgo(31), '--json');
  const { revoked, unjudged } = JSON.parse(stdout);
  expect(code).toBe(0);
  const used = revoked.map((each: { key: { name: string }; used_after: string | null }) => [
    each.key.name,
    each.used_after !== null,
  ]);
  expect(used).toEqual(
    expect.arrayContaining([
      ['ci-one', false],
      ['ci-two', true],
      ['tmp', false],
    ]),
  );
  const { scopes } = JSON.parse((await keywarden('coverage', '--keys', '--json')).stdout);
  expect(scopes).toContainEqual(
    expect.objectContaining({
      scope: `organization:${organization}`,
      gaps: expect.arrayContaining([expect.any(Object)]),
    }),
  );
  expect(unjudged).toContainEqual({ scope: expect.stringContaining(organization), days: expect.any(Number) });
  const other = join(folder, 'other.yaml');
  writeFileSync(other, 'policy: {rules: [{name: never, never_used_for: 900d, action: revoke}]}\n');
  expect((await keywarden('backtest', '--from', daysAgo(31), '--policy', other)).stdout).toMatch(
    /the policy would have revoked 0 keys; 0 of them were used afterwards/,
  );
});

test.each([
  [['exempt', '--reason', 'x', '--until', '9d'], /^Specify keys by id, or select them/],
  [['exempt', '4711', '--reason', 'x', '--until', '9d'], /^There is no key 4711; keywarden plan/],
  [['exempt', '--name', 'zz*', '--reason', 'x', '--until', '9d'], /^No key matches;/],
  [['exempt', '1', '--reason', ' ', '--until', '9d'], /^An exemption needs a reason/],
  [['exempt', '1', '--reason', 'x', '--until', 'soon'], /^soon is neither a date nor a duration/],
  [['exempt', '1', '--reason', 'x', '--until', '2020-01-01'], /^2020-01-01 is in the past/],
  [
    ['exempt', '1', '--reason', 'x', '--until', '9d', '--rule', 'nix'],
    /^The policy has no rule nix; it has never-used/,
  ],
  [['exemptions', '--end', '99'], /^There is no exemption 99 in force/],
  [['owner', 'import', '/nowhere.csv'], /^\/nowhere\.csv cannot be read \(ENOENT\); specify a CSV file/],
  [['backtest', '--from', 'yesterday'], /^yesterday is not a date; write it as 2026-03-31/],
  [['backtest', '--from', '2999-01-01'], /^2999-01-01 is in the future/],
])('%j is refused with one sentence', async (args, says) => {
  const ended = await keywarden(...args);
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(says) });
  expect(ended.stderr.trim().split('\n')).toHaveLength(1);
});

test('a token expires at its time, and the token list shows its last use', async () => {
  const made = await keywarden('token', 'create', '--name', 'short', '--role', 'viewer', '--expires', '30d');
  expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/with the role viewer, until \S+Z\./) });
  expect((await keywarden('token', 'list')).stdout).toMatch(/short +viewer +all +\S+ +never +live until/);
  const over = await keywarden('token', 'create', '--name', 'x', '--role', 'viewer', '--expires', '2020-01-01');
  expect(over).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^2020-01-01 is in the past; a token must end/),
  });
});

test('enforce revokes nothing before arm, and reports that; then it carries out what is in mode: enforce', async () => {
  const file = join(folder, 'enforce.yaml');
  writeFileSync(
    file,
    `policy:
  enforcement: {organizations: {${organization}: {mode: enforce}}}
  rules: [{name: never-used, never_used_for: 30d, action: revoke, mode: enforce}]
`,
  );
  const enforcing = async (...args: string[]) =>
    await host.run(args, {
      ...settingsFor(store, sandbox, folder),
      CONTROL_PLANE_KEY_ID: '1',
      KEYWARDEN_CONFIG: file,
    });
  const refused = await enforcing('enforce');
  expect(refused.stdout).toMatch(
    /No key is revoked automatically: automatic enforcement is not permitted on this machine/,
  );
  expect(refused.code).toBe(3);
  expect((await enforcing('arm')).stdout).toMatch(/This machine now automatically enforces/);
  expect((await enforcing('arm')).stdout).toMatch(/already permitted/);
  expect((await enforcing('disarm')).stdout).toMatch(/no longer enforces automatically/);
  expect((await enforcing('enforce')).code).toBe(3);
  expect((await enforcing('resume')).stdout).toMatch(/In the next version, only keywarden arm does this\./);
  const done = await enforcing('enforce');
  expect(done.stdout).toMatch(/1 keys revoked, 0 not\./);
  expect(done.stdout).toMatch(/keys wait: one key of its scope is revoked first, the others 24h later\./);
  expect(done.code).toBe(0);
}, 30_000);

test('above second_person_above keys, apply waits for a second person’s approval in the report', async () => {
  const two = (...args: string[]) =>
    host.run(args, {
      ...settingsFor(store, sandbox, folder),
      CONTROL_PLANE_KEY_ID: '1',
      ...policy('  second_person_above: 1\n'),
    });
  for (const name of ['first', 'second', 'third', 'fourth']) await mint(name);
  await advance(40);
  const planned = JSON.parse((await two('plan', '--json')).stdout) as { plan_id: string };
  const alone = await two('apply', planned.plan_id, '--yes');
  expect(alone).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /^Nothing is revoked: plan p-\S+ needs approvals from 2 persons \(second_person_above\), and has none/,
    ),
  });
  const report = await store.as('keywarden_report');
  await rejectPlan(report.sql, {
    plan: planned.plan_id,
    principal: await makePrincipal(store, 'grace'),
    reason: 'not yet',
  });
  expect((await two('apply', planned.plan_id, '--yes')).stderr).toMatch(
    /was rejected by grace \(report token \d+\) \(not yet\)/,
  );
  expect(await approvePlan(report.sql, { plan: planned.plan_id, principal: await makePrincipal(store, 'olga') })).toBe(
    true,
  );
  await use('first');
  expect((await two('apply', planned.plan_id, '--yes')).stdout).toMatch(/revoked/);
});
