import { readNumber, runToEnd } from './measure.ts';

/**
 * `rotate [--keys N] [--days N] [--seed N]`: simulates an organization whose keys are rotated every 90 days. Consumers adopt late, in part or never,
 * creators leave, and there are faults. There is no yardstick: the targets are no outage, no key without a reason, and no unknown key.
 */
export async function benchRotate(args: string[]): Promise<void> {
  const read = (name: string, fallback: number) => String(readNumber(args, name, fallback));
  await runToEnd('../simulations/rotation/main.ts', [read('keys', 200), read('days', 730), read('seed', 1)]);
}
