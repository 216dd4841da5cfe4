import { runMain } from '@keywarden/runtime';
import { runCommandLine } from '../apps/daemon/src/command-line.ts';

// A process that runs one keywarden command after another, for tests with many commands: it saves starting a process for each. It exits when its
// parent exits.

/** One command: its words, its whole environment, and what the host writes to both streams when it has ended. */
export interface Typed {
  words: string[];
  env: Record<string, string>;
  mark: string;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

process.on('message', ({ words, env, mark }: Typed) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  void runMain(async () => await runCommandLine(words)).finally(() => {
    const code = process.exitCode;
    process.exitCode = 0;
    // Reset what a command leaves on its process, which would normally end with it: its listeners and its unreferenced channel.
    for (const signal of signals) process.removeAllListeners(signal);
    process.removeAllListeners('disconnect').on('disconnect', () => process.exit());
    process.channel?.ref();
    process.stdout.write(mark);
    process.stderr.write(mark);
    process.send?.({ code });
  });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
