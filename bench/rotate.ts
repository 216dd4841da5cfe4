import { readNumber, runToEnd } from './measure.ts';

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
  await runToEnd('../simulations/rotation/main.ts', [String(keys), String(days), String(seed)]);
}
