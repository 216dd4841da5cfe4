import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readNumber } from './measure.ts';

/**
 * `rotate [--keys N] [--days N] [--seed N]`: a life of an organization whose keys are rotated every 90 days, with consumers that adopt late, in part
 * or never, creators who leave, and faults. There is no yardstick: the figures to reach are no outage, no key without a reason, none unknown.
 */
export async function benchRotate(args: string[]): Promise<void> {
  const [keys, days, seed] = [
    readNumber(args, 'keys', 200),
    readNumber(args, 'days', 730),
    readNumber(args, 'seed', 1),
  ];
  const main = fileURLToPath(new URL('../apps/daemon/src/rotate/life/main.ts', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, main, String(keys), String(days), String(seed)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) process.exitCode = 1;
}
