import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { checkSealed } from './check.ts';
import { type Result, simulate } from './simulate.ts';

// Runs simulations of the archive: RUNS FIRST_SEED [hostile]. In each twenty-fifth the passes are killed, and each tenth is a long one. Exits with 1
// if one failed.

const [runs = 100, firstSeed = 1] = process.argv.slice(2, 4).map(Number);
const isHostile = process.argv[4] === 'hostile';
const killedEvery = 25;
const longEvery = 10;
const postgres = await startTestPostgres();
const store = await createTestStore(postgres.url);
const total: Record<string, number> = {};
const struck = new Map<string, number>();
let failures = 0;
const startedMs = performance.now();
try {
  const daemon = await store.as('keywarden_daemon');
  for (let run = 0; run < runs; run += 1) {
    const seed = firstSeed + run;
    const kills = !isHostile && seed % killedEvery === 0;
    try {
      // Depends on the seed only, so that a failed run can be repeated individually.
      const isShort = seed % longEvery !== 0;
      add(await simulate({ seed, store: daemon, databaseUrl: store.url, kills, isShort, isHostile }));
    } catch (error) {
      failures += 1;
      console.error(error instanceof Error ? error.message : error);
    }
    if ((run + 1) % 100 === 0 || run + 1 === runs) report(run + 1);
  }
  console.log(`           ${await checkSealed(daemon)} seals, and no day differs from them`);
} finally {
  await store.close();
  await postgres.close();
}
process.exitCode = failures > 0 ? 1 : 0;

function add(result: Result): void {
  const { struck: own, ...counts } = result;
  for (const [name, value] of Object.entries(counts)) total[name] = (total[name] ?? 0) + value;
  for (const [name, value] of own) struck.set(name, (struck.get(name) ?? 0) + value);
}

function report(done: number): void {
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const figures = Object.entries(total).map(([name, value]) => `${name} ${value.toLocaleString('en-US')}`);
  console.log(`simulate   ${done} runs in ${seconds} s, ${failures} failures; ${figures.join(', ')}`);
  if (isHostile) console.log(`           ${[...struck].map(([name, count]) => `${name} ${count}`).join(', ')}`);
}
