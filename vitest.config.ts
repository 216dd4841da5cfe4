import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages,apps}/*/src/**/*.test.ts', 'db/src/**/*.test.ts', 'scripts/**/*.test.ts'],
    globalSetup: ['db/src/testing-setup.ts'],
    pool: 'forks',
    // One more than two cores: much of the work is waiting for processes.
    maxWorkers: 3,
    execArgv: [`--import=${new URL('scripts/preload.mjs', import.meta.url).href}`],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', './scripts/closing-line.ts'],
  },
});
