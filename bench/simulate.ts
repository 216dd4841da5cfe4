import { cpus } from 'node:os';
import { readNumber, runToEnd } from './measure.ts';

/**
 * `simulate --runs N [--first SEED] [--hostile]`: seeded simulation runs of a control plane and its archive. In each twenty-fifth, kill -9 ends the
 * passes. With `--hostile`, a layer in between deviates from the control plane's description. Each failure is printed with its seed. There is no
 * yardstick: the target is no failure.
 */
export async function benchSimulate(args: string[]): Promise<void> {
  const main = '../simulations/archive/main.ts';
  await shareOut(args, main, args.includes('--hostile') ? ['hostile'] : []);
}

/**
 * `govern --hostile --runs N [--first SEED]`: companies whose keys are revoked and rotated by policy under a hostile control plane. Each revocation
 * is judged by the true state. Each failure is printed with its seed; the target is no failure.
 */
export async function benchGovern(args: string[]): Promise<void> {
  await shareOut(args, '../simulations/governance/main.ts', []);
}

/** Runs the seeds from `first` on, distributed to processes of a program that takes RUNS FIRST_SEED. */
async function shareOut(args: string[], program: string, more: string[]): Promise<void> {
  const runs = readNumber(args, 'runs', 500);
  const first = readNumber(args, 'first', 1);
  // One more than cores, because each waits for Postgres a third of its time.
  const processes = Math.min(cpus().length + 1, runs);
  const share = Math.ceil(runs / processes);
  await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const own = Math.min(share, runs - index * share);
      await runToEnd(program, [String(own), String(first + index * share), ...more]);
    }),
  );
}
