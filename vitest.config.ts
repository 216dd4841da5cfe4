import { defineConfig } from 'vitest/config';
import { patienceMs } from './packages/testkit/src/until.ts';
import { moveClock } from './packages/testkit/src/vitest/moved-clock.ts';
import { makeScratchFolder } from './packages/testkit/src/vitest/scratch-folder.ts';
import { LongestFirst } from './packages/testkit/src/vitest/sequencer.ts';

// Inherited by the workers and by the processes that tests start; the test kit's set-up removes it.
process.env.TMPDIR = makeScratchFolder();
moveClock(process.env.TEST_DATE);

/** Tests that take long at any size: `npm run test:long` runs them. */
const long = '**/*.long.test.ts';
/** Property tests, whose size TEST_SIZE sets: both suites run them. Simulations are sized, too, and run in the long suite only. */
const seeded = '**/*.seeded.test.ts';
const { TEST_SUITE: suite } = process.env;
const isLong = suite === 'long';
if (isLong) process.env.TEST_SIZE ||= '1';

export default defineConfig({
  test: {
    include: isLong
      ? [long, seeded]
      : ['{packages,apps}/*/src/**/*.test.ts', 'db/src/**/*.test.ts', 'scripts/**/*.test.ts'],
    exclude: isLong ? ['**/node_modules/**'] : ['**/node_modules/**', long],
    // The client's own tests need no database: scripts/deno.long.test.ts runs them alone.
    globalSetup: [
      'packages/testkit/src/vitest/setup.ts',
      ...(suite === 'client' ? [] : ['packages/testkit/src/vitest/store-setup.ts']),
    ],
    setupFiles: ['packages/testkit/src/vitest/count-assertions.ts', 'packages/testkit/src/vitest/seed.ts'],
    pool: 'forks',
    isolate: false,
    // Two more than two cores: much of the work is waiting for processes.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    execArgv: [
      `--import=${new URL('scripts/preload.mjs', import.meta.url).href}`,
      // Tests make much that lives for a moment. With a larger young generation, a run spends a twentieth less of the processors' time.
      '--max-semi-space-size=64',
    ],
    testTimeout: 2 * patienceMs,
    hookTimeout: 2 * patienceMs,
    reporters: ['default', './scripts/closing-line.ts'],
  },
});
