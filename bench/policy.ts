import { fork } from 'node:child_process';
import { once } from 'node:events';
import { count } from './measure.ts';
import type { PolicyFigures, PolicyOrder } from './policy-run.ts';

const sizes: PolicyOrder[] = [
  { keys: 10_000, rounds: 30 },
  { keys: 100_000, rounds: 6 },
  { keys: 1_000_000, rounds: 4 },
];

/**
 * Evaluates 10,000 keys, which an account should stay under, against 12 rules, then ten and a hundred times as many, each in a separate process. One
 * yardstick is linear growth (twice the keys, twice the time). The other is writing and reading the same keys as JSON in the same process. That is
 * inherently linear, and shows what a larger heap costs any program on this machine.
 */
export async function benchPolicy(): Promise<void> {
  let first: Pick<PolicyFigures, 'seconds' | 'jsonSeconds'> | undefined;
  for (const order of sizes) {
    const { seconds, jsonSeconds, findings, residentMb } = await measure(order);
    first ??= { seconds, jsonSeconds };
    const grown = `${(seconds / first.seconds).toFixed(1)} times the first; linear is ${order.keys / 10_000}`;
    const json = `${(seconds / jsonSeconds).toFixed(2)} of the keys as JSON, which grew ${(jsonSeconds / first.jsonSeconds).toFixed(1)} times`;
    console.log(
      `plan       ${count(order.keys)} keys by 12 rules: ${Math.round(seconds * 1000)} ms, ${count(findings)} findings, ${residentMb} MB resident; ${grown}; ${json}`,
    );
  }
}

async function measure(order: PolicyOrder): Promise<PolicyFigures> {
  const child = fork(new URL('policy-run.ts', import.meta.url), {
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--expose-gc',
      '--max-semi-space-size=32',
      '--max-old-space-size=8192',
    ],
  });
  child.send(order);
  const [figures] = (await once(child, 'message')) as [PolicyFigures];
  return figures;
}
