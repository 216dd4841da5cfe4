import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf, createDataFile, readDataFile, UserError, writeDataFile } from '@keywarden/runtime';
import type { Launch } from './launch.ts';

/** The cluster's superuser. Its password is in the data folder. */
export const superuser = 'keywarden';

/** Creates the cluster if there is none. Several processes may try at once: the first rename wins. */
export function ensureCluster(dataFolder: string, launch: Launch): void {
  if (existsSync(join(launch.cluster, 'PG_VERSION'))) return;
  removeLeftovers(launch);
  // It is created once, however many processes try.
  createDataFile(dataFolder, 'postgres-password', randomBytes(24).toString('base64url'));
  const fresh = `${launch.cluster}.new-${process.pid}`;
  const passwordFile = `${fresh}.password`;
  writeFileSync(passwordFile, readPassword(dataFolder), { mode: 0o600 });
  if (launch.owner !== undefined) chownSync(passwordFile, launch.owner, launch.owner);
  const args = [
    `--pgdata=${fresh}`,
    `--username=${superuser}`,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ];
  const result = runProgram(launch, 'initdb', args);
  rmSync(passwordFile, { force: true });
  if (result.status !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    // Its last line may only say that it removes what it has written.
    const lines = (result.stderr ?? '').split('\n');
    const word = lines.findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? lastLine(result.stderr);
    throw new UserError(
      'store',
      `The embedded Postgres could not create its cluster in ${launch.cluster}: ${word}; set DATABASE_URL to your own Postgres.`,
    );
  }
  try {
    renameSync(fresh, launch.cluster);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
  }
}

/** Removes the incomplete files of a killed process. */
function removeLeftovers({ cluster }: Launch): void {
  for (const name of readdirSync(dirname(cluster))) {
    const pid = Number(/^postgres\.new-(\d+)/.exec(name)?.[1] ?? '0');
    // In a container, this process may have the id of the killed one.
    if (pid === process.pid || (pid !== 0 && !isAlive(pid)))
      rmSync(join(dirname(cluster), name), { recursive: true, force: true });
  }
}

export function readPassword(dataFolder: string): string {
  return readDataFile(dataFolder, 'postgres-password') ?? '';
}

/** Returns the postmaster's process id and port from its own lock file, or undefined if there is none. */
export function readPostmaster({ cluster }: Launch): { pid: number; port: number } | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return pid > 0 && port > 0 ? { pid, port } : undefined;
  } catch {
    return undefined; // there is none, or it is being written
  }
}

/**
 * Starts the postmaster, unless another process is starting it. Starts run one at a time, because concurrent probes of the port would
 * collide. Returns when Postgres is ready, when it refused to start, or when another process is starting it.
 */
export async function startPostmaster(dataFolder: string, launch: Launch): Promise<void> {
  const release = takeStarterLock(dataFolder);
  if (release === undefined) return;
  try {
    removeForeignLock(launch);
    await launchPostmaster(dataFolder, launch);
  } finally {
    release();
  }
}

/** Twice the longest start, in ms. It is less than a process waits for one, because another program may have the id of a killed process. */
const startMs = 20_000;

/** The lock files that this process holds. In a container, a killed process may have had its id. */
const held = new Set<string>();

/** Creates a lock file with our process id if there is none. Takes over a file that is old, that names no process, or whose process is gone. */
function takeStarterLock(dataFolder: string): (() => void) | undefined {
  const file = join(dataFolder, 'postgres-starter');
  const holder = readNumber(dataFolder, 'postgres-starter');
  if (holder !== undefined) {
    const isHeld = holder === process.pid ? held.has(file) : isAlive(holder);
    if (!isHeld || isOld(file)) rmSync(file, { force: true });
  }
  // Whole at once: another process may read it at any time.
  if (!createDataFile(dataFolder, 'postgres-starter', String(process.pid))) return undefined;
  held.add(file);
  return () => {
    held.delete(file);
    rmSync(file, { force: true });
  };
}

/** Returns whether a lock file is old by the clock of its file system: a file server's is not that of this machine. */
function isOld(file: string): boolean {
  const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  const probe = `${file}-${process.pid}`;
  writeFileSync(probe, '');
  const now = statSync(probe).mtimeMs;
  rmSync(probe);
  // A time in the future is of a clock that was set back since.
  return made !== undefined && Math.abs(now - made) > startMs;
}

