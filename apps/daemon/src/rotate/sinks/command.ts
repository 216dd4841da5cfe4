import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { codeOf, succeeds } from '@keywarden/runtime';
import type { Delivered, OpenSink, Target } from './sink.ts';

interface CommandSettings {
  command: string[];
  readCommand: string[] | undefined;
  timeoutMs: number;
  /** Names of Keywarden's environment variables that the command also gets. */
  environment: string[];
}

/**
 * Returns a sink that passes the secret to a command on standard input. Its output is ignored, because it may contain the secret. With a
 * `read_command`, a delivery succeeds when that prints the key's id; without one, when the command exits with 0.
 */
export function commandSink(settings: CommandSettings, target: Target, variables: NodeJS.ProcessEnv): OpenSink {
  const { command, readCommand, timeoutMs } = settings;
  const runFor = (keyId: string, rest: Pick<Run, 'isRead' | 'signal'>): Run => ({
    environment: environmentOf(settings, { target, keyId, variables }),
    timeoutMs,
    ...rest,
  });

  const ask: OpenSink['ask'] = async (keyId, signal) => {
    if (readCommand === undefined) return 'unknown';
    const ended = await runCommand(readCommand, runFor(keyId, { isRead: true, signal }), '');
    if (ended.why !== null) return 'unknown';
    return ended.output.trim() === keyId ? 'has' : 'lacks';
  };

  return {
    file: null,
    isDelayed: true,

    async check() {
      for (const [program = ''] of [command, ...(readCommand === undefined ? [] : [readCommand])])
        if (!(await isExecutable(program, variables.PATH ?? ''))) return `there is no command ${program}`;
      return null;
    },

    async deliver(secret, keyId, { signal, whyNotWrite }): Promise<Delivered> {
      const whyNot = await whyNotWrite();
      if (whyNot !== null) return { isDelivered: false, why: whyNot, mayHave: false };
      const ended = await runCommand(command, runFor(keyId, { isRead: false, signal }), secret);
      if (readCommand === undefined && ended.why === null) return { isDelivered: true };
      if (!ended.hasRun) return { isDelivered: false, why: ended.why ?? '', mayHave: false };
      const answer = await ask(keyId, signal);
      if (answer === 'has') return { isDelivered: true };
      const why = ended.why ?? 'the command succeeded, but its read_command does not print the id of the key';
      return { isDelivered: false, why, mayHave: true };
    },

    ask,
  };
}

/** Returns the command's environment: what finds its programs, the key's target, and the variables that the configuration passes on. */
function environmentOf(
  { environment }: CommandSettings,
  { target, keyId, variables }: { target: Target; keyId: string; variables: NodeJS.ProcessEnv },
): NodeJS.ProcessEnv {
  const passed = ['PATH', 'HOME', 'LANG', 'TZ', ...environment].flatMap((name) => {
    const value = variables[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(passed),
    KEYWARDEN_KEY_ID: keyId,
    KEYWARDEN_KEY_NAME: target.name,
    KEYWARDEN_KEY_KIND: target.kind,
    KEYWARDEN_ORGANIZATION_ID: target.organization ?? '',
    KEYWARDEN_PROJECT_ID: target.project ?? '',
    KEYWARDEN_CONTROL_PLANE: target.controlPlane,
    KEYWARDEN_LINEAGE: target.lineage,
    // The former name of KEYWARDEN_LINEAGE.
    KEYWARDEN_LINE: target.lineage,
    KEYWARDEN_ROTATION: target.rotation,
    KEYWARDEN_OLD_KEY_ID: target.oldKeyId,
  };
}

interface Ended {
  /** Null for a status of 0. */
  why: string | null;
  hasRun: boolean;
  output: string;
}

interface Run {
  environment: NodeJS.ProcessEnv;
  timeoutMs: number;
  /** Whether its output is read; otherwise it is discarded. */
  isRead: boolean;
  signal: AbortSignal;
}

/** The wait, in ms, after which a command's output has arrived. */
const pipeMs = 1000;

/** An id has few digits. A command that prints more than this is ended, and what it says is unknown. */
const longestOutput = 1000;

/** Runs a command in a process group of its own, and ends the whole group with it. */
async function runCommand([program = '', ...args]: string[], run: Run, input: string): Promise<Ended> {
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      env: run.environment,
      detached: true,
      stdio: ['pipe', run.isRead ? 'pipe' : 'ignore', 'ignore'],
    });
  } catch (error) {
    // Node emits some errors of the start, and throws the others, such as that of a program that is being replaced (ETXTBSY).
    return notRun(program, error);
  }
  const ended = waitFor(child, program, run);
  child.stdin?.on('error', () => undefined); // a command may succeed without reading input: its status decides
  // Write it here and not in a callback: a callback outlives the call, and the secret must not.
  child.stdin?.end(input);
  return await ended;
}

async function waitFor(child: ChildProcess, program: string, { timeoutMs, signal }: Run): Promise<Ended> {
  return await new Promise((resolve) => {
    let output = '';
    let stopped: string | null = null;
    let pipeTimer: NodeJS.Timeout | undefined;
    const stop = (why: string) => {
      stopped ??= why;
      endGroup(child.pid);
    };
    const timer = setTimeout(() => stop(`${program} took longer than ${timeoutMs / 1000} s`), timeoutMs);
    const onAbort = () => stop('stopped by a signal');
    signal.addEventListener('abort', onAbort, { once: true });
    const settle = (ended: Ended) => {
      clearTimeout(timer);
      clearTimeout(pipeTimer);
      signal.removeEventListener('abort', onAbort);
      resolve(ended);
    };
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString('latin1');
      if (output.length > longestOutput) stop(`${program} printed more than an id`);
    });
    child.once('error', (error) => settle({ ...notRun(program, error), hasRun: child.pid !== undefined }));
    child.once('exit', () => {
      endGroup(child.pid); // processes left behind may hold the secret
      // A process that has left the group may still hold our pipe: do not wait for it.
      pipeTimer = setTimeout(() => child.stdout?.destroy(), pipeMs);
    });
    child.once('close', (code, ended) => {
      const why = code === 0 ? null : `${program} ended with ${code === null ? ended : `status ${code}`}`;
      settle({ why: stopped ?? why, hasRun: true, output });
    });
    if (signal.aborted) onAbort();
  });
}

const notRun = (program: string, error: unknown): Ended => ({
  why: `${program} cannot be run (${codeOf(error)})`,
  hasRun: false,
  output: '',
});

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has ended already.
  }
}

async function isExecutable(program: string, path: string): Promise<boolean> {
  const places = program.includes('/') ? [program] : path.split(delimiter).map((folder) => join(folder, program));
  for (const place of places) if (await succeeds(access(place, constants.X_OK))) return true;
  return false;
}
