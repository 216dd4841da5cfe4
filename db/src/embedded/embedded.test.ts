import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { until } from '@keywarden/testkit';
import postgres from 'postgres';
import { afterEach, expect, test } from 'vitest';
import { isAlive, readPostmaster, startPostmaster } from './cluster.ts';
import { type EmbeddedPostgres, openEmbedded } from './embedded.ts';
import { type Launch, planLaunch } from './launch.ts';

const opened: EmbeddedPostgres[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  // After a clean stop no server is left, even one that the test broke.
  for (const folder of folders.splice(0)) expect(readPostmaster(planLaunch(folder))).toBeUndefined();
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-embedded-'));
  folders.push(folder);
  return folder;
}

async function open(folder: string, launch?: Launch): Promise<EmbeddedPostgres> {
  const embedded = await openEmbedded(folder, launch);
  opened.push(embedded);
  return embedded;
}

async function ask(url: string, text: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    return (await sql.unsafe(text))[0];
  } finally {
    await sql.end();
  }
}

/** Returns the process id of a folder's postmaster, which must exist. */
function postmasterOf(folder: string): number {
  const postmaster = readPostmaster(planLaunch(folder));
  if (postmaster === undefined) throw new Error('no postmaster');
  return postmaster.pid;
}

test('two processes that start at once share one server, and the last one to leave stops it', async () => {
  const folder = newFolder();
  const [first, second] = await Promise.all([open(folder), open(folder)]);
  const pid = postmasterOf(folder);
  expect(second.url).toBe(first.url);
  await first.close();
  expect(await ask(second.url, 'select 1 as one')).toEqual({ one: 1 });
  await second.close();
  expect(isAlive(pid)).toBe(false);
  expect(readdirSync(folder).filter((name) => name.includes('.new-'))).toEqual([]);
});

test('after a kill -9 of the server its members start it again, on the same port, with the stored data', async () => {
  const folder = newFolder();
  const [{ url }] = await Promise.all([open(folder), open(folder), open(folder)]);
  await ask(url, 'create table kept as select 42 as answer');
  const killed = postmasterOf(folder);
  process.kill(killed, 'SIGKILL');
  await until(async () => {
    const answer = await ask(url, 'select answer from kept').catch(() => undefined);
    return JSON.stringify(answer) === '{"answer":42}';
  });
  expect(postmasterOf(folder)).not.toBe(killed);
});

test('a server that was killed while it had no members starts again at once', async () => {
  const folder = newFolder();
  const first = await open(folder);
  await ask(first.url, 'create table kept as select 42 as answer');
  await first.close();
  await startPostmaster(folder, planLaunch(folder));
  process.kill(postmasterOf(folder), 'SIGKILL');
  expect(await ask((await open(folder)).url, 'select answer from kept')).toEqual({ answer: 42 });
});

test.runIf(process.platform === 'linux')(
  'a lock file whose process id now belongs to another program delays no process',
  async () => {
    const folder = newFolder();
    const first = await open(folder);
    const lockFile = join(planLaunch(folder).cluster, 'postmaster.pid');
    const lines = readFileSync(lockFile, 'utf8').split('\n');
    await first.close();
    writeFileSync(lockFile, [process.pid, ...lines.slice(1)].join('\n'));
    expect(await ask((await open(folder)).url, 'select 1 as one')).toEqual({ one: 1 });
  },
);

test('what a killed start left behind delays no start: an incomplete cluster and a lock file of the same process id', async () => {
  const folder = newFolder();
  const { cluster } = planLaunch(folder);
  mkdirSync(`${cluster}.new-${process.pid}`);
  writeFileSync(`${cluster}.new-${process.pid}/PG_VERSION`, '18');
  writeFileSync(join(folder, 'postgres-starter'), `${process.pid}\n`);
  expect(await ask((await open(folder)).url, 'select 1 as one')).toEqual({ one: 1 });
});

