import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@keywarden/sandbox';
import { until } from '@keywarden/testkit';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { asAdministrator, type CommandHost, entry, run, settingsFor, start, startCommandHost } from './processes.ts';

let store: TestStore;
let sandbox: Sandbox;
let host: CommandHost;
let closedPort: number;
const folder = mkdtempSync(join(tmpdir(), 'keywarden-bad-'));
beforeAll(async () => {
  host = startCommandHost();
  store = await createTestStore(inject('postgresUrl'));
  sandbox = await createSandbox();
  closedPort = await new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
});
afterAll(async () => {
  host.close();
  await sandbox.close();
  await store.close();
});

const good = () => settingsFor(store, sandbox, folder);

/** Writes a configuration and returns its path. */
function config(text: string): string {
  const file = join(folder, 'broken.yaml');
  writeFileSync(file, text);
  return file;
}

interface Case {
  name: string;
  args?: string[];
  env?: () => Record<string, string>;
  code: number;
  says: RegExp;
}

const cases: Case[] = [
  {
    name: 'an unreachable database',
    env: () => ({ DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${closedPort}/x` }),
    code: 1,
    says: /database at 127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\); start it, or fix DATABASE_URL\.$/,
  },
  {
    name: 'a missing database',
    env: () => ({ DATABASE_URL: store.url.replace(/\/\w+$/, '/nothing_here') }),
    code: 1,
    says: /There is no database nothing_here at .*; create it, or fix DATABASE_URL\.$/,
  },
  {
    name: 'a wrong database password',
    env: () => ({ DATABASE_URL: store.url.replace(/:[^:@]+@/, ':hunter2@') }),
    code: 1,
    says: /refuses user keywarden; fix the user or password in DATABASE_URL, or renew a password that has expired\.$/,
  },
  {
    name: 'a database without our tables',
    env: () => ({ DATABASE_URL: inject('postgresUrl') }),
    code: 2,
    says: /lacks \d+ of this version's migrations; run keywarden migrate\.$/,
  },
  {
    name: 'an invalid database address',
    env: () => ({ DATABASE_URL: 'localhost' }),
    code: 2,
    says: /^DATABASE_URL must be an address that begins with postgres:\/\//,
  },
  {
    name: 'an unreachable control plane',
    env: () => ({ CONTROL_PLANE_URL: `http://127.0.0.1:${closedPort}/api/v2` }),
    code: 1,
    says: /does not answer \(connection default: ECONNREFUSED\); check CONTROL_PLANE_URL or the connection's url, and the network\.$/,
  },
  {
    name: 'a server that is not a control plane',
    env: () => ({ CONTROL_PLANE_URL: sandbox.controlUrl }),
    code: 1,
    says: /does not respond like a control plane .*; check CONTROL_PLANE_URL or the connection's url, which must end with the version, as in https:\/\/host\/api\/v2\.$/,
  },
  {
    name: 'a wrong credential',
    env: () => ({ CONTROL_PLANE_API_KEY: 'napi_hunter2' }),
    code: 1,
    says: /refuses the key of connection default; fix CONTROL_PLANE_API_KEY/,
  },
  {
    name: 'an incomplete configuration of a control plane',
    env: () => ({ CONTROL_PLANE_API_KEY: '' }),
    code: 2,
    says: /CONTROL_PLANE_API_KEY is not; set both\.$/,
  },
  {
    name: 'a daemon with a login that owns the tables',
    args: ['run'],
    env: () => ({ ALLOW_OWNER_LOGIN: '' }),
    code: 2,
    says: /^The database user keywarden is a superuser .* use a login that has only the role of this process .*ALLOW_OWNER_LOGIN=1\.$/,
  },
  {
    name: 'a control plane over http on another machine',
    env: () => ({ CONTROL_PLANE_URL: 'http://192.0.2.1/api/v2' }),
    code: 2,
    says: /^The address of connection default begins with http:\/\/ .* use https:\/\/, or set ALLOW_HTTP=1\.$/,
  },
  { name: 'an unknown option', args: ['sync', '--fast'], code: 2, says: /^Unknown option '--fast'\./ },
  { name: 'an unknown command', args: ['snyc'], code: 2, says: /^Unknown command 'snyc' \(Did you mean sync\?\)/ },
  {
    name: 'an unknown connection',
    args: ['sync', '--connection', 'prod'],
    code: 2,
    says: /There is no connection named prod; use one of default\.$/,
  },
  {
    name: 'an unknown plan',
    args: ['apply', 'p-none', '--yes'],
    code: 2,
    says: /There is no plan p-none; make one with keywarden plan/,
  },
  {
    name: 'an unknown role',
    args: ['token', 'create', '--name', 'x', '--role', 'king'],
    code: 2,
    says: /There is no role king; use one of viewer, auditor, operator\.$/,
  },
  {
    name: 'a broken keywarden.yaml',
    env: () => ({ KEYWARDEN_CONFIG: config('policy:\n  rules:\n    - {name: a, unused_for: 90x, action: revoke}\n') }),
    code: 2,
    says: /broken\.yaml, line 3, column 29: policy\.rules\.0\.unused_for: a duration is/,
  },
  {
    name: 'a missing keywarden.yaml',
    env: () => ({ KEYWARDEN_CONFIG: '/nowhere/keywarden.yaml' }),
    code: 2,
    says: /cannot be read \(ENOENT\); fix KEYWARDEN_CONFIG/,
  },
  {
    name: 'a port that no machine has',
    args: ['witness', '--log', 'x', '--port', '65536'],
    code: 2,
    says: /^"65536" is no port; name a number from 0 to 65535\.$/,
  },
  {
    name: 'a data folder that cannot be written',
    env: () => ({ KEYWARDEN_DATA: '/dev/null/data' }),
    code: 1,
    says: /The data folder \/dev\/null\/data cannot be written \(ENOTDIR\); set KEYWARDEN_DATA/,
  },
];

test.each(cases)(
  '$name: one sentence on standard error, and the exit code',
  async ({ args = ['sync'], env = () => ({}), code, says }) => {
    const ended = await host.run(args, { ...good(), ...env() });
    expect(ended.stderr.trim()).toMatch(says);
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    expect(ended.stderr).not.toContain('hunter2');
    expect(ended.stdout).toBe('');
    expect(ended.code).toBe(code);
  },
);

test('no bad input was stored', async () => {
  const [row] =
    await store.sql`select (select count(*) from keywarden.sync_run) + (select count(*) from keywarden.report_token) as n`;
  expect(row?.n).toBe('0');
  expect(readdirSync(folder)).toEqual(['broken.yaml']);
});

test.each(['keywarden', 'sandbox'] as const)(
  'a data folder below /proc, or that is a file or below one: %s refuses it at once',
  async (name) => {
    const command = name === 'keywarden' ? [...entry.keywarden, 'sync'] : entry[name];
    for (const [data, code] of [
      ['/proc/x', 'ENOENT'],
      ['/etc/passwd/x', 'ENOTDIR'],
      ['/etc/passwd', 'ENOTDIR'],
    ] as const) {
      const ended = await run(command, { KEYWARDEN_DATA: data, SANDBOX_PORT: '0' });
      const sentence = `The data folder ${data} cannot be written (${code}); set KEYWARDEN_DATA to a writable folder.`;
      expect(ended).toMatchObject({ code: 1, stderr: `${sentence}\n` });
    }
  },
);

test('a second sandbox on one data folder is refused', async () => {
  const settings = { KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'keywarden-twice-')), SANDBOX_PORT: '0' };
  const first = start(entry.sandbox, settings);
  await until(() => first.output().includes('listens on'));
  const second = await run(entry.sandbox, settings);
  expect(second.stderr.trim()).toMatch(
    /^Another sandbox runs on the data folder .*; stop it, or set KEYWARDEN_DATA to another folder\.$/,
  );
  expect(second.code).toBe(1);
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
});

