import { readFileSync } from 'node:fs';
import { createTestStore, startTestPostgres, type TestStore } from '@keywarden/testkit/store/test-store';
import type { Fleet } from './fleet.ts';
import { live } from './live.ts';

// Runs replicas beside a sandbox on an accelerated clock: `days DAYS REPLICAS KILLS SEED PROJECTS`, or `soak MINUTES REPLICAS`. Exits with 1 if
// anything was wrong.

interface Sample {
  day: number;
  /** The values of each replica, in MB; the heap excludes garbage. */
  resident: number[];
  heap: number[];
  connections: number;
}

const [mode = '', ...numbers] = process.argv.slice(2);
const postgres = await startTestPostgres();
const store = await createTestStore(postgres.url);
const samples: Sample[] = [];
try {
  const [first = 7, replicas = 3, kills = 0, seed = 1, projects = 48] = numbers.map(Number);
  // A soak covers many schedule times, each with little work.
  const span = mode === 'soak' ? { days: 100_000, minutes: first, projects: 3 } : { days: first, projects };
  const startedMs = performance.now();
  const lived = await live({ store, seed, replicas, kills, ...span, onDay: (day, fleet) => sample(day, fleet) });
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const { wrong, ...figures } = lived;
  const text = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === 'number' ? Math.round(value) : value.join('/')}`,
  );
  console.log(`${mode}   ${seconds} s; ${text.join(', ')}`);
  if (mode === 'soak') wrong.push(...judge(samples), ...(await leftConnections(store)));
  for (const each of wrong) console.error(each);
  console.log(`${mode}   ${wrong.length} defects`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  await store.close();
  await postgres.close();
}

async function sample(day: number, fleet: Fleet): Promise<void> {
  const heap = await fleet.heaps();
  const [row] = await store.sql`
    select count(*)::int as connections from pg_stat_activity where application_name like 'replica %'`;
  const resident = fleet
    .pids()
    .map((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
  samples.push({ day, resident, heap, connections: Number(row?.connections) });
  if (day % 5 === 0 || day < 3)
    console.log(
      `day ${day}: ${show(heap)} MB of live heap, ${show(resident)} MB resident, ${row?.connections} connections`,
    );
}

/** Lists memory that grew from the second quarter to the last, and connections that did. */
function judge(all: Sample[]): string[] {
  const quarter = Math.floor(all.length / 4);
  if (quarter < 2) return ['the run was too short to judge: it simulated fewer than eight days'];
  const early = all.slice(quarter, 2 * quarter);
  const late = all.slice(-quarter);
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const wrong: string[] = [];
  for (const what of ['heap', 'resident'] as const)
    for (const index of early[0]?.[what].keys() ?? []) {
      const [before = 0, after = 0] = [early, late].map((part) => median(part.map((each) => each[what][index] ?? 0)));
      const mb = [before, after].map((value) => value.toFixed(1));
      console.log(`replica ${index}: ${what} ${mb[0]} MB in the second quarter, ${mb[1]} MB in the last`);
      if (after > before * 1.1) wrong.push(`the ${what} of replica ${index} grew`);
    }
  const [before, after] = [early, late].map((part) => Math.max(...part.map(({ connections }) => connections)));
  if ((after ?? 0) > (before ?? 0)) wrong.push(`connections grew from ${before} to ${after}`);
  return wrong;
}

async function leftConnections({ sql }: TestStore): Promise<string[]> {
  const [row] = await sql`
    select count(*)::int as connections from pg_stat_activity where application_name like 'replica %'`;
  return row?.connections === 0 ? [] : [`${row?.connections} connections stay after the end`];
}

function show(values: number[]): string {
  return values.map((value) => Math.round(value)).join('/');
}
