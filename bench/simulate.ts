import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readNumber } from './measure.ts';

/**
 * `simulate --runs N [--first SEED] [--hostile]`: seeded lives of a control plane and its archive, each twenty-fifth with its passes killed by
 * kill -9; with `--hostile` a control plane stands between that is not as its description says. Each that fails is printed with its seed. There is
 * no yardstick: the figure to reach is no failure.
 */
export async function benchSimulate(args: string[]): Promise<void> {
  const main = '../simulations/archive/main.ts';
  await shareOut(args, main, args.includes('--hostile') ? ['hostile'] : []);
}

/**
 * `govern --hostile --runs N [--first SEED]`: companies whose keys are revoked and rotated by policy under a hostile control plane, with the truth
 * as judge. Each that fails is printed with its seed; the figure to reach is no failure.
 */
export async function benchGovern(args: string[]): Promise<void> {
  await shareOut(args, '../simulations/governance/main.ts', []);
}

/** Runs seeds `first` and on, shared out to processes of a program that takes RUNS FIRST_SEED. */
async function shareOut(args: string[], program: string, more: string[]): Promise<void> {
  const runs = readNumber(args, 'runs', 500);
  const first = readNumber(args, 'first', 1);
  // One more than cores: each waits for Postgres a third of its time.
  const processes = Math.min(cpus().length + 1, runs);
  const share = Math.ceil(runs / processes);
  const main = fileURLToPath(new URL(program, import.meta.url));
  const codes = await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const own = Math.min(share, runs - index * share);
      const args = [...process.execArgv, main, String(own), String(first + index * share), ...more];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
      const [code] = await once(child, 'exit');
      return code;
    }),
  );
  if (codes.some((code) => code !== 0)) process.exitCode = 1;
}
