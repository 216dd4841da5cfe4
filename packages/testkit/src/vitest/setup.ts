import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { removeScratchFolder } from './scratch-folder.ts';

/** Removes the run's folder, which vitest.config.ts made. It is set up before all others, so it is torn down last. */
export default function setup(): () => void {
  const stop = loadProcessors(process.env.TEST_LOAD || '0');
  const hadData = existsSync('.keywarden');
  return () => {
    stop();
    removeScratchFolder(tmpdir());
    // The next npm start would take a mark of a test as proof that its store is an older one.
    if (!hadData && existsSync('.keywarden'))
      throw new Error('a test has written to .keywarden, the data folder of npm start');
  };
}

/** Keeps processors busy with this many processes, which end with the run: the tests then run as on a slow machine. */
function loadProcessors(text: string): () => void {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0)
    throw new Error(`TEST_LOAD must be a number of processes, and "${text}" is not`);
  const script = `while kill -0 ${process.pid} 2> /dev/null; do :; done`;
  const busy = Array.from({ length: count }, () => spawn('sh', ['-c', script], { stdio: 'ignore' }));
  return () => {
    for (const child of busy) child.kill();
  };
}
