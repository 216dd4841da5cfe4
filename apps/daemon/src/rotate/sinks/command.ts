import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { codeOf } from '@keywarden/runtime';
import type { Delivered, OpenSink, Target } from './sink.ts';

interface CommandSettings {
  command: string[];
  readCommand: string[] | undefined;
  timeoutMs: number;
  /** Names of our variables that the command gets, too. */
  environment: string[];
}

/**
 * A command that takes the secret on standard input. What it prints is not looked at, for it may be the secret. With a `read_command` a delivery
 * counts when that prints the key's id; without one, when the command ends with 0.
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

    async check() {
      for (const [program = ''] of [command, ...(readCommand === undefined ? [] : [readCommand])])
        if (!(await isExecutable(program, variables.PATH ?? ''))) return `there is no command ${program}`;
      return null;
    },

    async deliver(secret, keyId, signal): Promise<Delivered> {
      const ended = await runCommand(command, runFor(keyId, { isRead: false, signal }), secret);
      if (readCommand === undefined && ended.why === null) return { isDelivered: true };
      if (!ended.hasRun) return { isDelivered: false, why: ended.why ?? '', mayHave: false };
      const answer = await ask(keyId, signal);
      if (answer === 'has') return { isDelivered: true };
      const why = ended.why ?? 'the command ended well, and its read_command does not print the id of the key';
      return { isDelivered: false, why, mayHave: true };
    },

    ask,
  };
}

/** A command gets what it needs to find its programs, what it is told of the key, and what the configuration passes on. */
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
    KEYWARDEN_LINEAGE: target.lineage,
    // Its former name.
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
  /** What it prints is read; else it goes nowhere. */
  isRead: boolean;
  signal: AbortSignal;
}

/** What a command has printed is there by then. */
const pipeMs = 1000;

/** An id has few digits; more is not read. */
const longestOutput = 1000;

/** Runs a command in a process group of its own, all of which ends with it. */
async function runCommand([program = '', ...args]: string[], run: Run, input: string): Promise<Ended> {
  const child = spawn(program, args, {
    env: run.environment,
    detached: true,
    stdio: ['pipe', run.isRead ? 'pipe' : 'ignore', 'ignore'],
  });
  const ended = waitFor(child, program, run);
  child.stdin?.on('error', () => undefined); // one that reads nothing may be right all the same: its status tells
  // Here and in no callback: those outlive the call, and the secret must not.
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
      if (output.length < longestOutput) output += chunk.toString('latin1');
    });
    child.once('error', (error) =>
      settle({ why: `${program} cannot be run (${codeOf(error)})`, hasRun: child.pid !== undefined, output: '' }),
    );
    child.once('exit', () => {
      endGroup(child.pid); // what it left behind may hold the secret
      // And one that has left the group holds our pipes: nobody waits for that.
      pipeTimer = setTimeout(() => {
        child.stdin?.destroy();
        child.stdout?.destroy();
      }, pipeMs);
    });
    child.once('close', (code, ended) => {
      const why = code === 0 ? null : `${program} ended with ${code === null ? ended : `status ${code}`}`;
      settle({ why: stopped ?? why, hasRun: true, output });
    });
    if (signal.aborted) onAbort();
  });
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended by itself.
  }
}

async function isExecutable(program: string, path: string): Promise<boolean> {
  const places = program.includes('/') ? [program] : path.split(delimiter).map((folder) => join(folder, program));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
