import { benchClient } from './client.ts';
import { benchPolicy } from './policy.ts';
import { benchSandbox } from './sandbox.ts';

const benchmarks: Record<string, () => Promise<void>> = {
  client: benchClient,
  policy: benchPolicy,
  sandbox: benchSandbox,
};

const name = process.argv[2] ?? '';
const bench = benchmarks[name];
if (bench === undefined) {
  console.error(`There is no benchmark "${name}"; there are ${Object.keys(benchmarks).join(', ')}.`);
  process.exitCode = 2;
} else {
  await bench();
}
