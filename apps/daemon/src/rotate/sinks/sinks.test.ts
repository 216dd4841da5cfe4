import { spawnSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteOf, parseConfig, readCredential } from '@keywarden/runtime/config';
import { until } from '@keywarden/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileSink } from './file.ts';
import { openSink } from './open.ts';
import type { Target } from './sink.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keywarden-sink-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const target: Target = {
  controlPlane: 'https://host.example/api/v2',
  lineage: '7',
  name: '../evil name',
  kind: 'project',
  organization: 'org-1',
  project: 'p-1',
  rotation: 'abcdefgh',
  oldKeyId: '6',
};
const secret = 'napi_this_is_the_secret_of_the_test';
const { signal } = new AbortController();
const guard = { signal, whyNotWrite: () => Promise.resolve(null) };

function open(sink: object, variables: NodeJS.ProcessEnv = process.env) {
  const [parsed] = parseConfig(JSON.stringify({ sinks: [{ name: 's', ...sink }] }), 'test').sinks;
  if (parsed === undefined) throw new Error('there is no sink');
  return openSink(parsed, target, variables);
}

const file = () => open({ kind: 'file', path: join(folder, 'key-{line}') });
const path = () => join(folder, 'key-7');

test('a file contains only the secret, is readable only by its owner, and has a note of the key beside it', async () => {
  const sink = file();
  expect(await sink.check()).toBeNull();
  expect(await sink.ask('12', signal)).toBe('unknown'); // it may be another folder than that of a delivery
  expect(await sink.prepare?.()).toBeNull();
  expect(await sink.ask('12', signal)).toBe('lacks');
  expect(await sink.deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  expect(readFileSync(path(), 'utf8')).toBe(secret);
  expect([path(), noteOf(path())].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(readFileSync(noteOf(path()), 'utf8')).toContain('"key_id":"12"');
  expect(readFileSync(noteOf(path()), 'utf8')).not.toContain(secret);
  expect(await sink.ask('12', signal)).toBe('has');
  expect(await sink.ask('11', signal)).toBe('lacks');
  expect(readdirSync(folder)).toHaveLength(2);
});

test('a disk that is full, or a quota, is found before a key is minted; nothing of the try stays', async () => {
  const sink = file();
  expect(await sink.prepare?.()).toBeNull();
  expect(readdirSync(folder)).toEqual([`key-7${noteOf('')}`]);
  const script = `
    import { fileSink } from ${JSON.stringify(new URL('file.ts', import.meta.url).href)};
    console.log(await fileSink(${JSON.stringify(path())}).prepare());`;
  // The limit is 8 KiB a file.
  const limited = `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module --eval "$1"`;
  const { stdout } = spawnSync('bash', ['-c', limited, process.execPath, script], { encoding: 'utf8' });
  expect(stdout.trim()).toBe(`${path()} cannot be written (EFBIG)`);
  expect(readdirSync(folder)).toEqual([`key-7${noteOf('')}`]);
});

test('a missing folder is reported before a secret exists', async () => {
  const sink = open({ kind: 'file', path: join(folder, 'absent', 'key') });
  expect(await sink.check()).toContain('cannot be written (ENOENT)');
  expect(await sink.deliver(secret, '12', guard)).toMatchObject({ isDelivered: false });
});

test('a name cannot lead to another folder or become an option', () => {
  expect(open({ kind: 'file', path: join(folder, '{name}') }).file).toBe(join(folder, '__evil_name'));
});

function script(name: string, text: string): string {
  const place = join(folder, name);
  writeFileSync(place, `#!/bin/sh\n${text}\n`);
  chmodSync(place, 0o755);
  return place;
}

test('a command gets the secret on standard input, the target in its environment, and no other variable of ours', async () => {
  const command = script('store', `cat > "${folder}/got"; env > "${folder}/env"; echo "$@" > "${folder}/args"`);
  const variables = {
    PATH: process.env.PATH,
    HOME: '/root',
    VAULT_ADDR: 'http://vault',
    CONTROL_PLANE_API_KEY: 'napi_ours',
  };
  const sink = open(
    { kind: 'command', command: [command, '{control_plane}/{line}'], environment: ['VAULT_ADDR'] },
    variables,
  );
  expect(await sink.check()).toBeNull();
  expect(await sink.deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  expect(readFileSync(join(folder, 'got'), 'utf8')).toBe(secret);
  expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('https___host.example_api_v2/7\n');
  const given = readFileSync(join(folder, 'env'), 'utf8');
  const told = [
    'CONTROL_PLANE=https://host.example/api/v2',
    'KEY_ID=12',
    'KEY_KIND=project',
    'ORGANIZATION_ID=org-1',
    'PROJECT_ID=p-1',
    'LINE=7',
    'OLD_KEY_ID=6',
  ];
  for (const each of told) expect(given).toContain(`KEYWARDEN_${each}`);
  expect(given).toContain('VAULT_ADDR=http://vault');
  expect(given).not.toContain('napi_');
});

test.each([
  ['hangs', 'sleep 600', /took longer than 1 s/, true],
  ['hangs with a child that does', 'sleep 600 & wait', /took longer/, true],
  ['fails', 'cat > /dev/null; exit 7', /ended with status 7/, true],
  ['prints the secret and fails', 'cat; cat >&2; exit 1', /ended with status 1/, true],
])('a command that %s: a failure, and whether it stored the secret is unknown', async (_name, text, why, mayHave) => {
  const timeout = text.startsWith('sleep') ? '1s' : '1m';
  const sink = open({ kind: 'command', command: [script('bad', text)], timeout });
  const delivered = await sink.deliver(secret, '12', guard);
  expect(delivered).toEqual({ isDelivered: false, why: expect.stringMatching(why), mayHave });
  expect(JSON.stringify(delivered)).not.toContain(secret);
  expect(await sink.ask('12', signal)).toBe('unknown');
});

test('a command gets no secret that must not be written any more', async () => {
  const why = 'another process has taken over the rotations';
  const sink = open({ kind: 'command', command: [script('late', `cat > "${folder}/got"`)] });
  const late = { signal, whyNotWrite: () => Promise.resolve(why) };
  expect(await sink.deliver(secret, '12', late)).toEqual({ isDelivered: false, why, mayHave: false });
  expect(existsSync(join(folder, 'got'))).toBe(false);
});

test('a missing command is reported before a secret exists, and certainly stored nothing', async () => {
  const sink = open({ kind: 'command', command: ['no-such-command-of-anybody'] });
  expect(await sink.check()).toBe('there is no command no-such-command-of-anybody');
  expect(await sink.deliver(secret, '12', guard)).toMatchObject({ isDelivered: false, mayHave: false });
  const reads = open({ kind: 'command', command: ['true'], read_command: [join(folder, 'none')] });
  expect(await reads.check()).toBe(`there is no command ${join(folder, 'none')}`);
});

test('a command may read nothing of a long secret and write many errors, and leaves no listener behind', async () => {
  const { signal } = new AbortController();
  const sink = open({ kind: 'command', command: [script('rude', 'exec <&-; head -c 200000 /dev/zero >&2')] });
  expect(await sink.deliver('x'.repeat(1_000_000), '12', { ...guard, signal })).toEqual({ isDelivered: true });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a command that the system cannot start certainly stored nothing', async () => {
  const variables = { ...process.env, LARGE: 'x'.repeat(4_000_000) };
  const command = [script('store', 'cat > /dev/null')];
  const sink = open({ kind: 'command', command, environment: ['LARGE'] }, variables);
  const why = expect.stringMatching(/cannot be run \(E2BIG\)$/);
  expect(await sink.deliver(secret, '12', guard)).toEqual({ isDelivered: false, why, mayHave: false });
});

test('a command that exits with 0 without storing succeeds without read_command, and fails with it', async () => {
  const command = [script('nothing', 'exit 0')];
  expect(await open({ kind: 'command', command }).deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  const read = open({ kind: 'command', command, read_command: [script('read', 'echo 11')] });
  // It may be a store with delayed reads.
  expect(await read.deliver(secret, '12', guard)).toMatchObject({ isDelivered: false, mayHave: true });
  const broken = open({ kind: 'command', command, read_command: [script('broken', 'exit 1')] });
  expect(await broken.deliver(secret, '12', guard)).toMatchObject({ isDelivered: false, mayHave: true });
});

test('a command that fails after it has stored the secret succeeds if read_command finds the id', async () => {
  const command = [script('late', 'cat > /dev/null; exit 1')];
  const sink = open({ kind: 'command', command, read_command: [script('read', 'echo "$KEYWARDEN_KEY_ID"')] });
  expect(await sink.deliver(secret, '12', guard)).toEqual({ isDelivered: true });
});

test('processes that a command leaves running end with it', async () => {
  const command = [script('leaves', `sleep 600 & echo $! > "${folder}/pid"; exit 0`)];
  expect(await open({ kind: 'command', command }).deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  await until(() => !isRunning(pid));
});

test('a delivery does not wait for a process that leaves the group and holds our pipe', async () => {
  // The command ends once the process has left the group.
  const leaving = (name: string, last: string) => {
    const pidFile = join(folder, `${name}.pid`);
    const away = `setsid sh -c 'echo $$ > "${pidFile}"; exec sleep 600' &`;
    return script(name, `${away}\nuntil [ -s "${pidFile}" ]; do sleep 0.01; done; ${last}`);
  };
  const command = [leaving('away', 'exit 0')];
  const sink = open({ kind: 'command', command, read_command: [leaving('read', 'echo 12')] });
  expect(await sink.deliver(secret, '12', guard)).toEqual({ isDelivered: true });
  for (const name of ['away', 'read']) {
    const pid = Number(readFileSync(join(folder, `${name}.pid`), 'utf8'));
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  }
});

/** Returns whether a process runs. A process that has ended and was not reaped does not count. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('a file that Keywarden did not write is not overwritten, nor is one of its notes', async () => {
  writeFileSync(path(), 'a certificate of someone else');
  expect(await file().check()).toMatch(/exists, and Keywarden did not write its content/);
  rmSync(path());
  const sink = file();
  await sink.deliver(secret, '12', guard);
  expect(await file().check()).toBeNull();
  writeFileSync(path(), 'changed by another program');
  expect(await file().check()).toMatch(/did not write its content/);
  for (const name of ['prod.keywarden.json', 'prod.keywarden-partial']) {
    const odd = open({ kind: 'file', path: join(folder, name) });
    expect(await odd.check()).toMatch(/a name that Keywarden reserves for its own files/);
  }
});

test('preparing a place names no key: the id of a file with a secret is the one that is configured', async () => {
  const connection = (keyId: string) => ({
    name: 'main',
    url: '',
    identity: '',
    apiKey: '',
    keyId,
    keyFile: path(),
    share: 1,
  });
  const sink = fileSink(path(), '5');
  expect(await sink.prepare?.()).toBeNull();
  writeFileSync(path(), 'put-there-by-hand');
  expect(readCredential(connection('7')).keyId).toBe('7');
  expect(await sink.ask('6', signal)).toBe('lacks');
  rmSync(noteOf(path()));
  expect(await sink.prepare?.()).toBeNull();
  expect(existsSync(noteOf(path()))).toBe(false);
});

test('it is unknown whether a sink has the secret if its read_command fails, with any output', async () => {
  const asked = async (text: string) =>
    await open({ kind: 'command', command: ['true'], read_command: [script('read', text)] }).ask('12', signal);
  expect(await asked('echo 12')).toBe('has');
  expect(await asked('echo 11')).toBe('lacks');
  // What is not read to its end may name the key.
  expect(await asked('head -c 200000 /dev/zero; echo 12')).toBe('unknown');
  for (const text of ['echo 11; exit 1', 'echo 12; exit 1', 'exit 1']) expect(await asked(text)).toBe('unknown');
});

test('it is unknown whether a file has the secret if it has another one than its note names', async () => {
  const sink = file();
  await sink.deliver(secret, '12', guard);
  writeFileSync(path(), 'put there by hand');
  expect(await sink.ask('12', signal)).toBe('unknown');
  writeFileSync(path(), secret);
  expect(await sink.ask('12', signal)).toBe('has');
});

test('a process that is about to end stops its command at once', async () => {
  const sink = open({ kind: 'command', command: [script('slow', 'exec sleep 600')], timeout: '5s' });
  expect(await sink.deliver(secret, '12', { ...guard, signal: AbortSignal.abort() })).toEqual({
    isDelivered: false,
    why: 'stopped by a signal',
    mayHave: true,
  });
});
