import { readNumber, runToEnd } from './measure.ts';

const main = '../simulations/replicas/main.ts';

/**
 * `replicas [--days N] [--replicas N] [--kills N] [--seed N] [--projects N]`: simulated days of schedules with killed replicas, beside a sandbox with
 * its limits on; so many projects that each pass waits for its turns. There is no yardstick: the figure to reach is nothing wrong.
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

/** `soak [--minutes N] [--replicas N]`: as many simulated days as pass meanwhile; memory, connections and complaints are watched. */
export async function benchSoak(args: string[]): Promise<void> {
  const read = (name: string, fallback: number) => String(readNumber(args, name, fallback));
  await runToEnd(main, ['soak', read('minutes', 20), read('replicas', 2)]);
}
