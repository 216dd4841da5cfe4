import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { UserError } from '@keywarden/runtime';

/** A process of ours that is kept running. `ready` is its first message over its channel. */
export interface Service<Ready> {
  ready: Promise<Ready>;
  stop(): Promise<void>;
}

export interface ServiceOptions<Ready> {
  name: string;
  command: string[];
  env: NodeJS.ProcessEnv;
  /** The environment of a later start, in addition to `env`: the port that the first start found, so that its address stays. */
  envAgain?: (ready: Ready) => NodeJS.ProcessEnv;
  /** Called whenever a later start is ready. */
  onAgain?: (ready: Ready) => Promise<void>;
  /** Aborts when everything must stop: an exit after that is expected. */
  signal: AbortSignal;
  /** Called when the service cannot be kept running. */
  onGivenUp: (error: UserError) => void;
}

const restartsAMinute = 5;

/**
 * Starts a process, and restarts it after an unexpected exit once it was ready. The process exits when the channel closes, so that none is left
 * behind if this one is killed.
 */
export function startService<Ready>(options: ServiceOptions<Ready>): Service<Ready> {
  const { name, signal } = options;
  let child = launch(options.command, options.env);
  let stopping = false;
  const restarts: number[] = [];
  const watch = (watched: ChildProcess, env: NodeJS.ProcessEnv) => {
    const onExit = async (code: number | null, killedBy: string | null) => {
      await setTimeout(500); // a signal to the whole group may reach a child first
      if (stopping || signal.aborted) return;
      const how = killedBy ?? `exit code ${code}`;
      const now = Date.now();
      restarts.push(now);
      if (restarts.filter((at) => at > now - 60_000).length > restartsAMinute) {
        options.onGivenUp(
          new UserError('listen', `The ${name} exits repeatedly (${how}); its last lines above show the reason.`),
        );
        return;
      }
      console.error(`The ${name} ended (${how}); starting it again.`);
      child = launch(options.command, env);
      watch(child, env);
      // If it exits before, the listener above starts it again.
      firstWord<Ready>(child, name)
        .then(options.onAgain)
        .catch(() => undefined);
    };
    watched.once('exit', (code, killedBy) => void onExit(code, killedBy));
  };
  const ready = firstWord<Ready>(child, name).then((word) => {
    watch(child, { ...options.env, ...options.envAgain?.(word) });
    return word;
  });
  return {
    ready,
    async stop() {
      stopping = true;
      await end(name, child);
    },
  };
}

function launch([program = '', ...args]: string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
}

/** Returns the child's first message. Throws a UserError with the child's exit code if it exits before, because it has printed the reason. */
function firstWord<Ready>(child: ChildProcess, name: string): Promise<Ready> {
  return new Promise((resolve, reject) => {
    // Each entry point of ours sends { ready } with its own type, and nothing else.
    child.on('message', (message) => resolve((message as { ready: Ready }).ready));
    child.once('error', (error) =>
      reject(new UserError('listen', `The ${name} could not be started (${error.message}).`)),
    );
    child.once('exit', (code) =>
      reject(
        new UserError('listen', `The ${name} did not start; the line above shows the reason.`, { exit: code || 1 }),
      ),
    );
  });
}

/** Longer than the daemon's longest shutdown_timeout, 10 minutes: you can press Ctrl-C again to skip the wait. */
const longestEndMs = 610_000;

async function end(name: string, child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const late = await Promise.race([ended, setTimeout(longestEndMs, 'late', { ref: false })]);
  if (late === 'late') {
    console.error(`The ${name} did not end within ten minutes, and is killed.`);
    child.kill('SIGKILL');
  }
  await ended;
}
