import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { host, idOf, keywarden, keywardenWith, policy, sandbox, store, useGovernance } from './governance-fixture.ts';
import { entry, run, settingsFor, start } from './processes.ts';

useGovernance();

test('every command with a result prints it as JSON, with --json and with -o json', async () => {
  await keywarden('sync', 'keys');
  const parsed = async (...words: string[]) => {
    const ended = await keywarden(...words);
    return [ended.code, JSON.parse(ended.stdout) as unknown];
  };
  const one = async (...words: string[]) => {
    const [code, value] = await parsed(...words, '--json');
    expect([code, value]).toEqual([0, expect.any(Object)]);
    return value as Record<string, unknown>;
  };
  expect(await one('owner', 'set', idOf('tmp'), '--owner', 'bela@acme.example')).toEqual({
    key_id: idOf('tmp'),
    owner: 'bela@acme.example',
  });
  expect(await one('pause', '--reason', 'a move')).toMatchObject({ paused: true, is_new: true });
  expect(await one('resume')).toMatchObject({ paused: false, was_paused: true });
  expect(await one('disarm')).toMatchObject({ armed: false, was_armed: true });
  expect(await one('arm')).toMatchObject({ armed: true, was_armed: false });
  const exempt = ['exempt', idOf('ci-one'), '--reason', 'kept', '--until', '9d'];
  expect(await one(...exempt)).toMatchObject({ keys: [{ id: idOf('ci-one') }], rules: null });
  const token = await one('token', 'create', '--name', 'ada', '--role', 'viewer');
  expect(token).toMatchObject({ name: 'ada', role: 'viewer', token: expect.stringMatching(/^kwr_/) });
  expect(await one('token', 'revoke', String(token.id))).toEqual({
    id: token.id,
    revoked: true,
    in_effect: { exemptions: [], rotations: [], reviews: [] },
  });
  const ledger = await one('ledger', '--check', '--create-key');
  expect(ledger).toMatchObject({ waiting: 0, seen: ledger.size, faults: [] });
  const receipt = await one('receipt', 'pause/1', '--type', 'pause.begun');
  expect(receipt).toMatchObject({ type: 'pause.begun', receipt: expect.stringMatching(/^c2sp\.org\/tlog-proof@v1\n/) });
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-receipt-')), 'pause.tlog-proof');
  writeFileSync(file, String(receipt.receipt));
  const [key] = ledger.public_keys as string[];
  // It needs neither the store nor its settings.
  const verified = await run([...entry.keywarden, 'verify', file, '--key', String(key), '--json'], {});
  expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([
    0,
    [{ proven: true, type: 'pause.begun', personal: { reason: 'a move' } }],
  ]);
  writeFileSync(file, String(receipt.receipt).replace('index ', 'index 1'));
  const refused = await run([...entry.keywarden, 'verify', file, '--key', String(key)], {});
  expect([refused.code, refused.stdout]).toEqual([
    1,
    `${file}: NOT PROVEN: its event is not in the log at that place.\n`,
  ]);
  expect(await keywarden('ledger', '--rotate-key', '--end-former-keys')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('exclude each other'),
  });
  expect((await one('ledger')).public_keys).toEqual([key]);
  for (const [option, says] of [
    ['--rotate-key', 'Checkpoints are signed with a new key, too, from now on.\nLedger '],
    ['--end-former-keys', 'Checkpoints are signed with the newest key only from now on.\nLedger '],
  ] as const)
    expect(await keywarden('ledger', option)).toMatchObject({ code: 0, stdout: expect.stringMatching(`^${says}`) });
  // The tests' database does not wait for its disk, which check warns of.
  const [code, { checks }] = (await parsed('check', '--json')) as [number, { checks: object[] }];
  expect(code).toBe(3);
  expect(checks).toContainEqual({ check: 'clock', state: 'ok', message: 'the sandbox keeps its own time' });
  const unlisted = await keywardenWith({ CONTROL_PLANE_KEY_ID: '999999' }, 'check');
  expect(unlisted.stdout).toContain('its own key is unknown, because it lists no key 999999, and no key');
  await keywarden('sync', 'operations');
  for (const words of [
    ['keys', 'list'],
    ['owner', 'list'],
    ['exemptions'],
    ['incidents'],
    ['rotations'],
    ['coverage'],
  ]) {
    const printed = await parsed(...words, '--json');
    expect(await parsed(...words, '-o', 'json')).toEqual(printed);
    // Names of the code are not those of JSON.
    expect(namesIn(printed).filter((name) => !/^[a-z\d_]+$/.test(name))).toEqual([]);
  }
  expect(namesIn(await parsed('coverage', '--json'))).toContain('last_listed_at');
});

/** Returns the names of all members of a value of JSON. */
function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(namesIn)];
}

