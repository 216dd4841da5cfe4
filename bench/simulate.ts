import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readNumber } from './measure.ts';

/**
 * `simulate --runs N [--first SEED]`: seeded lives of a control plane and its archive, each twenty-fifth with its passes killed by kill -9,
 * shared out to processes. Each that fails is printed with its seed. There is no yardstick: the figure to reach is no failure.
 */
export async function benchSimulate(args: string[]): Promise<void> {
  const runs = readNumber(args, 'runs', 500);
  const first = readNumber(args, 'first', 1);
  // One more than cores: each waits for Postgres a third of its time.
  const processes = Math.min(cpus().length + 1, runs);
  const share = Math.ceil(runs / processes);
  const main = fileURLToPath(new URL('../apps/daemon/src/simulation/main.ts', import.meta.url));
  const codes = await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const own = Math.min(share, runs - index * share);
      const args = [...process.execArgv, main, String(own), String(first + index * share)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
      const [code] = await once(child, 'exit');
      return code;
    }),
  );
  if (codes.some((code) => code !== 0)) process.exitCode = 1;
}
