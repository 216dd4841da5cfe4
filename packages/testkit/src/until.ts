import { setTimeout } from 'node:timers/promises';

/** The longest that any test waits for a condition, in ms: `npm test` gives a whole test two minutes. */
const patienceMs = 60_000;

/**
 * Waits until `ask` answers with something other than `undefined` or `false`, and returns that answer. Asks again every `everyMs`.
 * Throws after a minute, naming `what` and the last error of `ask`; an error of `ask` before that counts as "not yet" only with
 * `toleratesErrors`.
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  {
    what = 'the condition',
    everyMs = 20,
    withinMs = patienceMs,
    toleratesErrors = false,
  }: { what?: string; everyMs?: number; withinMs?: number; toleratesErrors?: boolean } = {},
): Promise<Exclude<T, undefined | false>> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      const answer = await ask();
      // The two values that mean "not yet" are excluded by the comparison.
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    } catch (error) {
      if (!toleratesErrors) throw error;
      cause = error;
    }
    if (performance.now() > deadlineMs) throw new Error(`waited ${withinMs} ms for ${what}`, { cause });
    await setTimeout(everyMs);
  }
}

/** Lets `ms` of real time pass. Only for a test whose subject is real time: `why` says what would go unseen without it. */
export async function realTime(ms: number, why: string): Promise<void> {
  if (why === '') throw new Error('realTime needs a reason');
  await setTimeout(ms);
}
