import { benchArchive } from './archive.ts';
import { benchClient } from './client.ts';
import { benchDrivers } from './drivers.ts';
import { benchIdle } from './idle.ts';
import { benchIngest } from './ingest.ts';
import { benchLedger } from './ledger.ts';
import { benchPolicy } from './policy.ts';
import { benchReplicas, benchSoak } from './replicas.ts';
import { benchReport } from './report.ts';
import { benchRotate } from './rotate.ts';
import { benchSandbox } from './sandbox.ts';
import { benchGovern, benchSimulate } from './simulate.ts';

type Benchmark = [bench: (args: string[]) => Promise<void>, ...options: string[]];

/** Each benchmark with the names of its options. */
const benchmarks: Record<string, Benchmark> = {
  archive: [benchArchive, 'operations'],
  client: [benchClient],
  drivers: [benchDrivers, 'pages'],
  govern: [benchGovern, 'runs', 'first', 'hostile'],
  idle: [benchIdle, 'seconds'],
  ingest: [benchIngest, 'operations', 'rounds'],
  ledger: [benchLedger, 'leaves', 'tree'],
  policy: [benchPolicy],
  replicas: [benchReplicas, 'days', 'replicas', 'kills', 'seed', 'projects'],
  report: [benchReport, 'operations', 'exported', 'attack'],
  rotate: [benchRotate, 'keys', 'days', 'seed'],
  sandbox: [benchSandbox],
  simulate: [benchSimulate, 'runs', 'first', 'hostile'],
  soak: [benchSoak, 'minutes', 'replicas'],
};

const [name = '', ...args] = process.argv.slice(2);
const [bench, ...options]: Partial<Benchmark> = benchmarks[name] ?? [];
const unknown = args.find((arg) => arg.startsWith('-') && !options.includes(arg.replace(/^--/, '')));
if (bench === undefined) {
  refuse(`There is no benchmark "${name}"; use one of ${Object.keys(benchmarks).join(', ')}.`);
} else if (unknown !== undefined) {
  const known = options.map((option) => `--${option}`).join(', ') || 'none';
  refuse(`The benchmark ${name} has no option ${unknown}; its options: ${known}.`);
} else {
  await bench(args);
}

function refuse(why: string): void {
  console.error(why);
  process.exitCode = 2;
}
