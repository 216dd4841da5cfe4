import { setTimeout } from 'node:timers/promises';
import { openStore, type Store, type StoreOptions } from '@keywarden/db/store';
import { type Logger, UserError } from '@keywarden/runtime';

/** A daemon and its database may be started together; after this it is for whoever supervises it to try again. */
const longestMs = 90_000;
const pauseMs = 500;

/** Opens the store, and waits for a while for one that starts, fails over, or is being migrated elsewhere. */
export async function openWhenThere(
  options: StoreOptions,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<Store> {
  const untilMs = performance.now() + longestMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openStore(options);
    } catch (error) {
      if (!(error instanceof UserError && error.canRetry) || performance.now() > untilMs) throw error;
      if (attempt === 1) log.warn({ why: error.message }, 'the database is not there yet, and is waited for');
      await setTimeout(pauseMs, undefined, { signal });
    }
  }
}
