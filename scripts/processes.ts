import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A process of ours with what it prints. Its environment is only what is given, and PATH. */
export interface Started {
  child: ChildProcess;
  /** All that it has printed so far, both streams. */
  output(): string;
  ended: Promise<Ended>;
}

const preload = new URL('preload.mjs', import.meta.url).href;
const node = [process.execPath, '--disable-warning=ExperimentalWarning', `--import=${preload}`];
/** The pinned Node, by which the tests themselves run, with one of our entry points. */
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
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
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

export async function run(command: string[], env: Record<string, string>): Promise<Ended> {
  return await start(command, env).ended;
}

/** The environment of a command that works on this store and this sandbox. */
export function settingsFor({ url }: { url: string }, sandbox: { url: string; adminKey: string }, folder: string) {
  return {
    KEYWARDEN_DATA: folder,
    DATABASE_URL: url,
    CONTROL_PLANE_URL: sandbox.url,
    CONTROL_PLANE_API_KEY: sandbox.adminKey,
    CONTROL_PLANE_KEY_ID: '1',
    REPORT_PORT: '0',
    LOG_FORMAT: 'json',
  };
}
