import { readNumber, runToEnd } from './measure.ts';

const main = '../simulations/replicas/main.ts';

/**
 * `replicas [--days N] [--replicas N] [--kills N] [--seed N] [--projects N]`: simulated days of schedules with killed replicas, beside a sandbox with
 * rate limits. There are so many projects that each pass waits for permits. There is no yardstick: the target is no defect.
 */
export async function benchReplicas(args: string[]): Promise<void> {
  const read = (name: string, fallback: number) => String(readNumber(args, name, fallback));
  await runToEnd(main, [
    'days',
    read('days', 7),
    read('replicas', 3),
    read('kills', 14),
    read('seed', 1),
    read('projects', 48),
  ]);
}

/** `soak [--minutes N] [--replicas N]`: as many simulated days as fit into that time. It monitors memory, connections and complaints. */
export async function benchSoak(args: string[]): Promise<void> {
  const read = (name: string, fallback: number) => String(readNumber(args, name, fallback));
  await runToEnd(main, ['soak', read('minutes', 20), read('replicas', 2)]);
}
