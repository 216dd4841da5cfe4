import { readNumber, runToEnd } from './measure.ts';

/**
 * `rotate [--keys N] [--days N] [--seed N]`: simulates an organization whose keys are rotated every 90 days. Consumers adopt late, in part or never,
 * creators leave, and there are faults. There is no yardstick: the targets are no outage, no key without a reason, and no unknown key.
 */
export async function benchRotate(args: string[]): Promise<void> {
  const [keys, days, seed] = [
    readNumber(args, 'keys', 200),
    readNumber(args, 'days', 730),
    readNumber(args, 'seed', 1),
  ];
  await runToEnd('../simulations/rotation/main.ts', [String(keys), String(days), String(seed)]);
}