/** Returns the number in a file of the data folder; undefined if there is no file. An empty or damaged file has 0: the start writes it anew. */
function readNumber(dataFolder: string, name: string): number | undefined {
  try {
    return Number(readFileSync(join(dataFolder, name), 'utf8')) || 0;
  } catch {
    return readDataFile(dataFolder, name) === undefined ? undefined : 0;
  }
}

/** Removes a lock file whose process id belongs to another program after a reboot. Postgres would wait for that program forever. */
function removeForeignLock(launch: Launch): void {
  const postmaster = readPostmaster(launch);
  if (postmaster === undefined || !isAlive(postmaster.pid)) return;
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(postmaster.pid)], { encoding: 'utf8' });
  if (typeof stdout === 'string' && stdout !== '' && !stdout.includes('postgres'))
    rmSync(join(launch.cluster, 'postmaster.pid'));
}

/** Runs the postmaster in a session of its own, so that it outlives the process that started it. */
async function launchPostmaster(dataFolder: string, launch: Launch): Promise<void> {
  const port = await choosePort(dataFolder);
  const log = openSync(join(dataFolder, 'postgres.log'), 'a', 0o600);
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: '128MB',
    max_wal_size: '2GB',
    // The cost on a solid-state disk. With that of a turning one, small tables are read whole for each row of a page.
    random_page_cost: '1.1',
    log_min_messages: 'warning',
    // A failing statement may hold parameters, and the log is kept.
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: '0',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...rest] = [...launch.prefix, join(launch.programs, 'postgres'), '-D', launch.cluster, ...args];
  const child = spawn(command, rest, {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
    env: cleanEnvironment(),
  });
  closeSync(log);
  child.unref();
  const ended = new Promise<'ended'>((resolve) => {
    child.once('exit', () => resolve('ended'));
    child.once('error', () => resolve('ended'));
  });
  // A postmaster that is refused ends at once: another one is running, or the last one's memory is still held.
  const deadline = performance.now() + 5000;
  while (performance.now() < deadline) {
    if ((await Promise.race([ended, setTimeout(25, 'waiting')])) === 'ended') return;
    if (readPostmaster(launch)?.pid === child.pid && isReady(launch)) return;
  }
}

function isReady({ cluster }: Launch): boolean {
  try {
    return /ready/.test(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'));
  } catch {
    return false; // not written yet
  }
}

/** The ports that a program without privileges may listen on. */
const lowestPort = 1024;
const highestPort = 65_535;

/** Returns the port of the last start, so that pools find the server again; another one if it stays taken for seconds. */
async function choosePort(dataFolder: string): Promise<number> {
  const stored = readNumber(dataFolder, 'postgres-port') ?? 0;
  const last = stored >= lowestPort && stored <= highestPort ? stored : 0;
  const deadline = performance.now() + 5000;
  let port: number | undefined;
  while (port === undefined && performance.now() < deadline) {
    port = await tryListen(last).catch(() => undefined); // it is taken
    if (port === undefined) await setTimeout(100);
  }
  port ??= await tryListen(0);
  writeDataFile(dataFolder, 'postgres-port', String(port));
  return port;
}

function tryListen(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** Stops the postmaster without waiting for its clients. Returns when it has ended. */
export async function stopPostmaster(launch: Launch): Promise<void> {
  const postmaster = readPostmaster(launch);
  if (postmaster === undefined) return;
  process.kill(postmaster.pid, 'SIGINT');
  const deadline = performance.now() + 15_000;
  while (performance.now() < deadline && isAlive(postmaster.pid)) await setTimeout(10);
}

/** Returns whether a process exists, of any owner. 0 and less is no process: the system would take it for a group. */
export function isAlive(pid: number): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function runProgram({ prefix, programs }: Launch, program: string, args: string[]) {
  const [command = '', ...rest] = [...prefix, join(programs, program), ...args];
  return spawnSync(command, rest, { encoding: 'utf8', cwd: '/', env: cleanEnvironment() });
}

/** Returns an environment without our variables. Postgres needs none of them, and some are secret. It preloads the libraries that this process does. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '/usr/bin:/bin', LD_PRELOAD } = process.env;
  return { PATH, LC_ALL: 'C', TZ: 'UTC', ...(LD_PRELOAD ? { LD_PRELOAD } : {}) };
}

/** Returns the last line of a Postgres program's output or log. */
export function lastLine(text: string | null): string {
  return (text ?? '').trim().split('\n').at(-1) ?? '';
}
