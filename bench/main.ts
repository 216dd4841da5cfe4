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

const benchmarks: Record<string, (args: string[]) => Promise<void>> = {
  archive: benchArchive,
  client: benchClient,
  drivers: benchDrivers,
  govern: benchGovern,
  idle: benchIdle,
  ingest: benchIngest,
  ledger: benchLedger,
  policy: benchPolicy,
  replicas: benchReplicas,
  report: benchReport,
  rotate: benchRotate,
  sandbox: benchSandbox,
  simulate: benchSimulate,
  soak: benchSoak,
};

const name = process.argv[2] ?? '';
const bench = benchmarks[name];
if (bench === undefined) {
  console.error(`There is no benchmark "${name}"; use one of ${Object.keys(benchmarks).join(', ')}.`);
  process.exitCode = 2;
} else {
  await bench(process.argv.slice(3));
}
