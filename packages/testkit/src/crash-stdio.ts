import type { StdioOptions } from 'node:child_process';

/** Returns the stdio of a process that a test kills: silent, or the test's own streams with TEST_VERBOSE=1. It always has an IPC channel. */
export function crashStdio(): StdioOptions {
  const stream = process.env.TEST_VERBOSE ? 'inherit' : 'ignore';
  return ['ignore', stream, stream, 'ipc'];
}
