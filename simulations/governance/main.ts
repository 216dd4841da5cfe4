import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { govern } from './live.ts';

// Simulates companies under a hostile control plane: RUNS FIRST_SEED. Prints each failure with its seed; exits with 1 if there was one.

const [runs = 50, firstSeed = 1] = process.argv.slice(2).map(Number);
const postgres = await startTestPostgres();
const total: Record<string, number> = {};
const struck = new Map<string, number>();
let failures = 0;
const startedMs = performance.now();
try {
  for (let run = 0; run < runs; run += 1) {
    const store = await createTestStore(postgres.url);
    try {
      const { struck: own, ...counts } = await govern({ seed: firstSeed + run, store });
      for (const [name, value] of Object.entries(counts)) total[name] = (total[name] ?? 0) + value;
      for (const [name, value] of own) struck.set(name, (struck.get(name) ?? 0) + value);
    } catch (error) {
      failures += 1;
      console.error(error instanceof Error ? error.message : error);
    } finally {
      await store.close();
    }
    if ((run + 1) % 50 === 0 || run + 1 === runs) report(run + 1);
  }
} finally {
  await postgres.close();
}
process.exitCode = failures > 0 ? 1 : 0;

function report(done: number): void {
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const figures = Object.entries(total).map(([name, value]) => `${name} ${value.toLocaleString('en-US')}`);
  console.log(`govern     ${done} runs in ${seconds} s, ${failures} failures; ${figures.join(', ')}`);
  console.log(`           ${[...struck].map(([name, count]) => `${name} ${count}`).join(', ')}`);
}
