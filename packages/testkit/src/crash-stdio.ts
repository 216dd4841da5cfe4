import type { StdioOptions } from 'node:child_process';

/** The streams of a process that a test kills: silent, or with TEST_VERBOSE=1 those of the test; always with a channel. */
export function crashStdio(): StdioOptions {
  const stream = process.env.TEST_VERBOSE ? 'inherit' : 'ignore';
  return ['ignore', stream, stream, 'ipc'];
}
