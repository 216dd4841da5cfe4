import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvePlan, rejectPlan } from '@keywarden/db/report';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import {
  advance,
  folder,
  host,
  idOf,
  keywarden,
  keywardenWith,
  mint,
  organization,
  policy,
  sandbox,
  store,
  use,
  useGovernance,
} from './governance-fixture.ts';
import { settingsFor } from './processes.ts';

// The governance commands as a person types them.

useGovernance();

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
  // A key and a rule that are named twice count once.
  expect(await keywarden('exempt', idOf('tmp'), idOf('tmp'), '--rule', 'never-used', ...args)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Exemption 2 covers 1 key until/),
  });
  expect((await plan()).names).toEqual(['ci-one', 'ci-two', 'ci-three']);
  expect(JSON.parse((await keywarden('exemptions', '--json')).stdout)).toMatchObject({
    exemptions: [{ number: '2', rules: ['never-used'], keys: [{ id: idOf('tmp'), name: 'tmp' }] }],
  });
  // It needs no control plane.
  const ended = await keywardenWith({ CONTROL_PLANE_URL: 'http://127.0.0.1:1/api/v2' }, 'exemptions', '--end', '2');
  expect(ended).toMatchObject({ code: 0, stdout: 'No exemption is in force.\n' });
  expect((await plan()).names).toContain('tmp');
});

test('owners are the creators unless a CSV file or a person sets others; a file with a mistake changes nothing', async () => {
  const ownerOf = async (name: string) => (await plan()).items?.find(({ key }) => key.name === name)?.key.owner;
  const creator = await ownerOf('tmp');
  expect(creator).toMatch(/@/);
  const file = join(folder, 'owners.csv');
  writeFileSync(file, `key_id,owner\n${idOf('tmp')},"Platform, team"\n4711,somebody\n`);
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
  expect((await keywarden('owner', 'import', file)).stdout).toBe(`Assigned owners to 1 key from ${file}.\n`);
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
    /the policy would have revoked 0 keys\. Used afterwards: 0\./,
  );
});

test.each([
  [['exempt', '--reason', 'x', '--until', '9d'], /^Specify keys by id, or select them/],
  [['exempt', '4711', '--reason', 'x', '--until', '9d'], /^There is no key 4711; keywarden plan/],
  [['exempt', '--name', 'zz*', '--reason', 'x', '--until', '9d'], /^No key matches;/],
  [['exempt', '1', '--reason', ' ', '--until', '9d'], /^--reason <text> needs a value, and " " is none/],
  [['exempt', '1', '--reason', 'x', '--until', 'soon'], /^soon is neither a date nor a duration/],
  [['exempt', '1', '--reason', 'x', '--until', '2020-01-01'], /^2020-01-01 is in the past/],
  [
    ['exempt', '1', '--reason', 'x', '--until', '9d', '--rule', 'nix'],
    /^The policy has no rule nix; it has never-used/,
  ],
  [['exemptions', '--end', '99'], /^There is no exemption 99 in force/],
  [['owner', 'import', '/nowhere.csv'], /^\/nowhere\.csv cannot be read \(ENOENT\); specify a CSV file/],
  [['backtest', '--from', 'yesterday'], /^yesterday is not a date; write it as 2026-03-31/],
  [['backtest', '--from', '2026-02-30'], /^2026-02-30 is not a date; write it as 2026-03-31/],
  [['backtest', '--from', '0000-01-01'], /^0000-01-01 is not a date; write it as 2026-03-31/],
  [['backtest', '--from', '2999-01-01'], /^2999-01-01 is in the future/],
  [['backtest', '--from', '2026-01-01', '--policy', tmpdir()], /^\S+ cannot be read \(EISDIR\); specify a file/],
  [['ledger', '--begin-anew', ''], /^--begin-anew <reason> needs a value, and "" is none/],
  [['ledger', '--begin-anew', '--check'], /^--begin-anew <reason> needs a value, and "--check" is none/],
  [['pause', '--reason', '--force'], /^--reason <text> needs a value, and "--force" is none/],
  [['keys', 'list', '--idle-for', '999999w'], /^999999w is not a duration of at most 365000d/],
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
  expect((await enforcing('arm')).code).toBe(0);
  const done = await enforcing('enforce');
  expect(done.stdout).toMatch(/1 key revoked, 0 not\./);
  expect(done.stdout).toMatch(
    /^Waiting, \d+ of \d+ keys?: one key of its scope is revoked first, the others 24h later\.$/m,
  );
  expect(done.code).toBe(0);
});

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
  await store.sql`insert into keywarden.incident (kind, scope, detail) values ('high_water_mark', 'store', '{}')`;
  const applied = await two('apply', planned.plan_id, '--yes');
  expect(applied.stdout).toMatch(/revoked/);
  expect(applied.stderr).toMatch(/^Before you apply: this store is not the one .* It may lack exemptions, rejections/m);
});
