import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Typed } from './command-host.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A process of ours with its output. Its environment is only the given one, and that of `withBase`. */
export interface Started {
  child: ChildProcess;
  /** Returns its output so far, both streams. */
  output(): string;
  ended: Promise<Ended>;
}

const preload = new URL('preload.mjs', import.meta.url).href;
const node = [process.execPath, '--disable-warning=ExperimentalWarning', `--import=${preload}`];
/** The pinned Node, which also runs the tests, with one of our entry points. */
export const entry = {
  keywarden: [...node, `${root}apps/daemon/src/main.ts`],
  report: [...node, `${root}apps/report/src/main.ts`],
  sandbox: [...node, `${root}packages/sandbox/src/main.ts`],
  start: [process.execPath, `${root}scripts/run.mjs`, 'start'],
};

export function start(
  [program = '', ...args]: string[],
  env: Record<string, string>,
  { detached = false } = {},
): Started {
  const child = spawn(program, args, {
    cwd: root,
    env: withBase(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached,
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (stderr += data.toString()));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended, output: () => stdout + stderr };
}

/** Returns the environment of a process of ours: the given one, the locations of programs and the home folder, and the clock of TEST_DATE. */
const withBase = (env: Record<string, string>) => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  LD_PRELOAD: process.env.LD_PRELOAD ?? '',
  ...env,
});

export async function run(command: string[], env: Record<string, string>): Promise<Ended> {
  return await start(command, env).ended;
}

/** Returns the environment of a command that uses this store and this sandbox. */
export function settingsFor({ url }: { url: string }, sandbox: { url: string; adminKey: string }, folder: string) {
  return {
    KEYWARDEN_DATA: folder,
    DATABASE_URL: url,
    ALLOW_OWNER_LOGIN: '1', // the tests' databases belong to one user
    CONTROL_PLANE_URL: sandbox.url,
    CONTROL_PLANE_API_KEY: sandbox.adminKey,
    CONTROL_PLANE_KEY_ID: '1',
    REPORT_PORT: '0',
    LOG_FORMAT: 'json',
  };
}

/** Runs keywarden commands one after another in one process; `run` starts a process for each. */
export interface CommandHost {
  run(words: string[], env: Record<string, string>): Promise<Ended>;
  close(): void;
}

/** Starts the process; close it after the last test of the file. */
export function startCommandHost(): CommandHost {
  const [, ...flags] = node;
  const file = new URL('command-host.ts', import.meta.url);
  const child = fork(file, { cwd: root, execArgv: flags, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const ready = once(child, 'message');
  let count = 0;
  return {
    async run(words, env) {
      await ready;
      count += 1;
      const mark = `\0end of command ${count}\0`;
      const texts = [child.stdout, child.stderr].map(async (stream) => await untilMark(stream, mark));
      const answer = once(child, 'message');
      child.send({ words, env: withBase(env), mark } satisfies Typed);
      const [stdout = '', stderr = ''] = await Promise.all(texts);
      // The host's own reply.
      const [{ code }] = (await answer) as [{ code: number }];
      return { code, stdout, stderr };
    },
    close: () => child.disconnect(),
  };
}

function untilMark(stream: Readable | null, mark: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const hear = (data: Buffer) => {
      text += data.toString();
      if (!text.endsWith(mark)) return;
      stream?.off('data', hear).off('close', lost);
      resolve(text.slice(0, -mark.length));
    };
    const lost = () => reject(new Error(`the command host ended: ${text}`));
    stream?.on('data', hear).on('close', lost);
  });
}

/** Sends requests to a sandbox as its administrator. */
export const asAdministrator =
  ({ url, adminKey }: { url: string; adminKey: string }) =>
  async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await (await fetch(`${url}${path}`, { method, headers, ...init })).json()) as T; // the sandbox's own shapes
  };
