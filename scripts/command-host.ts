import { writeSync } from 'node:fs';
import { runMain } from '@keywarden/runtime';
import { runCommandLine } from '../apps/daemon/src/command-line.ts';

// A process that runs one command of keywarden after another, for tests that type many: each is spared the start of a process. It ends with
// the process that started it.

/** One command: its words, the whole environment that it sees, and what the host writes to both streams when it has ended. */
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
    // What a command leaves on its process would end with it: its listeners, and its wish that the channel keeps nothing alive.
    for (const signal of signals) process.removeAllListeners(signal);
    process.removeAllListeners('disconnect').on('disconnect', () => process.exit());
    process.channel?.ref();
    writeSync(1, mark);
    writeSync(2, mark);
    process.send?.({ code });
  });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