test('lists print CSV with the columns of their table; a command without a list refuses it before it does anything', async () => {
  const { stdout } = await keywarden('plan', '-o', 'csv');
  const [headers, ...rows] = stdout.trim().split('\n');
  expect(headers).toBe('key,kind,name,organization,owner,action,why,held because');
  expect(rows.map((row) => row.split(',')[5])).toEqual(['revoke', 'revoke', 'held']);
  const tables = [
    'exemptions',
    'incidents',
    'rotations',
    'coverage',
    'coverage --keys',
    'token list',
    'session list',
    'check',
  ];
  for (const words of tables) {
    const table = await keywarden(...words.split(' '), '-o', 'csv');
    expect([words, table.stdout.split('\n')[0]]).toEqual([words, expect.stringMatching(/^[a-z ]+(,[a-z ]+)+$/)]);
  }
  expect(await keywarden('pause', '-o', 'csv')).toMatchObject({
    code: 2,
    stderr: 'There is no output csv; use one of table, json.\n',
  });
  expect((await keywarden('incidents', '--json', '-o', 'csv')).stderr).toBe(
    '--json contradicts --output csv; use one of them.\n',
  );
  const [paused] = await store.sql`select 1 from keywarden.pause where resumed_at is null`;
  expect(paused).toBeUndefined();
});

test('a forgotten KEYWARDEN_DATA is reported, and begins no store', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'keywarden-none-')), 'data');
  const { DATABASE_URL: _, ...settings } = { ...settingsFor(store, sandbox, folder), ...policy() };
  for (const words of [['incidents'], ['keys', 'list'], ['pause'], ['token', 'list']]) {
    const ended = await host.run(words, settings);
    expect([words, ended.code, ended.stderr]).toEqual([
      words,
      2,
      `There is no data folder ${folder}. Set KEYWARDEN_DATA to the folder of the daemon, or run keywarden sync to begin a store there.\n`,
    ]);
  }
  const withDatabase = { ...settings, DATABASE_URL: store.url };
  expect((await host.run(['keys', 'list'], withDatabase)).code).toBe(0);
  expect((await host.run(['arm'], withDatabase)).code).toBe(2);
  expect(existsSync(folder)).toBe(false);
});

test('colors are for terminals, and obey NO_COLOR and FORCE_COLOR', async () => {
  const list = async (more: Record<string, string>) =>
    (
      await run([...entry.keywarden, 'keys', 'list'], {
        ...settingsFor(store, sandbox, tmpdir()),
        ...policy(),
        ...more,
      })
    ).stdout;
  const bold = '\u001b[1m';
  expect(await list({})).not.toContain(bold);
  expect(await list({ FORCE_COLOR: '1' })).toContain(`${bold}KEY `);
  expect(await list({ NO_COLOR: '1' })).not.toContain(bold);
});

test('a shell completes commands, subcommands and options', async () => {
  const complete = async (...words: string[]) =>
    (await host.run(['complete', '--', ...words], {})).stdout.split('\n').map((line) => line.split('\t')[0]);
  expect(await complete('inc')).toContain('incidents');
  expect(await complete('keys', '')).toEqual(expect.arrayContaining(['list', 'show']));
  expect(await complete('keys', 'list', '--idle')).toContain('--idle-for');
  for (const shell of ['bash', 'zsh', 'fish'])
    expect(await host.run(['completion', shell], {})).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('keywarden complete --'),
    });
});

test('a reader that stops reading, such as head, ends no command, and gets no stack trace', async () => {
  const { child, ended } = start([...entry.keywarden, '--help'], {});
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});

test('check names a data folder whose disk is full, says that nothing is enforced, and checks the rest', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-full-'));
  const KEYWARDEN_CONFIG = join(mkdtempSync(join(tmpdir(), 'keywarden-enforce-')), 'keywarden.yaml');
  writeFileSync(
    KEYWARDEN_CONFIG,
    'policy: { rules: [{ name: old, older_than: 1d, action: revoke, mode: enforce }] }\n',
  );
  // The limit is 0 bytes a file.
  const limited = ['bash', '-c', `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`, ...entry.keywarden, 'check'];
  const { code, stdout, stderr } = await run(limited, { ...settingsFor(store, sandbox, folder), KEYWARDEN_CONFIG });
  expect(stderr).toContain(`data folder    ${folder} cannot be written (EFBIG)`);
  expect(stdout).toContain('no key is revoked automatically: the data folder cannot be written');
  expect(stdout).toMatch(/^approvals +blocked: /m);
  expect(stdout).toMatch(/^credential +ok: /m);
  expect(code).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

test('a command whose output is lost on a full disk exits with 1, and one whose reader has gone with 0', async () => {
  const into = async (target: string) =>
    (await run(['sh', '-c', `"$0" "$@" ${target}`, ...entry.keywarden, 'completion', 'bash'], {})).code;
  expect(await into('> /dev/full')).toBe(1);
  expect(await into('> /dev/null')).toBe(0);
  expect(await into('| true')).toBe(0);
});
