import { setTimeout } from 'node:timers/promises';

/**
 * The longest that a test waits for anything, in ms: long enough that it ends only what hangs, also on a machine many times slower than usual.
 * The suites give a whole test twice as long.
 */
export const patienceMs = 900_000;

/**
 * Waits until `ask` returns something other than `undefined` or `false`, and returns that value. Asks again every `everyMs`. Throws after {@link patienceMs},
 * naming `what` and the last error of `ask`. An earlier error of `ask` counts as "not yet" only with `toleratesErrors`.
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  {
    what = 'the condition',
    everyMs = 20,
    toleratesErrors = false,
  }: { what?: string; everyMs?: number; toleratesErrors?: boolean } = {},
): Promise<Exclude<T, undefined | false>> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    let cause: unknown;
    try {
      const answer = await ask();
      // The comparison excludes the two values that mean "not yet".
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    } catch (error) {
      if (!toleratesErrors) throw error;
      cause = error;
    }
    if (performance.now() > deadlineMs) throw new Error(`waited ${patienceMs} ms for ${what}`, { cause });
    await setTimeout(everyMs);
  }
}

/** Waits `ms` of real time. Only for a test whose subject is real time: `why` names what the test would miss without it. */
export async function realTime(ms: number, why: string): Promise<void> {
  if (why === '') throw new Error('realTime needs a reason');
  await setTimeout(ms);
}