test('a control-plane fault is reported in one sentence; readable data is stored, and JSON output stays JSON', async () => {
  const controls = createControls(sandbox.controlUrl);
  await controls.setFaults([{ path: '/api_keys', kind: 'status', status: 418 }]);
  const refused = await host.run(['sync', 'keys', '--json'], good());
  expect(refused.stderr).toMatch(
    /The keys or members of 1 of \d+ scopes? of connection default could not be listed \(.*418/,
  );
  expect(JSON.parse(refused.stdout)).toMatchObject({ runs: [{ kind: 'keys', error: expect.stringContaining('418') }] });
  expect(refused.code).toBe(1);
  const plan = await host.run(['plan', '--json'], good());
  expect(JSON.parse(plan.stdout).warnings[0]).toContain('418');
  expect(plan.code).toBe(3);
  await controls.setFaults([{ path: '/api_keys', kind: 'status', status: 401 }]);
  const unauthenticated = await host.run(['sync', 'keys'], good());
  expect(unauthenticated.stderr.trim()).toMatch(
    /^The keys of connection default could not be read: GET \/api_keys answered 401/,
  );
  await controls.setFaults([]);
});

test('a key of one project as the credential: each command says what it can read, and what to change', async () => {
  const ask = asAdministrator(sandbox);
  await createControls(sandbox.controlUrl).generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  const organization = organizations.at(-1)?.id ?? '';
  const { projects } = await ask<{ projects: { id: string }[] }>('GET', `/projects?org_id=${organization}`);
  const body = { key_name: 'narrow', project_id: projects[0]?.id };
  const { key } = await ask<{ key: string }>('POST', `/organizations/${organization}/api_keys`, body);
  const settings = { ...good(), CONTROL_PLANE_API_KEY: key };
  const sentence =
    "The credential of connection default may not read its organization: it is a key of one project, and reads only that. Set CONTROL_PLANE_API_KEY, or the connection's key, to a personal key or to one of the organization.";
  for (const words of ['sync keys', 'sync operations', 'sync credentials', 'plan', 'enforce', 'rotate'])
    expect([words, await host.run(words.split(' '), settings)]).toEqual([
      words,
      { code: 1, stdout: '', stderr: `${sentence}\n` },
    ]);
  expect((await host.run(['check'], settings)).stderr).toContain(sentence);
});

test.each(['report', 'sandbox'] as const)('a taken port: the %s reports it in one sentence', async (name) => {
  const taken = new URL(sandbox.url).port;
  const ended = await run(entry[name], { ...good(), REPORT_PORT: taken, SANDBOX_PORT: taken });
  expect(ended.stderr.trim()).toBe(
    `Port ${taken} is taken; end the program that listens there, or set ${name.toUpperCase()}_PORT to another port (0 picks a free one).`,
  );
  expect(ended.code).toBe(1);
});

test('files that are no certificate and key: the report reports it in one sentence', async () => {
  const ended = await run(entry.report, { ...good(), REPORT_TLS_CERT: '/etc/passwd', REPORT_TLS_KEY: '/etc/passwd' });
  expect(ended.stderr).toMatch(
    /^REPORT_TLS_CERT \S+ and REPORT_TLS_KEY \S+ are not a certificate and its private key .* \(ERR_OSSL_\w+\); fix them\.\n$/,
  );
  expect(ended.code).toBe(2);
});

test('the valid configuration works, and its machine-readable summary is only JSON', async () => {
  const ended = await run([...entry.keywarden, 'sync', '--json'], good());
  expect(ended.code).toBe(0);
  expect(JSON.parse(ended.stdout)).toMatchObject({
    runs: [{ kind: 'keys', connection: 'default' }, { kind: 'operations' }],
  });
});

test('a daemon that is stopped exits with 0 and logs nothing alarming', async () => {
  const daemon = start([...entry.keywarden, 'run'], good());
  await until(() => daemon.output().includes('the daemon runs'));
  daemon.child.kill('SIGTERM');
  const { code, stderr } = await daemon.ended;
  expect(code).toBe(0);
  expect(stderr).not.toMatch(/error|warn|fail/i);
});