test.each(['', '\n', '0\n', 'damaged\n'])('files of the start with the text %j stop no start', async (text) => {
  const folder = newFolder();
  for (const name of ['postgres-starter', 'postgres-port']) writeFileSync(join(folder, name), text);
  expect(await ask((await open(folder)).url, 'select 1 as one')).toEqual({ one: 1 });
});

test.each([80, 70_000])('a file of the port with %i, which no server of ours has had, stops no start', async (port) => {
  const folder = newFolder();
  writeFileSync(join(folder, 'postgres-port'), String(port));
  const { url } = await open(folder);
  expect(await ask(url, 'select 1 as one')).toEqual({ one: 1 });
  expect(Number(new URL(url).port)).not.toBe(port);
});

test.each([-3600, 3600])(
  'a lock file of the start that is %i s away from the current time holds nothing',
  async (seconds) => {
    const folder = newFolder();
    const file = join(folder, 'postgres-starter');
    writeFileSync(file, `${process.ppid}\n`);
    utimesSync(file, Date.now() / 1000 + seconds, Date.now() / 1000 + seconds);
    expect(await ask((await open(folder)).url, 'select 1 as one')).toEqual({ one: 1 });
  },
);

test('a lock file of the start that another program seems to hold is taken over before a start gives up', async () => {
  const folder = newFolder();
  await (await openEmbedded(folder)).close();
  const file = join(folder, 'postgres-starter');
  writeFileSync(file, `${process.ppid}\n`);
  // Half of the time that a start has.
  utimesSync(file, Date.now() / 1000 - 30, Date.now() / 1000 - 30);
  await startPostmaster(folder, planLaunch(folder));
  expect(isAlive(postmasterOf(folder))).toBe(true);
  await open(folder);
});

test.runIf(process.platform === 'linux')('a cluster that cannot be created names the reason', async () => {
  const folder = newFolder();
  const launch = planLaunch(folder);
  const prefix = ['sh', '-c', 'ulimit -f 2000; exec "$@"', 'sh', ...launch.prefix];
  await expect(open(folder, { ...launch, prefix })).rejects.toThrow(/could not create its cluster in .*: .*too large/);
});

test('a file of the port that cannot be written delays no process for ever', async () => {
  const folder = newFolder();
  symlinkSync(join(folder, 'no folder', 'port'), join(folder, 'postgres-port'));
  expect(await ask((await open(folder)).url, 'select 1 as one')).toEqual({ one: 1 });
});

test('the password is only in its file, which only its owner can read', async () => {
  const folder = newFolder();
  const { url } = await open(folder);
  const password = new URL(url).password;
  expect(password.length).toBeGreaterThan(20);
  expect(statSync(join(folder, 'postgres-password')).mode & 0o077).toBe(0);
  const commandLine = readFileSync(`/proc/${postmasterOf(folder)}/cmdline`, 'utf8');
  expect(commandLine).not.toContain(password);
  expect(readFileSync(join(folder, 'postgres.log'), 'utf8')).not.toContain(password);
  await expect(ask(url.replace(password, 'wrong'), 'select 1')).rejects.toThrow(/password authentication failed/);
});

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot)(
  'for root, where user namespaces are forbidden, Postgres runs as the user `nobody` in a folder of its own',
  async () => {
    const folder = newFolder();
    const launch = planLaunch(folder, { canMapUser: false });
    const libraries = join(launch.programs, '..', 'lib');
    const links = readdirSync(libraries).filter((name) => lstatSync(join(libraries, name)).isSymbolicLink());
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((name) => isAbsolute(readlinkSync(join(libraries, name))))).toEqual([]);
    const { url } = await open(folder, launch);
    expect(await ask(url, 'select 1 as one')).toEqual({ one: 1 });
    const pid = readPostmaster(launch)?.pid ?? 0;
    expect(statSync(`/proc/${pid}`).uid).toBe(65_534);
    for (const each of opened.splice(0)) await each.close();
    expect(isAlive(pid)).toBe(false);
    rmSync(join(launch.cluster, '..', '..'), { recursive: true, force: true });
  },
);
