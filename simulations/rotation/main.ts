import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { live } from './live.ts';

// Simulates one organization whose keys are rotated: KEYS DAYS SEED. Exits with 1 if a consumer ever held only dead keys or if the store lacked a
// live key. Also exits with 1 if a key outlived its rule without a reason.

const [keys = 200, days = 730, seed = 1] = process.argv.slice(2).map(Number);
const postgres = await startTestPostgres();
const store = await createTestStore(postgres.url);
const startedMs = performance.now();
try {
  const { outages, unexplained, unknown, ...counts } = await live(store, { keys, days, seed });
  for (const each of [...outages, ...unexplained, ...unknown].slice(0, 50)) console.error(each);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const figures = Object.entries(counts).map(([name, value]) => `${name} ${value.toLocaleString('en-US')}`);
  console.log(
    `rotate     ${keys} keys over ${days} days in ${seconds} s: outages ${outages.length}, unexplained ${unexplained.length}, unknown ${unknown.length}; ${figures.join(', ')}`,
  );
  if (outages.length + unexplained.length + unknown.length > 0) process.exitCode = 1;
} finally {
  await store.close();
  await postgres.close();
}
